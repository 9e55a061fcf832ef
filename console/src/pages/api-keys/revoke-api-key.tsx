import type { ApiKey } from '@till/client';
import { ActionDialog } from '../../parts/action-dialog.tsx';
import type { Closing } from '../../parts/dialog.tsx';
import { Time } from '../../parts/values.tsx';
import { currentKey, till } from '../../session.ts';

export function RevokeApiKey({
  apiKey: { id, name, scopes, lastUsedAt, createdAt },
  onClose,
}: Closing & { readonly apiKey: ApiKey }) {
  return (
    <ActionDialog
      title="Revoke API key"
      confirm={`Revoke ${name}`}
      isDangerous
      done={`API key ${name} revoked`}
      onClose={onClose}
      act={() => till().apiKeys.revoke(id)}
    >
      <p>
        The API key {name} ({scopes.join(', ')}), created <Time value={createdAt} />, is refused everywhere
        within 5 seconds. Applications that still use it get the status 401. This cannot be undone.
      </p>
      <p>
        {lastUsedAt === null ? (
          'It was never used.'
        ) : (
          <>
            It was last used <Time value={lastUsedAt} />.
          </>
        )}
      </p>
      {id === currentKey.value?.id && (
        <p>
          <strong>You are signed in with this API key. You will be signed out.</strong>
        </p>
      )}
    </ActionDialog>
  );
}
