/**
 * What each operation costs at the database, in numbers that do not depend on the machine. A change that makes an
 * operation dearer or cheaper changes the table, and its commit says why. To print the table as it is measured:
 *
 *     COSTS=print npm run t test/costs/costs.test.ts
 */
import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { createCheckout, pages } from '../support/checkouts.ts';
import { type Costs, startCountedBackend } from '../support/database-costs.ts';
import type { EventPage } from '../support/event-feed.ts';
import { startEventSink } from '../support/event-sink.ts';
import {
  confirmPayment,
  confirmSecret,
  createCustomer,
  createPaidPayment,
  createPayment,
  createPlan,
  createSubscription,
  type PaymentBody,
} from '../support/objects.ts';
import { appendForIds } from '../support/stored-events.ts';
import { startTill } from '../support/till.ts';
import { backendEnvironment } from '../support/till-in-child.ts';
import type { TillInProcess } from '../support/till-in-process.ts';
import { until } from '../support/until.ts';
import { consumeUsage, createMeter, recordUsage, usageOf } from '../support/usage.ts';
import { signWebhook } from '../support/webhook-events.ts';
import { startWholeTill, type WholeTill } from '../support/whole-till.ts';
import { stopClock } from './stopped-clock.ts';

const table: Readonly<Record<string, Costs>> = {
  'a minute without work': { statements: 266, roundTrips: 260, rows: 0, walRecords: 12 },
  'a created customer': { statements: 7, roundTrips: 6, rows: 5, walRecords: 27 },
  'a created plan': { statements: 7, roundTrips: 6, rows: 4, walRecords: 21 },
  'a created payment': { statements: 7, roundTrips: 6, rows: 5, walRecords: 29 },
  'a created subscription': { statements: 19, roundTrips: 14, rows: 5, walRecords: 30 },
  'a created subscription of a group': { statements: 24, roundTrips: 19, rows: 7, walRecords: 35 },
  'a created checkout of a group': { statements: 28, roundTrips: 26, rows: 7, walRecords: 35 },
  // One statement, one row and its index entries are those of the audit log.
  'a created refund': { statements: 19, roundTrips: 16, rows: 9, walRecords: 49 },
  'a queued webhook': { statements: 8, roundTrips: 5, rows: 4, walRecords: 31 },
  '20 queued webhooks': { statements: 8, roundTrips: 5, rows: 80, walRecords: 603 },
  'a webhook, payment_intent.succeeded': { statements: 7, roundTrips: 3, rows: 3, walRecords: 22 },
  '20 webhooks, payment_intent.succeeded': { statements: 7, roundTrips: 4, rows: 60, walRecords: 402 },
  'counting 23 paid payments for the overview': { statements: 10, roundTrips: 9, rows: 3, walRecords: 7 },
  'a webhook, charge.succeeded': { statements: 7, roundTrips: 3, rows: 3, walRecords: 21 },
  '20 webhooks, charge.succeeded': { statements: 7, roundTrips: 4, rows: 60, walRecords: 416 },
  'a webhook, customer.subscription.updated': { statements: 10, roundTrips: 3, rows: 3, walRecords: 23 },
  '20 webhooks, customer.subscription.updated': { statements: 10, roundTrips: 4, rows: 60, walRecords: 439 },
  'counting 23 active subscriptions for the overview': {
    statements: 14,
    roundTrips: 13,
    rows: 32,
    walRecords: 74,
  },
  'a webhook, invoice.paid': { statements: 14, roundTrips: 6, rows: 5, walRecords: 29 },
  '20 webhooks, invoice.paid': { statements: 14, roundTrips: 7, rows: 81, walRecords: 505 },
  'a webhook, refund.created': { statements: 10, roundTrips: 6, rows: 5, walRecords: 33 },
  '20 webhooks, refund.created': { statements: 10, roundTrips: 7, rows: 100, walRecords: 646 },
  'a webhook that arrives again': { statements: 6, roundTrips: 4, rows: 0, walRecords: 3 },
  '20 webhooks that arrive again': { statements: 3, roundTrips: 2, rows: 0, walRecords: 0 },
  'a read subscription': { statements: 1, roundTrips: 1, rows: 0, walRecords: 0 },
  'the entitlements of a customer': { statements: 1, roundTrips: 1, rows: 0, walRecords: 0 },
  'a page of a list': { statements: 1, roundTrips: 1, rows: 0, walRecords: 0 },
  'a page of the feed': { statements: 2, roundTrips: 2, rows: 0, walRecords: 0 },
  'the next page of the feed': { statements: 2, roundTrips: 2, rows: 0, walRecords: 0 },
  'a batch of 20 usage events': { statements: 4, roundTrips: 4, rows: 21, walRecords: 83 },
  'the same batch again': { statements: 5, roundTrips: 5, rows: 0, walRecords: 0 },
  'a consumption': { statements: 4, roundTrips: 4, rows: 2, walRecords: 7 },
  'a refused consumption': { statements: 2, roundTrips: 2, rows: 0, walRecords: 0 },
  'the entitlements of a customer with usage': { statements: 1, roundTrips: 1, rows: 0, walRecords: 0 },
  'a delivered event': { statements: 6, roundTrips: 5, rows: 2, walRecords: 6 },
};

