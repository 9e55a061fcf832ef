import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import type { Stripe } from 'stripe';
import type { CustomerFacts } from '#core/model/customer.ts';
import { asOfEvent } from '#core/model/facts.ts';
import type { InvoiceFacts } from '#core/model/invoice.ts';
import {
  confirmPayment,
  createCustomer,
  createPaidPayment,
  createPayment,
  type PageBody,
  type PaymentBody,
  readPayment,
} from '../support/objects.ts';
import { startTill } from '../support/till.ts';
import type { TillInChild } from '../support/till-in-child.ts';
import type { TillInProcess } from '../support/till-in-process.ts';
import { until } from '../support/until.ts';
import { inLanes } from './model/event-delivery.ts';
import { type ModelBackend, startModelBackend, startModelTill } from './model/model-run.ts';

test('of thirty concurrent deliveries of one event one is processed and 29 are duplicates', async (t) => {
  const till = await start(t);
  const payment = await createPaidPayment(till);
  const [event] = await eventsOf(till, 'payment_intent.succeeded');
  const sent = JSON.stringify(event);
  const responses = await Promise.all(
    Array.from({ length: 30 }, async () => {
      const response = await till.send(sent);
      return { status: response.status, body: await response.text() };
    }),
  );
  const saying = (duplicate: boolean) =>
    responses.filter(
      ({ status, body }) => status === 200 && body === JSON.stringify({ received: true, duplicate }),
    ).length;
  assert.deepEqual([saying(false), saying(true)], [1, 29]);
  await till.drainAll();
  const metrics = await readMetrics(till.url);
  assert.equal(metrics.get('webhook_events_received_total{type="payment_intent.succeeded"}'), 1);
  assert.equal(metrics.get('webhook_events_processed_total{type="payment_intent.succeeded"}'), 1);
  assert.equal(metrics.get('webhook_events_duplicate_total'), 29);
  assert.equal(metrics.get('payments_succeeded_total'), 1);
  assert.equal((await readPayment(till, payment)).status, 'succeeded');
});

test('workers in other processes notice events by themselves and apply each of them once', async (t) => {
  const till = await start(t);
  const others = await Promise.all([startWorker(till), startWorker(till)]);
  const { id: customerId } = await createCustomer(till);
  const payments = await Promise.all(Array.from({ length: 30 }, () => createPayment(till, { customerId })));
  for (const payment of payments) await confirmPayment(till, payment);
  const events = await eventsOf(till, 'payment_intent.created', 'payment_intent.succeeded');
  assert.equal(events.length, 60);
  // The process that takes the deliveries has no worker, so nothing wakes the others.
  await inLanes(8, [...events, ...events], (event) => deliver(till, event));
  const processed = (type: string) => `webhook_events_processed_total{type="${type}"}`;
  const read = async () => {
    const metrics = await Promise.all(others.map(({ url }) => readMetrics(url)));
    return (name: string) => metrics.reduce((total, values) => total + (values.get(name) ?? 0), 0);
  };
  // A worker counts what it has processed after its commit.
  await until(async () => {
    const sum = await read();
    return sum(processed('payment_intent.created')) + sum(processed('payment_intent.succeeded')) >= 60;
  });
  assert.equal(await till.services.webhookEvents.countPending(), 0);
  const sum = await read();
  assert.equal(sum(processed('payment_intent.created')), 30);
  assert.equal(sum(processed('payment_intent.succeeded')), 30);
  assert.equal(sum('payments_succeeded_total'), 30);
  const { data } = await till.get<PageBody<PaymentBody>>('/payments?limit=100');
  assert.deepEqual(
    data.map(({ status }) => status),
    payments.map(() => 'succeeded'),
  );
});

test('a response of the processor that a newer event has overtaken is not applied', async (t) => {
  const asked = Promise.withResolvers<void>();
  const released = Promise.withResolvers<void>();
  let isHolding = false;
  const till = await start(t, () => {
    if (!isHolding) return undefined;
    isHolding = false;
    asked.resolve();
    return released.promise;
  });
  const { id, processorCustomerId } = await createCustomer(till);
  const created = Math.floor(Date.now() / 1_000) + 60;
  const rename = async (name: string, at: number) => {
    await till.stripe.customers.update(processorCustomerId, { name });
    const [event] = await eventsOf(till, 'customer.updated');
    await deliver(till, { ...event, created: at });
  };
  await rename('first', created);
  await rename('second', created);
  isHolding = true;
  const asking = till.services.eventApplier.applyBatch();
  await asked.promise;
  await rename('third', created + 1);
  await till.services.eventApplier.applyBatch();
  released.resolve();
  await asking;
  await till.drainAll();
  assert.equal((await till.get<{ name: string }>(`/customers/${id}`)).name, 'third');
});

/** Events that lock their payments before the refunds of the same batch do. */
const appliedBeforeRefunds = [
  'payment_intent.succeeded',
  'charge.succeeded',
  'charge.dispute.created',
] as const;

