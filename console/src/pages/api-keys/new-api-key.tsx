import type { CreatedApiKey } from '../../../../client/src/index.ts';
import { ShownSecret } from '../../parts/shown-secret.tsx';

/** Shows a new API key. It cannot be shown again. */
export function NewApiKey({
  created: { name, key },
  onClose,
}: {
  readonly created: CreatedApiKey;
  readonly onClose: () => void;
}) {
  return (
    <ShownSecret
      title={`The new API key ${name}`}
      value={key}
      text="Till stores only a digest and cannot show it again. Keep it where your application keeps its secrets."
      lost={
        'The API key was created, but the response that showed it was lost, and Till stores only a digest. Revoke ' +
        'this API key and create another one.'
      }
      onClose={onClose}
    />
  );
}