/** Each operation runs this often. The least counts: a page that happens to be full only adds to the costs. */
const runs = 3;
/** Webhooks that are received and applied together. */
const batchSize = 20;
/** Some records depend on how full a page is. */
const walTolerance = 0.05;
/** Work whose period does not divide a minute runs once more or less in it. */
const minuteTolerance = 0.01;
const idleName = 'a minute without work';
const minuteMs = 60_000;
/** The background work pauses for multiples of this time. */
const clockStepMs = 50;
/** Longer than the dispatcher waits for further events, and shorter than its pauses. */
const dispatchMs = 20;
/** Later than every response that the rows come from, so that no event needs a read from the processor. */
const laterSeconds = 60;

const backend = await startCountedBackend({ after });
const { sql, stripe } = backend;
const till = await startTill({
  in: 'process',
  on: backend,
  mustNotLogErrors: true,
  events: { allowPrivate: true },
});
const { services } = till;
const measured = new Map<string, Costs>();

// A connection counts the rows of a list in a row of its own. All of these exist, as after a while in production.
await sql(`insert into till.list_counts select resource, shard, 0
  from unnest(array['customers', 'payments', 'subscriptions', 'invoices']) as resource, generate_series(0, 31) as shard`);

after(() => {
  if (process.env['COSTS'] !== 'print') return;
  const lines = [...measured].map(([name, costs]) => {
    const fields = Object.entries(costs).map(([field, value]) => `${field}: ${value}`);
    return `  '${name}': { ${fields.join(', ')} },\n`;
  });
  process.stdout.write(`const table: Readonly<Record<string, Costs>> = {\n${lines.join('')}};\n`);
});

// First, because the database has no rows yet.
test('a process without work costs what the table says', async () => {
  const idle = await measureIdle();
  await idle.stop();
  compare();
});

test('creations cost what the table says', async () => {
  const customer = await createCustomer(till);
  const plan = await createPlan(till);
  const order = { customerId: customer.id, planId: plan.id };
  await measure('a created customer', () => createCustomer(till));
  await measure('a created plan', () => createPlan(till));
  await measure('a created payment', () => createPayment(till, { customerId: customer.id }));
  await measure('a created subscription', () => createSubscription(till, order));
  const grouped = { planId: (await createPlan(till, { group: 'main' })).id };
  const buyers: string[] = [];
  for (let run = 0; run < 2 * runs; run += 1) buyers.push((await createCustomer(till)).id);
  await measure('a created subscription of a group', (run) =>
    createSubscription(till, { ...grouped, customerId: buyers[run] ?? '' }),
  );
  await measure('a created checkout of a group', (run) =>
    createCheckout(till, { ...pages, ...grouped, customerId: buyers[runs + run] ?? '' }),
  );
  const payments: PaymentBody[] = [];
  for (let run = 0; run < runs; run += 1) payments.push(await createPaidPayment(till));
  await till.settle();
  await measure('a created refund', (run) => till.post(`/payments/${payments[run]?.id}/refund`));
  compare();
});

test('webhooks cost what the table says, one alone and several together', async () => {
  const customer = await createCustomer(till);
  const plan = await createPlan(till);
  const each = Array.from({ length: runs + batchSize });
  const pay = () => Promise.all(each.map(() => createPayment(till, { customerId: customer.id })));
  const payments = await pay();
  const order = { customerId: customer.id, planId: plan.id };
  const subscriptions = await Promise.all(each.map(() => createSubscription(till, order)));
  for (const { clientSecret } of subscriptions) await confirmSecret(till, clientSecret);
  for (const payment of await pay()) await confirmPayment(till, payment);
  await measureWorked('payment_intent.succeeded');
  // Last: the newest events of payment intents and charges are about these.
  for (const payment of payments) await confirmPayment(till, payment);
  await services.overviewFollower.run();
  const receiver = await measureReceived(payments);
  await receiver.stop();
  compare();
});

