import assert from 'node:assert/strict';
import { setTimeout } from 'node:timers/promises';
import type { ClaimOperation } from '../../src/idempotency/claim.ts';
import type { Answer, Lab, Post } from './fault-lab.ts';

/** What a creation needs to be there first. Nothing else of the test touches it, so that all that is found was made under it. */
export interface Ground {
  readonly customerId: string;
  readonly processorCustomerId: string;
  readonly planId: string;
  /** Paid, of a customer of its own. */
  readonly paymentId: string;
  readonly processorPaymentIntentId: string;
}

type CreateOperation = Extract<ClaimOperation, `${string}.create`>;

/** One of the five requests that make something at the processor. */
export interface CreationCase {
  readonly operation: CreateOperation;
  /** As the processor names the call, for its faults. */
  readonly processorOperation: string;
  readonly status: 200 | 201;
  readonly path: (ground: Ground) => string;
  readonly body: (ground: Ground) => object;
  /** The id of what was made. */
  readonly idOf: (answer: Answer) => string;
  /** How many of it the processor has. */
  readonly countMade: (lab: Lab, ground: Ground) => Promise<number>;
  /** How many rows of it there are. */
  readonly countRows: (lab: Lab, ground: Ground) => Promise<number>;
}

const amount = 4_321;
const emailOf = ({ customerId }: Ground) => `${customerId}@example.com`;

export const creationCases: readonly CreationCase[] = [
  {
    operation: 'customers.create',
    processorOperation: 'customers.create',
    status: 201,
    path: () => '/api/v1/customers',
    body: (ground) => ({ email: emailOf(ground), name: 'Grace' }),
    idOf: ({ body }) => String(body['id']),
    countMade: async ({ dashboard }, ground) =>
      (await dashboard.customers.list({ email: emailOf(ground) })).data.length,
    countRows: (lab, ground) => count(lab, 'customers where email = $1', emailOf(ground)),
  },
  {
    operation: 'plans.create',
    processorOperation: 'prices.create',
    status: 201,
    path: () => '/api/v1/plans',
    body: ({ customerId }) => ({ name: customerId, amount, currency: 'EUR', interval: 'month' }),
    idOf: ({ body }) => String(body['id']),
    countMade: async ({ dashboard }, { customerId }) => {
      const { data } = await dashboard.products.list({ limit: 100 });
      const products = data.filter(({ name }) => name === customerId);
      const prices = await Promise.all(
        products.map(async ({ id }) => (await dashboard.prices.list({ product: id })).data.length),
      );
      assert.deepEqual(
        prices,
        products.map(() => 1),
      );
      return products.length;
    },
    countRows: (lab, { customerId }) => count(lab, 'plans where name = $1', customerId),
  },
  {
    operation: 'payments.create',
    processorOperation: 'payment_intents.create',
    status: 201,
    path: () => '/api/v1/payments',
    body: ({ customerId }) => ({ customerId, amount, currency: 'EUR' }),
    idOf: ({ body }) => idIn(body['payment']),
    countMade: async ({ dashboard }, { processorCustomerId }) => {
      const { data } = await dashboard.paymentIntents.list({ customer: processorCustomerId, limit: 100 });
      return data.filter((intent) => intent.amount === amount).length;
    },
    countRows: (lab, { customerId }) => count(lab, 'payments where customer_id = $1', customerId),
  },
  {
    operation: 'refunds.create',
    processorOperation: 'refunds.create',
    status: 200,
    path: ({ paymentId }) => `/api/v1/payments/${paymentId}/refund`,
    body: () => ({ amount: 700 }),
    idOf: ({ body }) => idIn(body['refund']),
    countMade: async ({ dashboard }, { processorPaymentIntentId }) =>
      (await dashboard.refunds.list({ payment_intent: processorPaymentIntentId })).data.length,
    countRows: (lab, { paymentId }) => count(lab, 'refunds where payment_id = $1', paymentId),
  },
  {
    operation: 'subscriptions.create',
    processorOperation: 'subscriptions.create',
    status: 201,
    path: () => '/api/v1/subscriptions',
    body: ({ customerId, planId }) => ({ customerId, planId }),
    idOf: ({ body }) => idIn(body['subscription']),
    countMade: async ({ dashboard }, { processorCustomerId }) =>
      (await dashboard.subscriptions.list({ customer: processorCustomerId, status: 'all' })).data.length,
    countRows: (lab, { customerId }) => count(lab, 'subscriptions where customer_id = $1', customerId),
  },
];

