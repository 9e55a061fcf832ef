import type { ApiKey } from '@till/client';
import { useState } from 'preact/hooks';
import { useLocation } from 'preact-iso';
import { useResource } from '../../api/use-resource.ts';
import { CreateButton } from '../../parts/create-button.tsx';
import { type Column, DataTable } from '../../parts/data-table.tsx';
import { Page } from '../../parts/page.tsx';
import { Pager, rowsPerPage } from '../../parts/pager.tsx';
import { Empty, Show } from '../../parts/states.tsx';
import { Status } from '../../parts/status.tsx';
import { Time } from '../../parts/values.tsx';
import { currentKey, till } from '../../session.ts';
import { isExpired } from './api-key.ts';
import { CreateApiKey } from './create-api-key.tsx';
import { RevokeApiKey } from './revoke-api-key.tsx';

export function ApiKeysPage() {
  const { cursor } = useLocation().query;
  const keys = useResource(
    (options) => till().apiKeys.list({ cursor, limit: rowsPerPage }, options).page(),
    [cursor],
  );
  const [revoked, setRevoked] = useState<ApiKey | undefined>(undefined);
  const close = (hasActed: boolean) => {
    setRevoked(undefined);
    if (hasActed) keys.reload();
  };
  return (
    <Page
      title="API keys"
      actions={
        <CreateButton label="Create API key" scope="admin" Dialog={CreateApiKey} onCreated={keys.reload} />
      }
    >
      <p class="lead quiet">
        Give each application a key of its own. Keys with the same name are one application, so that you can
        replace a key without an interruption. Keys from the environment are not listed.
      </p>
      <Show resource={keys}>
        {(page) =>
          page.data.length === 0 ? (
            <Empty>No API key yet.</Empty>
          ) : (
            <>
              <DataTable
                caption="API keys"
                columns={columns(setRevoked)}
                rows={page.data}
                keyOf={({ id }) => id}
              />
              <Pager of={page} noun="API key" />
            </>
          )
        }
      </Show>
      {revoked !== undefined && <RevokeApiKey apiKey={revoked} onClose={close} />}
    </Page>
  );
}

function columns(revoke: (key: ApiKey) => void): readonly Column<ApiKey>[] {
  return [
    {
      header: 'Name',
      cell: ({ id, name }) => (
        <>
          {name} {id === currentKey.value?.id && <Status value="this_session" tone="busy" />}
        </>
      ),
    },
    { header: 'Scopes', cell: ({ scopes }) => scopes.join(', ') },
    {
      header: 'Last use',
      cell: ({ lastUsedAt }) =>
        lastUsedAt === null ? <span class="quiet">Never</span> : <Time value={lastUsedAt} />,
    },
    { header: 'Created', cell: ({ createdAt }) => <Time value={createdAt} />, isMinor: true },
    { header: 'Expires', cell: (key) => <Expiry apiKey={key} />, isMinor: true },
    {
      header: 'Actions',
      cell: (key) => (
        <span class="row-actions">
          <button type="button" onClick={() => revoke(key)}>
            Revoke<span class="visually-hidden"> {key.name}</span>
          </button>
        </span>
      ),
    },
  ];
}

function Expiry({ apiKey }: { readonly apiKey: ApiKey }) {
  if (apiKey.expiresAt === null) return <span class="quiet">Never</span>;
  return (
    <>
      <Time value={apiKey.expiresAt} />{' '}
      {isExpired(apiKey, new Date()) && <Status value="expired" tone="bad" />}
    </>
  );
}
