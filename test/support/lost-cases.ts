import assert from 'node:assert/strict';
import type { Backend } from './backend.ts';
import { type ChangeCase, changeCases } from './change-cases.ts';
import { subscribed } from './changes.ts';
import type { Answer, Client } from './client.ts';
import {
  type CreationCase,
  createPrerequisites,
  creationCases,
  type Prerequisites,
} from './creation-cases.ts';
import { confirmIntent, createCustomer, createPayment, createPlan } from './objects.ts';

/** A request that a client repeats after Till has lost its claim. */
export interface LostCase {
  readonly name: string;
  readonly method: 'POST' | 'PATCH';
  readonly path: string;
  readonly body: object;
  /** A different request with the same idempotency key. */
  readonly otherBody?: object;
  readonly status: number;
}

/** Requests of every kind that create, charge or change, and what they need. It exists before the snapshot. */
export async function createLostCases(
  backend: Pick<Backend, 'stripe'>,
  till: Client,
): Promise<readonly LostCase[]> {
  const basic = (await createBasicCases(backend, till)).flat();
  return [...basic, ...(await changesOfSubscriptions(backend, till))];
}

/** The same without most changes, in groups of requests that do not wait for each other's locks. */
export async function createBasicCases(
  backend: Pick<Backend, 'stripe'>,
  till: Client,
): Promise<readonly (readonly LostCase[])[]> {
  const prerequisites = await createPrerequisites(backend, till);
  const [offSession, declined, authenticated, refund, grouped] = await chargeCases(backend, till);
  // A payment takes the turn of its subscription, and the change of a plan waits for requests that use plans.
  const waiting = changeCases.filter(({ operation }) =>
    ['subscriptions.pay', 'plans.update'].includes(operation),
  );
  return [
    ...[creationCases, changeCases.filter((one) => !waiting.includes(one)), waiting].map((cases) =>
      cases.map((one) => toLostCase(one, prerequisites)),
    ),
    [offSession, refund, grouped],
    [declined],
    [authenticated],
  ];
}

function toLostCase(one: CreationCase | ChangeCase, prerequisites: Prerequisites): LostCase {
  return {
    name: 'method' in one ? `${one.operation}, in another way` : one.operation,
    method: 'method' in one ? one.method : 'POST',
    path: one.path(prerequisites),
    body: one.body(prerequisites),
    status: one.status,
  };
}

async function chargeCases(
  { stripe }: Pick<Backend, 'stripe'>,
  till: Client,
): Promise<readonly [LostCase, LostCase, LostCase, LostCase, LostCase]> {
  const customer = await createCustomer(till);
  const attach = async (token: string) =>
    (await stripe.paymentMethods.attach(token, { customer: customer.processorCustomerId })).id;
  const card = await attach('pm_card_visa');
  const payment = await createPayment(till, { customerId: customer.id });
  await confirmIntent({ stripe }, payment.processorPaymentIntentId);
  // No webhook says that it is paid. Asked to cancel it, Till reads it from the processor.
  assert.equal((await till.tryPost(`/payments/${payment.id}/cancel`, {})).status, 409);
  const grouped = await createPlan(till, { group: 'one-of-a-group', name: 'Grouped' });
  const order = { customerId: customer.id, amount: 3_100, currency: 'eur', offSession: true };
  const created = { method: 'POST', status: 201 } as const;
  const charge = (name: string, paymentMethodId: string) => ({
    ...created,
    name: `an off-session payment whose card ${name}`,
    path: '/payments',
    body: { ...order, paymentMethodId },
    otherBody: { ...order, paymentMethodId, amount: 3_200 },
  });
  return [
    charge('works', card),
    charge('is declined', await attach('pm_card_chargeCustomerFail')),
    charge('needs authentication', await attach('pm_card_authenticationRequired')),
    {
      ...created,
      name: 'a full refund',
      path: `/payments/${payment.id}/refund`,
      body: {},
      otherBody: { amount: 1_000 },
      status: 200,
    },
    {
      ...created,
      name: 'a subscription of a group, charged at once',
      path: '/subscriptions',
      body: { customerId: customer.id, planId: grouped.id, paymentMethodId: card },
      otherBody: { customerId: customer.id, planId: grouped.id, quantity: 2 },
    },
  ];
}