export function creationCase(operation: ClaimOperation): CreationCase {
  const found = creationCases.find((item) => item.operation === operation);
  assert(found);
  return found;
}

/** A customer, a plan, and a paid payment, each made without an idempotency key. */
export async function layGround(lab: Lab, post: Post): Promise<Ground> {
  const customer = await made(post, '/api/v1/customers', { email: 'ada@example.com' });
  const payer = await made(post, '/api/v1/customers', { email: 'payer@example.com' });
  const plan = await made(post, '/api/v1/plans', {
    name: 'Gold',
    amount: 900,
    currency: 'eur',
    interval: 'month',
  });
  const values = { customerId: payer['id'], amount: 2_000, currency: 'eur' };
  // The shape that the API promises for a created payment.
  const payment = (await made(post, '/api/v1/payments', values))['payment'] as Record<string, unknown>;
  const processorPaymentIntentId = String(payment['processorPaymentIntentId']);
  await lab.dashboard.paymentIntents.confirm(processorPaymentIntentId, {
    payment_method: 'pm_card_visa',
    return_url: 'https://shop.example.com/done',
  });
  // No webhook tells that it is paid; being asked to cancel it, the service sees for itself.
  const { status } = await post(`/api/v1/payments/${payment['id']}/cancel`, {});
  assert.equal(status, 409);
  return {
    customerId: String(customer['id']),
    processorCustomerId: String(customer['processorCustomerId']),
    planId: String(plan['id']),
    paymentId: String(payment['id']),
    processorPaymentIntentId,
  };
}

/** One at the processor, one row, and the claim completed: what every interrupted creation must end as. */
export async function assertMadeOnce(
  lab: Lab,
  ground: Ground,
  creation: Pick<CreationCase, 'countMade' | 'countRows'> & { readonly operation: ClaimOperation },
  key: string,
): Promise<void> {
  assert.equal(await creation.countMade(lab, ground), 1, `${creation.operation} at the processor`);
  assert.equal(await creation.countRows(lab, ground), 1, `rows of ${creation.operation}`);
  assert.equal(await settledClaim(lab, creation.operation, key), 'completed');
}

/** A payment's claim is completed a moment after its answer. */
async function settledClaim(lab: Lab, operation: ClaimOperation, key: string) {
  for (let looks = 0; looks < 500; looks += 1) {
    const state = await claimState(lab, operation, key);
    if (state !== 'open') return state;
    await setTimeout(10);
  }
  return 'open';
}

export async function claimState(
  { sql }: Lab,
  operation: ClaimOperation,
  key: string,
): Promise<'none' | 'open' | 'completed'> {
  const [claim] = await sql<{ completed_at: Date | null }>(
    'select completed_at from till.idempotency_claims where operation = $1 and key = $2',
    [operation, key],
  );
  if (claim === undefined) return 'none';
  return claim.completed_at === null ? 'open' : 'completed';
}

async function made(post: Post, path: string, body: object): Promise<Answer['body']> {
  const answer = await post(path, body);
  assert.equal(answer.status, 201, JSON.stringify(answer.body));
  return answer.body;
}

async function count({ sql }: Lab, rows: string, value: string): Promise<number> {
  const [row] = await sql<{ count: string }>(`select count(*) from till.${rows}`, [value]);
  return Number(row?.count);
}

function idIn(resource: unknown): string {
  assert(typeof resource === 'object' && resource !== null && 'id' in resource, JSON.stringify(resource));
  return String(resource.id);
}
