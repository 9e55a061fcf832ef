import assert from 'node:assert/strict';
import { setTimeout } from 'node:timers/promises';
import type { Backend } from './backend.ts';
import type { Answer, Client } from './client.ts';
import { confirmIntent, intentOf } from './objects.ts';
import { createPromotionCode } from './promotion-codes.ts';

export type CreationOperation =
  | 'customers.create'
  | 'plans.create'
  | 'payments.create'
  | 'payments.capture'
  | 'refunds.create'
  | 'subscriptions.create'
  | 'checkouts.create'
  | 'payment_methods.create';

/** What must exist before a creation. Each test has its own, so that everything under it comes from the test. */
export interface Prerequisites {
  readonly customerId: string;
  readonly processorCustomerId: string;
  readonly planId: string;
  /** A plan without subscriptions, which can get a group. */
  readonly unsoldPlanId: string;
  readonly addOnPlanId: string;
  /** A paid payment of another customer. */
  readonly paymentId: string;
  readonly processorPaymentIntentId: string;
  /** An authorised payment of that customer. */
  readonly authorisedPaymentId: string;
  readonly authorisedIntentId: string;
  /** Another payment of that customer, which is not paid. */
  readonly openPaymentId: string;
  readonly openIntentId: string;
  /** A subscription of that customer. */
  readonly subscriptionId: string;
  readonly processorSubscriptionId: string;
  /** That customer, with a saved card and a promotion code that can be redeemed once. */
  readonly payer: {
    readonly id: string;
    readonly processorCustomerId: string;
    readonly paymentMethodId: string;
    readonly promotionCode: string;
  };
  /** Another subscription of that customer, its first invoice, and a card that can pay it. */
  readonly unpaidSubscriptionId: string;
  readonly unpaidInvoiceId: string;
  readonly cardId: string;
}

/** One of the requests that create something at the processor, or capture a payment there. */
export interface CreationCase {
  readonly operation: CreationOperation;
  /** The processor's name for the call, to set faults. */
  readonly processorOperation: string;
  readonly status: 200 | 201;
  /** Below /api/v1. */
  readonly path: (prerequisites: Prerequisites) => string;
  readonly body: (prerequisites: Prerequisites) => object;
  /** The id of what was created. */
  readonly idOf: (response: Answer) => string;
  /** How many of them the processor has. */
  readonly countAtProcessor: (backend: Backend, prerequisites: Prerequisites) => Promise<number>;
  /** How many rows Till has. */
  readonly countRows: (backend: Backend, prerequisites: Prerequisites) => Promise<number>;
}

const amount = 4_321;
const emailOf = ({ customerId }: Prerequisites) => `${customerId}@example.com`;

