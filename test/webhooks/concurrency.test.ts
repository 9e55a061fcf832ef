import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { setTimeout } from 'node:timers/promises';
import type { Stripe } from 'stripe';
import type { CustomerFacts } from '../../src/customers/customer.ts';
import type { InvoiceFacts } from '../../src/invoices/invoice.ts';
import { asOfEvent } from '../../src/mirrors/facts.ts';
import { startTillProcess, type TillProcess, testKey } from '../support/till-process.ts';
import { createApiClient } from './model/api-client.ts';
import { inLanes } from './model/event-post.ts';
import type { Pause } from './model/slow-wire.ts';
import { openStage, type Stage, webhookSecret } from './model/stage.ts';
import { startTillInProcess, type TillInProcess } from './model/till-in-process.ts';

test('of thirty concurrent deliveries of one event one is processed and 29 are duplicates', async (t) => {
  const rig = await useRig(t);
  const { till, stripe } = rig;
  const { id, intentId } = await newPayment(rig, (await newCustomer(rig)).id);
  await confirm(rig, intentId);
  const [event] = await eventsOf(rig, 'payment_intent.succeeded');
  const { body, signature } = signed(stripe, event ?? {});
  const answers = await Promise.all(
    Array.from({ length: 30 }, async () => {
      const answer = await fetch(`${till.url}/webhooks/processor`, {
        method: 'POST',
        body,
        headers: { 'content-type': 'application/json', 'stripe-signature': signature },
      });
      return { status: answer.status, body: await answer.text() };
    }),
  );
  const saying = (duplicate: boolean) =>
    answers.filter(
      ({ status, body }) => status === 200 && body === JSON.stringify({ received: true, duplicate }),
    ).length;
  assert.deepEqual([saying(false), saying(true)], [1, 29]);
  await till.drain();
  const metrics = await readMetrics(till.url);
  assert.equal(metrics.get('webhook_events_received_total{type="payment_intent.succeeded"}'), 1);
  assert.equal(metrics.get('webhook_events_processed_total{type="payment_intent.succeeded"}'), 1);
  assert.equal(metrics.get('webhook_events_duplicate_total'), 29);
  assert.equal(metrics.get('payments_succeeded_total'), 1);
  assert.equal((await rig.api.call<{ status: string }>('GET', `payments/${id}`))?.status, 'succeeded');
});

test('workers in other processes notice events by themselves and apply each of them once', async (t) => {
  const rig = await useRig(t);
  const { till, stripe } = rig;
  const others = await Promise.all([startWorker(t, rig), startWorker(t, rig)]);
  const { id: customerId } = await newCustomer(rig);
  const payments = await Promise.all(Array.from({ length: 30 }, () => newPayment(rig, customerId)));
  for (const { intentId } of payments) await confirm(rig, intentId);
  const events = await eventsOf(rig, 'payment_intent.created', 'payment_intent.succeeded');
  assert.equal(events.length, 60);
  // The process that takes the deliveries has no worker at work, so nobody tells the others.
  await inLanes(8, [...events, ...events], async (event) => {
    const { body, signature } = signed(stripe, event);
    await till.post(body, signature);
  });
  await until(async () => (await till.services.webhookEvents.countPending()) === 0);
  const metrics = await Promise.all(others.map(({ url }) => readMetrics(url)));
  const sum = (name: string) => metrics.reduce((total, values) => total + (values.get(name) ?? 0), 0);
  assert.equal(sum('webhook_events_processed_total{type="payment_intent.created"}'), 30);
  assert.equal(sum('webhook_events_processed_total{type="payment_intent.succeeded"}'), 30);
  assert.equal(sum('payments_succeeded_total'), 30);
  const { data } = (await rig.api.call<{ data: { status: string }[] }>('GET', 'payments?limit=100')) ?? {};
  assert.deepEqual(
    data?.map(({ status }) => status),
    payments.map(() => 'succeeded'),
  );
});

