import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { eventFixture } from '../fixtures/event-fixture.ts';
import type { Backend } from './backend.ts';
import { createCheckout } from './checkouts.ts';
import type { Client } from './client.ts';
import {
  confirmPayment,
  createCustomer,
  createPaidPayment,
  createPayment,
  createPlan,
  createSubscription,
  readSubscription,
  saveCard,
} from './objects.ts';
import type { Documented } from './openapi-document.ts';
import { appendForIds } from './stored-events.ts';
import { createMeter, type UsageBody, usageOf } from './usage.ts';

/** What fills in an operation of the document. */
export interface ApiRequest {
  /** Replaces `{id}`. */
  readonly id?: string;
  /** Replaces `{paymentMethodId}`. */
  readonly paymentMethodId?: string;
  readonly query?: string;
  readonly body?: unknown;
  /** A body as it is, in place of JSON. */
  readonly raw?: string;
  readonly headers?: Readonly<Record<string, string>>;
}

/** No object has it. */
export const unknownId = '0199c1f0-6a3e-7c52-9d4b-2f6c1a7e8b90';
/** There is a maximum of event endpoints and of meters. */
const keptMax = 20;

export interface RightRequestTill extends Client, Pick<Backend, 'stripe' | 'sql'> {
  /** An address to which event endpoints may lead. By default, the one of the documented example. */
  readonly hookUrl?: string;
}

/** The path of a request to an operation. What it leaves out names nothing that exists. */
export function pathOf(
  operation: Documented,
  { id = unknownId, paymentMethodId, query }: ApiRequest,
): string {
  const path = operation.path
    .replace('{id}', id)
    .replace('{paymentMethodId}', paymentMethodId ?? 'pm_unknown');
  return `${path}${query ?? ''}`;
}

/** A request about nothing that exists, for refusals that come before anything is looked for. */
export function exampleRequest({ requestBody }: Documented): ApiRequest {
  return { body: requestBody?.content['application/json']?.example };
}

/** A request that must succeed: the documented example, with ids of objects that are created for it. */
export async function rightRequest(till: RightRequestTill, operation: Documented): Promise<ApiRequest> {
  const { path, method } = operation;
  const { body: documented } = exampleRequest(operation);
  const target = path.includes('{id}') ? { id: await createTarget(till, path) } : {};
  const needsCard = [path, JSON.stringify(documented)].some((text) => text?.includes('paymentMethodId'));
  const card =
    needsCard && target.id !== undefined
      ? { paymentMethodId: (await saveCard(till, await holderOf(till, path, target.id))).paymentMethodId }
      : {};
  const created = { ...target, ...card };
  const query = method === 'GET' ? await queryOf(till, path) : undefined;
  if (query !== undefined) return { ...created, query };
  if (documented === undefined) return created;
  // The document has only objects as examples of bodies.
  const example = documented as Readonly<Record<string, unknown>>;
  if ('events' in example) return { ...created, body: { events: [await newUsage(till)] } };
  if ('meter' in example) return { ...created, body: await newUsage(till) };
  const ids = {
    ...('after' in example ? { after: (await appendForIds(till.sql, [{}]))[0] } : {}),
    ...('paymentMethodId' in example ? card : {}),
    ...('endpointId' in example ? { endpointId: await createEndpoint(till) } : {}),
    ...('customerId' in example ? { customerId: (await createCustomer(till)).id } : {}),
    ...('planId' in example ? { planId: (await createPlan(till)).id } : {}),
    ...('addOns' in example
      ? { addOns: [{ planId: (await createPlan(till, { addOn: true })).id, quantity: 2 }] }
      : {}),
    ...('externalId' in example ? { externalId: randomUUID() } : {}),
    ...('resets' in example ? { key: randomUUID() } : {}),
    ...('url' in example && till.hookUrl !== undefined ? { url: till.hookUrl } : {}),
  };
  return { ...created, body: { ...example, ...ids } };
}

/** Without `fresh`, entitlements need no call to the processor. */
async function queryOf(till: RightRequestTill, path: string): Promise<string | undefined> {
  switch (path) {
    case '/api/v1/entitlements': {
      const { externalId } = await createCustomer(till, { externalId: randomUUID() });
      return `?externalId=${externalId}&fresh=true`;
    }
    case '/api/v1/customers/{id}/entitlements':
      return '?fresh=true';
    case '/api/v1/usage':
    case '/api/v1/usage/events': {
      const { customerId, meter } = await newUsage(till);
      return `?customerId=${customerId}&meter=${meter}`;
    }
    case '/api/v1/search':
      return '?q=ada@example.com';
    case '/api/v1/overview/moves':
      return '?move=new&currency=eur';
    case '/api/v1/overview/subscribers':
      return '?currency=eur';
    default:
      return undefined;
  }
}