export const creationCases: readonly CreationCase[] = [
  {
    operation: 'customers.create',
    processorOperation: 'customers.create',
    status: 201,
    path: () => '/customers',
    body: (prerequisites) => ({ email: emailOf(prerequisites), name: 'Grace' }),
    idOf: ({ body }) => String(body['id']),
    countAtProcessor: async ({ stripe }, prerequisites) =>
      (await stripe.customers.list({ email: emailOf(prerequisites) })).data.length,
    countRows: (backend, prerequisites) =>
      count(backend, 'customers where email = $1', emailOf(prerequisites)),
  },
  {
    operation: 'plans.create',
    processorOperation: 'prices.create',
    status: 201,
    path: () => '/plans',
    body: ({ customerId }) => ({
      ...{ name: customerId, amount, currency: 'EUR', interval: 'month', intervalCount: 3 },
      ...{ features: { seats: 1, sso: true }, group: 'base', repeatable: true },
    }),
    idOf: ({ body }) => String(body['id']),
    countAtProcessor: async ({ stripe }, { customerId }) => {
      const { data } = await stripe.products.list({ limit: 100 });
      const products = data.filter(({ name }) => name === customerId);
      const prices = await Promise.all(
        products.map(async ({ id }) => (await stripe.prices.list({ product: id })).data.length),
      );
      assert.deepEqual(
        prices,
        products.map(() => 1),
      );
      return products.length;
    },
    countRows: (backend, { customerId }) =>
      count(
        backend,
        `plans where name = $1 and interval_count = 3 and features = '{"seats": 1, "sso": true}'
         and group_name = 'base' and repeatable`,
        customerId,
      ),
  },
  {
    operation: 'payments.create',
    processorOperation: 'payment_intents.create',
    status: 201,
    path: () => '/payments',
    body: ({ customerId }) => ({ customerId, amount, currency: 'EUR' }),
    idOf: ({ body }) => idIn(body['payment']),
    countAtProcessor: async ({ stripe }, { processorCustomerId }) => {
      const { data } = await stripe.paymentIntents.list({ customer: processorCustomerId, limit: 100 });
      return data.filter((intent) => intent.amount === amount).length;
    },
    countRows: (backend, { customerId }) => count(backend, 'payments where customer_id = $1', customerId),
  },
  {
    operation: 'checkouts.create',
    processorOperation: 'checkout_sessions.create',
    status: 201,
    path: () => '/checkouts',
    body: ({ customerId }) => ({
      customerId,
      payment: { amount, currency: 'EUR', description: 'Checkout' },
      successUrl: 'https://shop.example.com/{CHECKOUT_ID}',
      cancelUrl: 'https://shop.example.com',
    }),
    idOf: ({ body }) => idIn(body['checkout']),
    countAtProcessor: async ({ stripe }, { processorCustomerId }) =>
      (await stripe.checkout.sessions.list({ customer: processorCustomerId, limit: 100 })).data.length,
    countRows: (backend, { customerId }) => count(backend, 'checkouts where customer_id = $1', customerId),
  },
  {
    operation: 'payments.capture',
    processorOperation: 'payment_intents.capture',
    status: 200,
    path: ({ authorisedPaymentId }) => `/payments/${authorisedPaymentId}/capture`,
    body: () => ({ amount: 800 }),
    idOf: ({ body }) => String(body['id']),
    countAtProcessor: async ({ stripe }, { authorisedIntentId }) => {
      const { data } = await stripe.events.list({ type: 'charge.captured', limit: 100 });
      return data.filter(
        ({ data: { object } }) => object.object === 'charge' && object.payment_intent === authorisedIntentId,
      ).length;
    },
    countRows: (backend, { authorisedPaymentId }) =>
      count(backend, `payments where id = $1 and amount_received = 800`, authorisedPaymentId),
  },
  {
    operation: 'refunds.create',
    processorOperation: 'refunds.create',
    status: 200,
    path: ({ paymentId }) => `/payments/${paymentId}/refund`,
    body: () => ({ amount: 700 }),
    idOf: ({ body }) => idIn(body['refund']),
    countAtProcessor: async ({ stripe }, { processorPaymentIntentId }) =>
      (await stripe.refunds.list({ payment_intent: processorPaymentIntentId })).data.length,
    countRows: (backend, { paymentId }) => count(backend, 'refunds where payment_id = $1', paymentId),
  },
  {
    operation: 'subscriptions.create',
    processorOperation: 'subscriptions.create',
    status: 201,
    path: () => '/subscriptions',
    body: ({ customerId, planId, addOnPlanId }) => ({
      ...{ customerId, planId, addOns: [{ planId: addOnPlanId, quantity: 2 }] },
    }),
    idOf: ({ body }) => idIn(body['subscription']),
    countAtProcessor: async ({ stripe }, { processorCustomerId }) =>
      (await stripe.subscriptions.list({ customer: processorCustomerId, status: 'all' })).data.length,
    countRows: (backend, { customerId }) =>
      count(backend, `subscriptions where customer_id = $1 and add_ons -> 0 -> 'quantity' = '2'`, customerId),
  },
  {
    operation: 'payment_methods.create',
    processorOperation: 'setup_intents.create',
    status: 201,
    path: ({ customerId }) => `/customers/${customerId}/payment-methods`,
    body: () => ({}),
    idOf: ({ body }) => intentOf(String(body['clientSecret'])),
    countAtProcessor: async ({ stripe }, { processorCustomerId }) =>
      (await stripe.setupIntents.list({ customer: processorCustomerId })).data.length,
    // Till keeps nothing about it but the claim.
    countRows: (backend, { customerId }) =>
      count(
        backend,
        `idempotency_claims where operation = 'payment_methods.create' and parent_id = $1`,
        customerId,
      ),
  },
];

