import { useState } from 'preact/hooks';
import type { CursorQuery, EventEndpoint, EventEndpointWithSecret } from '../../../../client/src/index.ts';
import { useCreateCommand } from '../../api/use-command.ts';
import { plural } from '../../format/words.ts';
import { pageOf } from '../../links.ts';
import type { Column } from '../../parts/data-table.tsx';
import { ListPage } from '../../parts/list-page.tsx';
import { Time } from '../../parts/values.tsx';
import { till } from '../../session.ts';
import { EndpointSecret } from './endpoint-secret.tsx';
import { EndpointStatus } from './endpoint-status.tsx';
import { SaveEndpoint } from './save-endpoint.tsx';

const columns: readonly Column<EventEndpoint>[] = [
  { header: 'URL', cell: ({ id, url }) => <a href={pageOf('eventEndpoint', id)}>{url}</a> },
  { header: 'Status', cell: (endpoint) => <EndpointStatus of={endpoint} /> },
  {
    header: 'Events',
    cell: ({ types }) => (types === null ? 'All types' : plural(types.length, 'type')),
    isMinor: true,
  },
  { header: 'Description', cell: ({ description }) => description, isMinor: true },
  { header: 'Created', cell: ({ createdAt }) => <Time value={createdAt} />, isMinor: true },
];

/** Where Till sends events to applications. */
export function EndpointsPage() {
  const [isCreating, setCreating] = useState(false);
  useCreateCommand(() => setCreating(true));
  const [created, setCreated] = useState<EventEndpointWithSecret | undefined>(undefined);
  const [round, setRound] = useState(0);
  return (
    <>
      <ListPage
        key={round}
        title="Event endpoints"
        noun="event endpoint"
        list={(query: CursorQuery, options) => till().eventEndpoints.list(query, options)}
        columns={columns}
        keyOf={({ id }) => id}
        actions={
          <button type="button" onClick={() => setCreating(true)}>
            Add endpoint
          </button>
        }
      />
      {isCreating && (
        <SaveEndpoint
          onClose={(saved) => {
            setCreating(false);
            setCreated(saved);
          }}
        />
      )}
      {created !== undefined && (
        <EndpointSecret
          of={created}
          onClose={() => {
            setCreated(undefined);
            setRound((count) => count + 1);
          }}
        />
      )}
    </>
  );
}
