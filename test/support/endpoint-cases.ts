import type { Backend } from './backend.ts';
import type { CreationCase, Prerequisites } from './creation-cases.ts';

/** A write to an event endpoint. The processor has no part in it, so it exists once its transaction is committed. */
type EndpointCase = Omit<CreationCase, 'operation' | 'processorOperation' | 'idOf' | 'countAtProcessor'> & {
  readonly operation: `event_endpoints.${'create' | 'update' | 'rotate' | 'replay'}`;
  readonly method: 'POST' | 'PATCH';
};

const urlOf = ({ customerId }: Prerequisites) => `http://127.0.0.1:9/${customerId}`;

/** The endpoints that are changed have the ids of other objects, so that each test has its own. */
const ids = {
  updated: ({ customerId }: Prerequisites) => customerId,
  rotated: ({ planId }: Prerequisites) => planId,
  replayed: ({ unsoldPlanId }: Prerequisites) => unsoldPlanId,
};

export const endpointCases: readonly EndpointCase[] = [
  {
    operation: 'event_endpoints.create',
    method: 'POST',
    status: 201,
    path: () => '/event-endpoints',
    body: (prerequisites) => ({ url: urlOf(prerequisites), types: ['plan.archived'] }),
    countRows: (backend, prerequisites) => count(backend, 'url = $1', urlOf(prerequisites)),
  },
  {
    operation: 'event_endpoints.update',
    method: 'PATCH',
    status: 200,
    path: (prerequisites) => `/event-endpoints/${ids.updated(prerequisites)}`,
    body: () => ({ description: 'Renamed' }),
    countRows: (backend, prerequisites) =>
      count(backend, `id = $1 and description = 'Renamed'`, ids.updated(prerequisites)),
  },
  {
    operation: 'event_endpoints.rotate',
    method: 'POST',
    status: 200,
    path: (prerequisites) => `/event-endpoints/${ids.rotated(prerequisites)}/rotate-secret`,
    body: () => ({}),
    countRows: (backend, prerequisites) =>
      count(
        backend,
        `id = $1 and jsonb_path_query_array(replaced_secrets, '$.secret') = '["plain:first"]'`,
        ids.rotated(prerequisites),
      ),
  },
  {
    operation: 'event_endpoints.replay',
    method: 'POST',
    status: 200,
    path: (prerequisites) => `/event-endpoints/${ids.replayed(prerequisites)}/replay`,
    body: () => ({ after: null }),
    countRows: (backend, prerequisites) =>
      count(backend, 'id = $1 and revision = 1', ids.replayed(prerequisites)),
  },
];

/** Endpoints to change. They are off, so that nothing is sent. */
export async function createEndpoints({ sql }: Backend, prerequisites: Prerequisites): Promise<void> {
  for (const idOf of Object.values(ids))
    await sql(
      `insert into till.event_endpoints (id, url, enabled, disabled_at, disabled_reason, secret, position, created_at, updated_at)
       values ($1, 'http://127.0.0.1:9/', false, now(), 'request', 'plain:first', 0, now(), now())`,
      [idOf(prerequisites)],
    );
}

async function count({ sql }: Backend, condition: string, value: string): Promise<number> {
  const [row] = await sql<{ count: number }>(
    `select count(*) as count from till.event_endpoints where ${condition}`,
    [value],
  );
  return Number(row?.count);
}