/** Creates nothing at the processor, so faults of the processor do not concern it. */
export const keyCase: Omit<CreationCase, 'operation'> & { readonly operation: 'api_keys.create' } = {
  operation: 'api_keys.create',
  processorOperation: 'none',
  status: 201,
  path: () => '/api-keys',
  body: ({ customerId }) => ({ name: customerId, scopes: ['read'] }),
  idOf: ({ body }) => String(body['id']),
  countAtProcessor: (backend, prerequisites) => keyCase.countRows(backend, prerequisites),
  countRows: (backend, { customerId }) => count(backend, 'api_keys where name = $1', customerId),
};

export function creationCase(operation: CreationOperation): CreationCase {
  const found = creationCases.find((item) => item.operation === operation);
  assert(found);
  return found;
}

/**
 * Creates a customer, a plan, a paid payment, an authorised one, an open one, a subscription, a saved card and a
 * promotion code, without idempotency keys.
 */
export async function createPrerequisites(
  { stripe }: Pick<Backend, 'stripe'>,
  { tryPost }: Pick<Client, 'tryPost'>,
): Promise<Prerequisites> {
  const create = async (path: string, body: object): Promise<Answer['body']> => {
    const response = await tryPost(path, body);
    assert.equal(response.status, 201, JSON.stringify(response.body));
    return response.body;
  };
  const customer = await create('/customers', { email: 'ada@example.com' });
  const payer = await create('/customers', { email: 'payer@example.com' });
  const plan = await create('/plans', { name: 'Gold', amount: 900, currency: 'eur', interval: 'month' });
  const unsold = await create('/plans', { name: 'Silver', amount: 700, currency: 'eur', interval: 'month' });
  const addOn = await create('/plans', {
    ...{ name: 'Seats', amount: 500, currency: 'eur', interval: 'month', addOn: true },
  });
  const order = { customerId: payer['id'], amount: 2_000, currency: 'eur' };
  // The shape that the API promises for a created payment.
  const payment = (await create('/payments', order))['payment'] as Record<string, unknown>;
  const processorPaymentIntentId = String(payment['processorPaymentIntentId']);
  await confirmIntent({ stripe }, processorPaymentIntentId);
  const manual = await create('/payments', { ...order, captureMethod: 'manual' });
  // The same shape.
  const authorised = manual['payment'] as Record<string, unknown>;
  const authorisedIntentId = String(authorised['processorPaymentIntentId']);
  await confirmIntent({ stripe }, authorisedIntentId);
  // The same shape.
  const open = (await create('/payments', order))['payment'] as Record<string, unknown>;
  const { subscription } = await create('/subscriptions', { customerId: payer['id'], planId: plan['id'] });
  const unpaid = await create('/subscriptions', { customerId: payer['id'], planId: plan['id'] });
  const { latest_invoice: unpaidInvoiceId } = await stripe.subscriptions.retrieve(
    String(Object(unpaid['subscription']).processorSubscriptionId),
  );
  const { id: cardId } = await stripe.paymentMethods.attach('pm_card_visa', {
    customer: String(payer['processorCustomerId']),
  });
  // No webhook says that it is paid. Asked to cancel it, Till reads it from the processor.
  const { status } = await tryPost(`/payments/${payment['id']}/cancel`, {});
  assert.equal(status, 409);
  const processorPayerId = String(payer['processorCustomerId']);
  const card = await stripe.paymentMethods.attach('pm_card_visa', { customer: processorPayerId });
  const { code: promotionCode } = await createPromotionCode({ stripe }, { max_redemptions: 1 });
  return {
    payer: {
      id: String(payer['id']),
      processorCustomerId: processorPayerId,
      paymentMethodId: card.id,
      promotionCode,
    },
    customerId: String(customer['id']),
    processorCustomerId: String(customer['processorCustomerId']),
    planId: String(plan['id']),
    unsoldPlanId: String(unsold['id']),
    addOnPlanId: String(addOn['id']),
    paymentId: String(payment['id']),
    processorPaymentIntentId,
    authorisedPaymentId: String(authorised['id']),
    authorisedIntentId,
    openPaymentId: String(open['id']),
    openIntentId: String(open['processorPaymentIntentId']),
    subscriptionId: idIn(subscription),
    processorSubscriptionId: String(Object(subscription).processorSubscriptionId),
    unpaidSubscriptionId: idIn(unpaid['subscription']),
    unpaidInvoiceId: String(unpaidInvoiceId),
    cardId,
  };
}