async function changesOfSubscriptions(
  { stripe }: Pick<Backend, 'stripe'>,
  client: Client,
): Promise<readonly LostCase[]> {
  const till = { ...client, stripe };
  const yearly = await createPlan(client, { name: 'Yearly', amount: 9_000, interval: 'year' });
  const change = { quantity: 3, proration: 'invoice' };
  const cases: [string, { readonly card?: string }, object, number][] = [
    ['a change billed now', {}, change, 200],
    ['a change billed now and declined', { card: 'pm_card_chargeCustomerFail' }, change, 402],
    ['a change that waits for the customer', { card: 'pm_card_authenticationRequired' }, change, 200],
    ['a change of the interval', {}, { planId: yearly.id, proration: 'none' }, 200],
    ['a change billed with the next invoice', {}, { quantity: 2 }, 200],
    ['a planned change', {}, { planId: yearly.id, when: 'periodEnd' }, 200],
    ['a cancellation at the end of the period', {}, { cancelAtPeriodEnd: true }, 200],
  ];
  const created: LostCase[] = [];
  for (const [name, options, body, status] of cases) {
    const { path } = await subscribed(till, options);
    created.push({ name, method: 'PATCH', path, body, status });
  }
  return created;
}

export function sendLost(
  till: Pick<Client, 'tryPost' | 'tryPatch'>,
  { name, method, path, body }: LostCase,
  values = body,
): Promise<Answer> {
  // Two cases may be the same operation, so each has its own idempotency key.
  const key = `key-of-${name.replaceAll(/[^a-z0-9-]/gi, '-')}`;
  return method === 'PATCH' ? till.tryPatch(path, values, key) : till.tryPost(path, values, key);
}

/** The ids of all objects of every kind that a request creates. */
export async function inventory({
  stripe,
}: Pick<Backend, 'stripe'>): Promise<Readonly<Record<string, readonly string[]>>> {
  const lists = {
    customers: stripe.customers.list({ limit: 100 }),
    products: stripe.products.list({ limit: 100 }),
    prices: stripe.prices.list({ limit: 100 }),
    payments: stripe.paymentIntents.list({ limit: 100 }),
    charges: stripe.charges.list({ limit: 100 }),
    refunds: stripe.refunds.list({ limit: 100 }),
    subscriptions: stripe.subscriptions.list({ status: 'all', limit: 100 }),
    invoices: stripe.invoices.list({ limit: 100 }),
    invoiceItems: stripe.invoiceItems.list({ limit: 100 }),
    schedules: stripe.subscriptionSchedules.list({ limit: 100 }),
    setups: stripe.setupIntents.list({ limit: 100 }),
  };
  const entries = await Promise.all(
    Object.entries(lists).map(async ([kind, list]) => {
      const ids: string[] = [];
      for await (const { id } of list) ids.push(id);
      return [kind, ids.toSorted()] as const;
    }),
  );
  return Object.fromEntries(entries);
}

/** A request, and its response before it was lost. */
export interface Acknowledged {
  readonly one: LostCase;
  readonly response: Answer;
}

/** The response without what may change: when the row was written, and what only webhooks tell. */
function lasting({ body }: Answer): unknown {
  const shown = (name: string, value: unknown) =>
    ['updatedAt', 'requestId', 'latestInvoiceId'].includes(name) ? undefined : value;
  return JSON.parse(JSON.stringify(body, shown));
}

/** With an external id, a customer that recovery has brought back is found first: 200, as for every existing one. */
function mayBeExisting({ method, body }: LostCase): boolean {
  return method === 'POST' && 'externalId' in body;
}

/** A repetition gets what was acknowledged. */
export function assertSame({ one, response }: Acknowledged, repeated: Answer): void {
  const message = `${one.name}: ${JSON.stringify(repeated.body)}`;
  const isExisting = mayBeExisting(one) && repeated.status === 200;
  assert.equal(isExisting ? 201 : repeated.status, response.status, message);
  assert.deepEqual(lasting(repeated), lasting(response), message);
}
