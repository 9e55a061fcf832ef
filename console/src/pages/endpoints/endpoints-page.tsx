import type { CursorQuery, EventEndpoint } from '@till/client';
import { useState } from 'preact/hooks';
import { plural } from '../../format/words.ts';
import { pageOf } from '../../links.ts';
import { CreateButton } from '../../parts/create-button.tsx';
import type { Column } from '../../parts/data-table.tsx';
import { ListPage } from '../../parts/list-page.tsx';
import { Time } from '../../parts/values.tsx';
import { till } from '../../session.ts';
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
  const [round, setRound] = useState(0);
  return (
    <ListPage
      key={round}
      title="Event endpoints"
      noun="event endpoint"
      list={(query: CursorQuery, options) => till().eventEndpoints.list(query, options)}
      columns={columns}
      keyOf={({ id }) => id}
      actions={
        <CreateButton
          label="Add endpoint"
          scope="operate"
          Dialog={SaveEndpoint}
          onCreated={() => setRound((count) => count + 1)}
        />
      }
    />
  );
}
