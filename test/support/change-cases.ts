import type { CreationCase, Ground } from './creations.ts';
import type { Lab } from './fault-lab.ts';

/** A request that changes something at the processor, or creates it in another way than the usual one. */
export type ChangeCase = Omit<CreationCase, 'operation' | 'processorOperation' | 'idOf'> & {
  readonly operation: 'customers.create' | 'customers.update' | 'plans.update';
  readonly method: 'POST' | 'PATCH';
};

const newName = 'Renamed';
const externalIdOf = ({ customerId }: Ground) => `user ${customerId}`.replace(' ', ':');

export const changeCases: readonly ChangeCase[] = [
  {
    operation: 'customers.create',
    method: 'POST',
    status: 201,
    path: () => '/api/v1/customers',
    body: (ground) => ({
      email: 'identified@example.com',
      externalId: externalIdOf(ground),
      metadata: { a: '1' },
    }),
    countMade: async ({ dashboard }, ground) => {
      const { data } = await dashboard.customers.list({ email: 'identified@example.com', limit: 100 });
      return data.filter(({ metadata }) => metadata['till_external_id'] === externalIdOf(ground)).length;
    },
    countRows: (lab, ground) =>
      count(
        lab,
        `customers join till.external_ids using (external_id)
        where external_id = $1 and customer_id = id and claim_id is null`,
        externalIdOf(ground),
      ),
  },
  {
    operation: 'customers.update',
    method: 'PATCH',
    status: 200,
    path: ({ customerId }) => `/api/v1/customers/${customerId}`,
    body: ({ planId }) => ({ name: newName, externalId: `changed:${planId}`, metadata: { b: '2' } }),
    countMade: (lab, { processorCustomerId }) => countEvents(lab, 'customer.updated', processorCustomerId),
    countRows: (lab, { planId }) =>
      count(
        lab,
        `customers join till.external_ids using (external_id)
        where external_id = $1 and customer_id = id and claim_id is null and name = '${newName}'`,
        `changed:${planId}`,
      ),
  },
  {
    operation: 'plans.update',
    method: 'PATCH',
    status: 200,
    path: ({ planId }) => `/api/v1/plans/${planId}`,
    body: () => ({ name: newName, metadata: { c: '3' } }),
    countMade: async (lab, { planId }) => {
      const [plan] = await lab.sql<{ product: string }>(
        'select processor_product_id as product from till.plans where id = $1',
        [planId],
      );
      return countEvents(lab, 'product.updated', String(plan?.product));
    },
    countRows: (lab, { planId }) =>
      count(lab, `plans where id = $1 and name = '${newName}' and metadata = '{"c": "3"}'`, planId),
  },
];

/** Each change at the processor makes one event. */
async function countEvents({ dashboard }: Lab, type: string, objectId: string): Promise<number> {
  const { data } = await dashboard.events.list({ type, limit: 100 });
  return data.filter(({ data: { object } }) => 'id' in object && object.id === objectId).length;
}

async function count({ sql }: Lab, rows: string, value: string): Promise<number> {
  const [row] = await sql<{ count: string }>(`select count(*) from till.${rows}`, [value]);
  return Number(row?.count);
}