async function createTarget(till: RightRequestTill, path: string): Promise<string> {
  const [, , , resource = '', , action] = path.split('/');
  const creations: Readonly<Record<string, () => Promise<string>>> = {
    customers: async () => (await createCustomer(till)).id,
    plans: async () => (await createPlan(till)).id,
    payments: () => paymentFor(till, action),
    subscriptions: () => subscriptionFor(till, action),
    invoices: () => createInvoice(till),
    checkouts: async () => {
      const { id: customerId } = await createCustomer(till);
      return (await createCheckout(till, { customerId, saveCard: true })).checkout.id;
    },
    'webhook-events': () => createWebhookEvent(till),
    'api-keys': async () =>
      (await till.post<{ id: string }>('/api-keys', { name: 'read', scopes: ['read'] })).id,
    'event-endpoints': () => createEndpoint(till),
    events: async () => (await appendForIds(till.sql, [{}]))[0] ?? '',
    resyncs: () => createResync(till),
    meters: async () => (await createFewMeters(till)).id,
  };
  const create = creations[resource];
  assert.ok(create !== undefined, `no test creates ${resource}: ${path}`);
  return create();
}

/** The customer whose cards the target of the path can charge. */
async function holderOf(till: RightRequestTill, path: string, id: string): Promise<{ readonly id: string }> {
  if (!path.startsWith('/api/v1/subscriptions/')) return { id };
  return { id: (await readSubscription(till, { id })).customerId };
}

/** One that waits for its first payment can be paid, and cannot be changed. */
async function subscriptionFor(till: RightRequestTill, action: string | undefined): Promise<string> {
  if (action !== 'pay') return (await createSubscription(till, { trialPeriodDays: 7 })).subscription.id;
  const customer = await createCustomer(till);
  const { paymentMethodId } = await saveCard(till, customer);
  await till.call('PUT', `/customers/${customer.id}/default-payment-method`, { paymentMethodId });
  return (await createSubscription(till, { customerId: customer.id })).subscription.id;
}

async function paymentFor(till: RightRequestTill, action: string | undefined): Promise<string> {
  if (action === 'refund') return (await createPaidPayment(till)).id;
  const payment = await createPayment(till, action === 'capture' ? { captureMethod: 'manual' } : {});
  if (action === 'capture') await confirmPayment(till, payment);
  return payment.id;
}

async function createInvoice({ stripe, sql }: RightRequestTill): Promise<string> {
  const { id: customer } = await stripe.customers.create({});
  const { id: processorInvoiceId } = await stripe.invoices.create({ customer });
  // Its webhook may have arrived before.
  const [row] = await sql<{ id: string }>(
    `insert into till.invoices (id, processor_invoice_id, amount_due, amount_paid, amount_remaining, currency, status,
       attempt_count, processor_as_of, processor_as_of_latest, created_at, updated_at)
     values (gen_random_uuid(), $1, 1900, 0, 1900, 'eur', 'open', 0, now(), now(), now(), now())
     on conflict (processor_invoice_id) do update set updated_at = now() returning id`,
    [processorInvoiceId],
  );
  return row?.id ?? '';
}

export async function createEndpoint(till: RightRequestTill): Promise<string> {
  await till.sql(older('event_endpoints'));
  const { hookUrl: url = 'https://shop.example.com/' } = till;
  return (await till.post<{ id: string }>('/event-endpoints', { url })).id;
}

async function createFewMeters(till: RightRequestTill) {
  await till.sql(older('meters'));
  return createMeter(till);
}

function older(table: 'event_endpoints' | 'meters'): string {
  return `delete from till.${table} where id in (
    select id from till.${table} order by created_at desc, id desc offset ${keptMax})`;
}

async function newUsage(till: RightRequestTill): Promise<UsageBody> {
  return usageOf(await createCustomer(till), await createFewMeters(till));
}

/** One that has ended: only one runs at a time. */
async function createResync({ sql }: RightRequestTill): Promise<string> {
  const [row] = await sql<{ id: string }>(
    `insert into till.resyncs (id, status, started_at, ended_at)
     values (gen_random_uuid(), 'finished', now(), now()) returning id`,
  );
  return row?.id ?? '';
}

/** The processor's times are whole seconds. */
async function createWebhookEvent({ sql }: RightRequestTill): Promise<string> {
  const [row] = await sql<{ id: string }>(
    `insert into till.webhook_events (id, type, created_at, payload, state, next_try_at, received_at)
     values ('evt_' || gen_random_uuid(), 'balance.available', date_trunc('second', now()), $1, 'ignored', now(), now())
     returning id`,
    [eventFixture('balance.available')],
  );
  return row?.id ?? '';
}
