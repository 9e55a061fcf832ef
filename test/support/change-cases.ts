import type { Backend } from './backend.ts';
import type { CreationCase, Prerequisites } from './creation-cases.ts';
import { chargesOf } from './past-due.ts';

/** A request that changes something at the processor, or creates it in another way than the usual one. */
export type ChangeCase = Omit<CreationCase, 'operation' | 'processorOperation' | 'idOf'> & {
  readonly operation:
    | 'customers.create'
    | 'customers.update'
    | 'plans.update'
    | 'payments.update'
    | 'subscriptions.create'
    | 'subscriptions.update'
    | 'subscriptions.pay';
  readonly method: 'POST' | 'PATCH';
};

const newName = 'Renamed';
const externalIdOf = ({ customerId }: Prerequisites) => `user ${customerId}`.replace(' ', ':');

export const changeCases: readonly ChangeCase[] = [
  {
    operation: 'customers.create',
    method: 'POST',
    status: 201,
    path: () => '/customers',
    body: (prerequisites) => ({
      email: 'identified@example.com',
      externalId: externalIdOf(prerequisites),
      metadata: { a: '1' },
    }),
    countAtProcessor: async ({ stripe }, prerequisites) => {
      const { data } = await stripe.customers.list({ email: 'identified@example.com', limit: 100 });
      return data.filter(({ metadata }) => metadata['till_external_id'] === externalIdOf(prerequisites))
        .length;
    },
    countRows: (backend, prerequisites) =>
      count(
        backend,
        `customers join till.external_ids using (external_id)
        where external_id = $1 and customer_id = id and claim_id is null`,
        externalIdOf(prerequisites),
      ),
  },
  {
    operation: 'customers.update',
    method: 'PATCH',
    status: 200,
    path: ({ customerId }) => `/customers/${customerId}`,
    body: ({ planId }) => ({ name: newName, externalId: `changed:${planId}`, metadata: { b: '2' } }),
    countAtProcessor: (backend, { processorCustomerId }) =>
      countEvents(backend, 'customer.updated', processorCustomerId),
    countRows: (backend, { planId }) =>
      count(
        backend,
        `customers join till.external_ids using (external_id)
        where external_id = $1 and customer_id = id and claim_id is null and name = '${newName}'`,
        `changed:${planId}`,
      ),
  },
  {
    operation: 'plans.update',
    method: 'PATCH',
    status: 200,
    path: ({ unsoldPlanId }) => `/plans/${unsoldPlanId}`,
    body: () => ({
      ...{ name: newName, metadata: { c: '3' }, features: { seats: 2 } },
      ...{ addOn: true, repeatable: true },
    }),
    countAtProcessor: async (backend, { unsoldPlanId }) => {
      const [plan] = await backend.sql<{ product: string; price: string }>(
        'select processor_product_id as product, processor_price_id as price from till.plans where id = $1',
        [unsoldPlanId],
      );
      const product = await countEvents(backend, 'product.updated', String(plan?.product));
      return Math.max(product, await countEvents(backend, 'price.updated', String(plan?.price), 'metadata'));
    },
    countRows: (backend, { unsoldPlanId }) =>
      count(
        backend,
        `plans where id = $1 and name = '${newName}' and metadata = '{"c": "3"}' and features = '{"seats": 2}'
         and add_on and repeatable`,
        unsoldPlanId,
      ),
  },
  {
    operation: 'payments.update',
    method: 'PATCH',
    status: 200,
    path: ({ openPaymentId }) => `/payments/${openPaymentId}`,
    body: () => ({ metadata: { d: '4' } }),
    // The processor sends no event for it, so that only its effect can be seen.
    countAtProcessor: async ({ stripe }, { openIntentId }) => {
      const { metadata } = await stripe.paymentIntents.retrieve(openIntentId);
      return metadata['d'] === '4' ? 1 : 0;
    },
    countRows: (backend, { openPaymentId }) =>
      count(backend, `payments where id = $1 and metadata = '{"d": "4"}'`, openPaymentId),
  },
  {
    // It uses up the promotion code, so that a request which finishes it cannot find the code again.
    operation: 'subscriptions.create',
    method: 'POST',
    status: 201,
    path: () => '/subscriptions',
    body: ({ payer: { id, paymentMethodId, promotionCode }, planId }) => ({
      ...{ customerId: id, planId, paymentMethodId, promotionCode },
      ...{ quantity: 3, trialEndWithoutCard: 'pause' },
    }),
    countAtProcessor: async ({ stripe }, { payer: { processorCustomerId: customer } }) => {
      const { data } = await stripe.subscriptions.list({ customer, status: 'all' });
      return data.filter(({ items }) => items.data[0]?.quantity === 3).length;
    },
    countRows: (backend, { payer: { id, paymentMethodId, promotionCode } }) =>
      count(
        backend,
        `subscriptions where customer_id = $1 and quantity = 3 and status = 'active'
         and discount ->> 'code' = '${promotionCode}' and default_payment_method_id = '${paymentMethodId}'`,
        id,
      ),
  },
  {
    operation: 'subscriptions.update',
    method: 'PATCH',
    status: 200,
    path: ({ subscriptionId }) => `/subscriptions/${subscriptionId}`,
    body: () => ({ metadata: { e: '5' } }),
    countAtProcessor: (backend, { processorSubscriptionId }) =>
      countEvents(backend, 'customer.subscription.updated', processorSubscriptionId, 'metadata'),
    countRows: (backend, { subscriptionId }) =>
      count(backend, `subscriptions where id = $1 and metadata = '{"e": "5"}'`, subscriptionId),
  },
  {
    operation: 'subscriptions.pay',
    method: 'POST',
    status: 200,
    path: ({ unpaidSubscriptionId }) => `/subscriptions/${unpaidSubscriptionId}/pay`,
    body: ({ cardId }) => ({ paymentMethodId: cardId }),
    countAtProcessor: async (backend, { unpaidInvoiceId }) =>
      (await chargesOf(backend, unpaidInvoiceId)).attempts,
    countRows: (backend, { unpaidSubscriptionId }) =>
      count(backend, `subscriptions where id = $1 and status = 'active'`, unpaidSubscriptionId),
  },
];

/** Each change of the field sends one event. So do other changes of the object, such as a customer's first currency. */
async function countEvents(
  { stripe }: Backend,
  type: string,
  objectId: string,
  field: 'name' | 'metadata' = 'name',
): Promise<number> {
  const { data } = await stripe.events.list({ type, limit: 100 });
  const changes = data.filter(({ data: { object } }) => 'id' in object && object.id === objectId);
  return changes.filter(({ data: { previous_attributes: before } }) => before && field in before).length;
}

async function count({ sql }: Backend, rows: string, value: string): Promise<number> {
  const [row] = await sql<{ count: string }>(`select count(*) from till.${rows}`, [value]);
  return Number(row?.count);
}
