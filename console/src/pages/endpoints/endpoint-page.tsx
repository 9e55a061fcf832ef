import type { DeliveryQuery, EventEndpoint } from '@till/client';
import { useState } from 'preact/hooks';
import { useLocation, useRoute } from 'preact-iso';
import { useResource } from '../../api/use-resource.ts';
import { type Action, Actions } from '../../parts/actions.tsx';
import { DataTable } from '../../parts/data-table.tsx';
import { Fields } from '../../parts/fields.tsx';
import { type Filter, Filters, filterValues } from '../../parts/filters.tsx';
import { Page, Section } from '../../parts/page.tsx';
import { Pager, rowsPerPage } from '../../parts/pager.tsx';
import { Empty, Show } from '../../parts/states.tsx';
import { Id, none, Time } from '../../parts/values.tsx';
import { till } from '../../session.ts';
import { eventColumn, objectColumn, outcomeColumns } from '../events/delivery-columns.tsx';
import { DeleteEndpoint, ReplayEndpoint, RotateSecret, TurnEndpoint } from './endpoint-actions.tsx';
import { EndpointStatus } from './endpoint-status.tsx';
import { ResendFailed } from './resend-failed.tsx';
import { SaveEndpoint } from './save-endpoint.tsx';

export function EndpointPage() {
  const { id = '' } = useRoute().params;
  const [round, setRound] = useState(0);
  const endpoint = useResource(
    (options) => till().eventEndpoints.get(id, options),
    [id],
    () => true,
  );
  return (
    <Show resource={endpoint} heading="Event endpoint">
      {(value) => (
        <Page
          title={value.url}
          aside={<EndpointStatus of={value} />}
          actions={
            <Actions
              of={actions}
              about={{ endpoint: value }}
              onActed={() => {
                endpoint.reload();
                setRound((count) => count + 1);
              }}
            />
          }
        >
          <Details endpoint={value} />
          <Deliveries key={round} id={id} />
        </Page>
      )}
    </Show>
  );
}

const always = () => true;
const actions: readonly Action<{ readonly endpoint: EventEndpoint }>[] = [
  { label: 'Change', Dialog: SaveEndpoint, isPossible: always },
  { label: 'Turn off', Dialog: TurnEndpoint, isPossible: ({ endpoint }) => endpoint.enabled },
  { label: 'Turn on', Dialog: TurnEndpoint, isPossible: ({ endpoint }) => !endpoint.enabled },
  { label: 'Resend all failed', Dialog: ResendFailed, isPossible: ({ endpoint }) => endpoint.enabled },
  { label: 'Replay events', Dialog: ReplayEndpoint, isPossible: always },
  { label: 'Rotate secret', Dialog: RotateSecret, isPossible: always },
  { label: 'Delete', Dialog: DeleteEndpoint, isPossible: always },
];

function Details({ endpoint }: { readonly endpoint: EventEndpoint }) {
  const { types, disabledReason, disabledAt, failingSince } = endpoint;
  return (
    <Section title="Details">
      <Fields
        of={[
          ['Description', endpoint.description ?? none],
          ['Events', types === null ? 'All types' : types.join(', ')],
          ['Failing since', failingSince === null ? undefined : <Time value={failingSince} />],
          ['Turned off', disabledAt === null ? undefined : <Time value={disabledAt} />],
          ['Why', disabledReason === null ? undefined : reasons[disabledReason]],
          ['Created', <Time value={endpoint.createdAt} />],
          ['Updated', <Time value={endpoint.updatedAt} />],
          ['Id', <Id value={endpoint.id} />],
        ]}
      />
    </Section>
  );
}

const reasons = {
  request: 'It was turned off by a request.',
  failing: 'Nothing had succeeded for three days.',
} as const;

const columns = [eventColumn, objectColumn, ...outcomeColumns];

const filters: readonly Filter[] = [
  { kind: 'choice', name: 'status', label: 'Status', options: ['pending', 'succeeded', 'failed'] },
];

function Deliveries({ id }: { readonly id: string }) {
  const { query } = useLocation();
  const { cursor } = query;
  // An address can have any text. The API refuses what is not valid.
  const { status } = filterValues(filters, query) as Pick<DeliveryQuery, 'status'>;
  const deliveries = useResource(
    (options) => till().eventEndpoints.deliveries(id, { cursor, status, limit: rowsPerPage }, options).page(),
    [id, cursor, status],
    () => true,
  );
  return (
    <Section
      title="Deliveries"
      aside={
        <button type="button" onClick={deliveries.reload}>
          Refresh
        </button>
      }
    >
      <Filters filters={filters} />
      <Show resource={deliveries}>
        {(page) =>
          page.data.length === 0 ? (
            <Empty>{status === undefined ? 'No event was sent here yet.' : 'No delivery matches.'}</Empty>
          ) : (
            <>
              <DataTable caption="Deliveries" columns={columns} rows={page.data} keyOf={(one) => one.id} />
              <Pager of={page} noun="delivery" />
            </>
          )
        }
      </Show>
    </Section>
  );
}