/** For creations that need nothing but a customer. */
export async function createCustomerOnly({ tryPost }: Pick<Client, 'tryPost'>): Promise<Prerequisites> {
  const { body } = await tryPost('/customers', { email: 'ada@example.com' });
  const customer = {
    customerId: String(body['id']),
    processorCustomerId: String(body['processorCustomerId']),
  };
  // The rest would be undefined: a creation that needs more of it is refused.
  return customer as Prerequisites;
}

/** Every interrupted creation must end so: one object at the processor, one row, and a completed claim. */
export async function assertCreatedOnce(
  backend: Backend,
  prerequisites: Prerequisites,
  creation: Pick<CreationCase, 'countAtProcessor' | 'countRows'> & { readonly operation: string },
  key: string,
): Promise<void> {
  assert.equal(
    await creation.countAtProcessor(backend, prerequisites),
    1,
    `${creation.operation} at the processor`,
  );
  assert.equal(await creation.countRows(backend, prerequisites), 1, `rows of ${creation.operation}`);
  assert.equal(await settledClaimStatus(backend, creation.operation, key), 'completed');
}

/** A payment's claim is completed a moment after its response. */
async function settledClaimStatus(backend: Backend, operation: string, key: string) {
  for (let looks = 0; looks < 500; looks += 1) {
    const state = await claimStatus(backend, operation, key);
    if (state !== 'open') return state;
    await setTimeout(10);
  }
  return 'open';
}

export async function claimStatus(
  { sql }: Backend,
  operation: string,
  key: string,
): Promise<'none' | 'open' | 'completed'> {
  const [claim] = await sql<{ completed_at: Date | null }>(
    'select completed_at from till.idempotency_claims where operation = $1 and key = $2',
    [operation, key],
  );
  if (claim === undefined) return 'none';
  return claim.completed_at === null ? 'open' : 'completed';
}

/** The id that the claim gives to what is created. */
export async function claimedId(
  { sql }: Backend,
  operation: CreationOperation,
  key: string,
): Promise<string> {
  const [claim] = await sql<{ resource_id: string }>(
    'select resource_id from till.idempotency_claims where operation = $1 and key = $2',
    [operation, key],
  );
  assert(claim, `no claim of ${operation} has the key ${key}`);
  return claim.resource_id;
}

async function count({ sql }: Backend, rows: string, value: string): Promise<number> {
  const [row] = await sql<{ count: string }>(`select count(*) from till.${rows}`, [value]);
  return Number(row?.count);
}

function idIn(resource: unknown): string {
  assert(typeof resource === 'object' && resource !== null && 'id' in resource, JSON.stringify(resource));
  return String(resource.id);
}