for (const type of appliedBeforeRefunds)
  test(`a batch locks the payments of ${type} and of its refunds in one order`, async (t) => {
    const till = await start(t);
    const { id: customerId } = await createCustomer(till);
    const [first, second] = [
      await createPayment(till, { customerId }),
      await createPayment(till, { customerId }),
    ];
    await confirmPayment(till, first);
    await confirmPayment(till, second, 'pm_card_createDispute');
    await till.stripe.refunds.create({ payment_intent: first.processorPaymentIntentId });
    const refunded = await eventsOf(till, 'refund.created');
    const others = await eventsOf(till, type);
    for (const event of [...refunded, ...others.filter((other) => isAbout(other, second))])
      await deliver(till, event);
    const lock = 'select 1 from till.payments where id = $1 for no key update nowait';
    const processing = await till.database.transaction(async (tx) => {
      await tx.query(lock, [first.id]);
      const batch = till.services.eventApplier.applyBatch();
      await until(async () => (await countWaiting(till)) === 1);
      // Had the batch taken the second payment first, this would wait for the batch, and the batch for this.
      await tx.query(lock, [second.id]);
      return { batch };
    });
    assert.equal(await processing.batch, 2);
  });

test('batches that change a customer and record the invoice of another never wait in a circle', async (t) => {
  const till = await start(t);
  const [first, second] = [await createCustomer(till), await createCustomer(till)];
  const { customers, invoices } = till.services.mirrors;
  const createdAt = new Date(Date.now() + 60_000);
  const asOf = asOfEvent(createdAt);
  const changeOf = ({ processorCustomerId }: typeof first): CustomerFacts => ({
    ...{
      processorCustomerId,
      email: 'new@example.com',
      name: null,
      phone: null,
      deleted: false,
      externalId: null,
    },
    ...{ metadata: {}, localId: null, createdAt, asOf },
  });
  const invoiceOf = ({ processorCustomerId }: typeof first): InvoiceFacts => ({
    ...{
      processorInvoiceId: `in_${processorCustomerId}`,
      processorCustomerId,
      processorSubscriptionId: null,
      subscriptionLocalId: null,
    },
    ...{ amountDue: 1, amountPaid: 0, currency: 'eur', status: 'open', hostedInvoiceUrl: null },
    ...{ coversUntil: null, createdAt, asOf },
  });
  const changed = [Promise.withResolvers<void>(), Promise.withResolvers<void>()] as const;
  const batch = (own: typeof first, other: typeof first, mine: 0 | 1) =>
    till.database.transaction(async (tx) => {
      await customers.apply(tx, [changeOf(own)], 'events');
      changed[mine].resolve();
      await Promise.all(changed.map(({ promise }) => promise));
      await invoices.apply(tx, [invoiceOf(other)], 'events');
    });
  await Promise.all([batch(first, second, 0), batch(second, first, 1)]);
  assert.deepEqual(till.deadlocks, []);
});

/** Till in this process, without workers: the test says when work is done, and by whom. */
async function start(
  t: TestContext,
  beforeResponse: Parameters<typeof startModelBackend>[1] = () => undefined,
): Promise<TillInProcess & Pick<ModelBackend, 'lineUrl'>> {
  const backend = await startModelBackend(t, beforeResponse);
  return { ...(await startModelTill(backend, 0)), lineUrl: backend.lineUrl };
}

/** A worker in a process of its own, on the database and the processor of this Till. */
function startWorker(till: TillInProcess & Pick<ModelBackend, 'lineUrl'>): Promise<TillInChild> {
  const environment = { ROLE: 'worker', PROCESSOR_API_BASE: till.lineUrl };
  return startTill({ in: 'child', on: till, environment });
}

/** Sends an event, which must be acknowledged. */
async function deliver(till: TillInProcess, event: object): Promise<void> {
  const response = await till.send(JSON.stringify(event));
  assert.equal(response.status, 200, await response.text());
}

function isAbout({ data: { object } }: Stripe.Event, { processorPaymentIntentId }: PaymentBody): boolean {
  const [id, intent] = [Reflect.get(object, 'id'), Reflect.get(object, 'payment_intent')];
  return id === processorPaymentIntentId || intent === processorPaymentIntentId;
}

/** Newest first. */
async function eventsOf({ stripe }: TillInProcess, ...types: string[]): Promise<Stripe.Event[]> {
  return stripe.events.list({ types, limit: 100 }).autoPagingToArray({ limit: 10_000 });
}

async function readMetrics(url: string): Promise<ReadonlyMap<string, number>> {
  const text = await (await fetch(`${url}/metrics`)).text();
  const lines = text.split('\n').filter((line) => line !== '' && !line.startsWith('#'));
  return new Map(
    lines.map((line) => [line.slice(0, line.lastIndexOf(' ')), Number(line.slice(line.lastIndexOf(' ')))]),
  );
}

async function countWaiting({ database }: TillInProcess): Promise<number> {
  const [row] = await database.query<{ count: number }>(
    `select count(*) from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`,
  );
  return row?.count ?? 0;
}