test('reads cost what the table says', async () => {
  const customer = await createCustomer(till);
  const { subscription } = await createSubscription(till, { customerId: customer.id });
  await measure('a read subscription', () => till.get(`/subscriptions/${subscription.id}`));
  await measure('the entitlements of a customer', () => till.get(`/customers/${customer.id}/entitlements`));
  await measure('a page of a list', () => till.get('/payments?limit=20'));
  await measure('a page of the feed', () => till.get('/events?limit=100'));
  const { nextCursor } = await till.get<EventPage>('/events?limit=1');
  await measure('the next page of the feed', () => till.get(`/events?limit=100&after=${nextCursor}`));
  compare();
});

test('usage costs what the table says', async () => {
  const customer = await createCustomer(till);
  const meter = await createMeter(till);
  const plan = await createPlan(till, { features: { [meter.key]: true } });
  await createSubscription(till, { customerId: customer.id, planId: plan.id, trialPeriodDays: 7 });
  const batches = Array.from({ length: runs }, () =>
    Array.from({ length: batchSize }, () => usageOf(customer, meter)),
  );
  const record = (run: number) => recordUsage(till, ...(batches[run] ?? []));
  // The first event of a window creates its counter.
  await recordUsage(till, usageOf(customer, meter));
  await measure('a batch of 20 usage events', record);
  await measure('the same batch again', record);
  await measure('a consumption', () => consumeUsage(till, usageOf(customer, meter)));
  const other = await createCustomer(till);
  await measure('a refused consumption', () => consumeUsage(till, usageOf(other, meter)));
  await measure('the entitlements of a customer with usage', () =>
    till.get(`/customers/${customer.id}/entitlements`),
  );
  compare();
});

test('deliveries cost what the table says', async (t) => {
  const sink = await startEventSink({ after: (end) => t.after(end) });
  await till.post('/event-endpoints', { url: sink.url });
  const sender = await measureDeliveries();
  await sender.stop();
  compare();
});

test('the table has no other operations', () => {
  assert.deepEqual(Object.keys(table), [...measured.keys()]);
});

/** Returns the process, to stop once the clock runs again. */
async function measureIdle(): Promise<WholeTill> {
  using clock = stopClock();
  const idle = await startWholeTill(backendEnvironment(backend));
  const pass = async (ms: number) => {
    for (let passedMs = 0; passedMs < ms; passedMs += clockStepMs) {
      await clock.advance(clockStepMs);
      await backend.idle();
    }
  };
  // The recovery is the last work of a start.
  await until(async () => {
    await pass(clockStepMs);
    return (await sql('select from till.recovery where read_until is not null')).length > 0;
  });
  await measure(idleName, () => pass(minuteMs), { times: 1 });
  return idle;
}

async function measureDeliveries(): Promise<TillInProcess> {
  using clock = stopClock();
  const events = { allowPrivate: true };
  const sender = await startTill({ in: 'process', on: backend, delivers: true, events });
  const delivered = (count: number) =>
    until(async () => (await sql('select from till.event_deliveries')).length === count);
  // Its first look has found the endpoint, and its lane waits for events.
  await until(async () => (await sql('select from till.event_endpoints where owner is not null')).length > 0);
  await backend.idle();
  const append = () => appendForIds(sql, [{}]);
  const deliver = async (run: number) => {
    sender.services.dispatcher.nudge();
    await clock.advance(dispatchMs);
    await delivered(run + 1);
  };
  await measure('a delivered event', deliver, { prepare: append });
  return sender;
}

/** Webhooks that a process without a worker stores, and that a worker applies. */
async function measureWorked(type: string): Promise<void> {
  const events = await newestEvents(type);
  await measure('a queued webhook', async (run) => {
    await till.send(events[run] ?? '');
    assert.equal(await services.eventApplier.applyBatch(), 1);
  });
  const receiveAll = async () => {
    await Promise.all(events.slice(runs).map((body) => receive(till, body)));
    assert.equal(await services.eventApplier.applyBatch(), batchSize);
  };
  await measure(`${batchSize} queued webhooks`, receiveAll, { times: 1 });
}