test('an answer of the processor that a newer event has overtaken is not applied', async (t) => {
  const asked = Promise.withResolvers<void>();
  const released = Promise.withResolvers<void>();
  let isHolding = false;
  const rig = await useRig(t, {
    pause: () => {
      if (!isHolding) return undefined;
      isHolding = false;
      asked.resolve();
      return released.promise;
    },
  });
  const { till, stripe } = rig;
  const { id, processorCustomerId } = await newCustomer(rig);
  const created = Math.floor(Date.now() / 1_000) + 60;
  const rename = async (name: string, at: number) => {
    await stripe.customers.update(processorCustomerId, { name });
    const [event] = await eventsOf(rig, 'customer.updated');
    const { body, signature } = signed(stripe, { ...event, created: at });
    await till.post(body, signature);
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
  await till.drain();
  assert.equal((await rig.api.call<{ name: string }>('GET', `customers/${id}`))?.name, 'third');
});

test('a batch locks the payments of its payments and of its refunds in one order', async (t) => {
  const rig = await useRig(t);
  const { till, stripe } = rig;
  const { id: customerId } = await newCustomer(rig);
  const [first, second] = [await newPayment(rig, customerId), await newPayment(rig, customerId)];
  for (const { intentId } of [first, second]) await confirm(rig, intentId);
  await stripe.refunds.create({ payment_intent: first.intentId });
  const refunded = await eventsOf(rig, 'refund.created');
  const paid = await eventsOf(rig, 'payment_intent.succeeded');
  const isOfSecond = ({ data: { object } }: Stripe.Event) => 'id' in object && object.id === second.intentId;
  for (const event of [...refunded, ...paid.filter(isOfSecond)]) {
    const { body, signature } = signed(stripe, event);
    await till.post(body, signature);
  }
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
  const rig = await useRig(t);
  const { till } = rig;
  const [first, second] = [await newCustomer(rig), await newCustomer(rig)];
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
    ...{ createdAt, asOf },
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

interface Rig extends Stage {
  readonly till: TillInProcess;
  readonly api: ReturnType<typeof createApiClient>;
}

/** Till in this process. Its workers stand still: a test says when work is done, and by whom. */
async function useRig(t: TestContext, options: { readonly pause?: Pause } = {}): Promise<Rig> {
  const stage = await openStage(options.pause ?? (() => undefined));
  const till = await startTillInProcess({ ...stage, webhookSecret });
  t.after(async () => {
    await till.close();
    await stage.close();
  });
  await till.stopWorkers();
  return { ...stage, till, api: createApiClient({ url: () => till.url, apiKey: testKey }) };
}

async function startWorker(t: TestContext, { databaseUrl, processorUrl }: Rig): Promise<TillProcess> {
  const worker = await startTillProcess({
    ROLE: 'worker',
    DATABASE_URL: databaseUrl,
    PROCESSOR_SECRET_KEY: 'sk_test_till',
    PROCESSOR_API_BASE: processorUrl,
    PROCESSOR_WEBHOOK_SECRET: webhookSecret,
  });
  t.after(() => worker.stop());
  return worker;
}

function signed(stripe: Stripe, event: object): { readonly body: string; readonly signature: string } {
  const payload = JSON.stringify(event);
  const signature = stripe.webhooks.generateTestHeaderString({ payload, secret: webhookSecret });
  return { body: payload, signature };
}

async function newCustomer({ api }: Rig): Promise<{ id: string; processorCustomerId: string }> {
  const values = { email: 'ada@example.com' };
  const customer = await api.call<{ id: string; processorCustomerId: string }>('POST', 'customers', values);
  assert(customer !== undefined);
  return customer;
}

async function newPayment({ api }: Rig, customerId: string): Promise<{ id: string; intentId: string }> {
  const values = { customerId, amount: 2_000, currency: 'eur' };
  const made = await api.call<{ payment: { id: string; processorPaymentIntentId: string } }>(
    'POST',
    'payments',
    values,
  );
  assert(made !== undefined);
  return { id: made.payment.id, intentId: made.payment.processorPaymentIntentId };
}

async function confirm({ stripe }: Stage, intentId: string): Promise<void> {
  const payment_method = 'pm_card_visa';
  await stripe.paymentIntents.confirm(intentId, { payment_method, return_url: 'https://shop.example.com' });
}

/** Newest first. */
async function eventsOf({ stripe }: Stage, ...types: string[]): Promise<Stripe.Event[]> {
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

/** Between two looks at what another process does, which it tells nobody about. */
const lookDelayMs = 20;

/** Half a minute, for a machine that has much else to do. */
const looksMax = 1_500;

async function until(isSo: () => Promise<boolean>): Promise<void> {
  for (let looks = 0; looks < looksMax; looks += 1) {
    if (await isSo()) return;
    await setTimeout(lookDelayMs);
  }
  assert.fail(`it did not come to that: ${isSo}`);
}