/** Webhooks of a process with a worker. Returns the process, to stop once the clock runs again. */
async function measureReceived(payments: readonly PaymentBody[]): Promise<TillInProcess> {
  using _clock = stopClock();
  const receiver = await startTill({ in: 'process', on: backend, workers: 1, mustNotLogErrors: true });
  await measureWebhooks(receiver, 'payment_intent.succeeded');
  const count = (what: string) =>
    measure(`counting ${runs + batchSize} ${what} for the overview`, () => services.overviewFollower.run(), {
      times: 1,
    });
  await count('paid payments');
  await measureWebhooks(receiver, 'charge.succeeded');
  await services.overviewFollower.run();
  await measureWebhooks(receiver, 'customer.subscription.updated');
  await count('active subscriptions');
  await measureWebhooks(receiver, 'invoice.paid');
  for (const { processorPaymentIntentId } of payments)
    await stripe.refunds.create({ payment_intent: processorPaymentIntentId, amount: 50 });
  await measureWebhooks(receiver, 'refund.created');
  const repeated = await newestEvents('refund.created');
  await measure('a webhook that arrives again', () => receiver.send(repeated[0] ?? ''));
  const repeatAll = () => Promise.all(repeated.slice(0, batchSize).map((body) => receive(receiver, body)));
  await measure(`${batchSize} webhooks that arrive again`, repeatAll, { times: 1 });
  return receiver;
}

async function measureWebhooks(receiver: TillInProcess, type: string): Promise<void> {
  const events = await newestEvents(type);
  await measure(`a webhook, ${type}`, (run) => receiver.send(events[run] ?? ''));
  const receiveAll = () => Promise.all(events.slice(runs).map((body) => receive(receiver, body)));
  await measure(`${batchSize} webhooks, ${type}`, receiveAll, { times: 1 });
  const waiting = await sql(`select from till.webhook_events where state = 'pending'`);
  assert.equal(waiting.length, 0, `${type}: each is applied on receipt`);
}

async function receive({ processor, services: { inbox } }: TillInProcess, body: string): Promise<void> {
  const verified = processor.verifyWebhook(Buffer.from(body), signWebhook(body), new Date());
  assert.ok(verified.outcome === 'event');
  await inbox.receive(verified.event, verified.read);
}

/** The sandbox's newest events of a type, one for each run and for each webhook of the batch. */
async function newestEvents(type: string): Promise<readonly string[]> {
  const { data } = await stripe.events.list({ type, limit: runs + batchSize });
  return data.map((event) => JSON.stringify({ ...event, created: event.created + laterSeconds }));
}

interface Measurement {
  readonly times?: number;
  /** What is not measured, before each run. */
  readonly prepare?: () => Promise<unknown>;
}

async function measure(
  name: string,
  work: (run: number) => Promise<unknown>,
  { times = runs, prepare = async () => {} }: Measurement = {},
): Promise<void> {
  await ended();
  for (let run = 0; run < times; run += 1) {
    await prepare();
    const costs = await backend.costsOf(async () => {
      await work(run);
      await ended();
    });
    measured.set(name, least(costs, measured.get(name) ?? costs));
  }
}

/** Resolves when the work that goes on after a response has ended. */
async function ended(): Promise<void> {
  const open = 'select from till.idempotency_claims where completed_at is null limit 1';
  await until(async () => (await sql(open)).length === 0);
  await backend.idle();
}

function least(one: Costs, other: Costs): Costs {
  const fields = Object.keys(one) as (keyof Costs)[];
  return Object.fromEntries(
    fields.map((field) => [field, Math.min(one[field], other[field])]),
  ) as unknown as Costs;
}

/** Fails if an operation costs more or less than the table says. */
function compare(): void {
  const differences = [...measured].flatMap(([name, costs]) => {
    const known = table[name];
    if (known === undefined) return [`${name}: not in the table`];
    return (Object.keys(costs) as (keyof Costs)[])
      .filter((field) => Math.abs(costs[field] - known[field]) > allowed(name, field, known[field]))
      .map((field) => `${name}: ${costs[field]} ${field}, the table says ${known[field]}`);
  });
  assert.deepEqual(differences, []);
}

function allowed(name: string, field: keyof Costs, value: number): number {
  if (field === 'walRecords') return Math.ceil(value * walTolerance);
  return name === idleName ? Math.ceil(value * minuteTolerance) : 0;
}
