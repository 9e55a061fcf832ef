import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { OwnerLock } from '#core/platform/owner-lock.ts';
import { Job } from '#engine/sync/job.ts';
import { RecoveryStore } from '#engine/sync/recovery-store.ts';
import { eventTypes } from '../../src/processor/stripe/events/event-types.ts';
import type { Lifetime } from '../support/backend.ts';
import { captureLog } from '../support/log-capture.ts';
import {
  type CustomerBody,
  confirmSecret,
  createCustomer,
  createPaidPayment,
  createPayment,
  createSubscription,
  readPayment,
  readRefunds,
  readSubscription,
} from '../support/objects.ts';
import { startTill } from '../support/till.ts';
import type { ProcessOptions, TillInProcess } from '../support/till-in-process.ts';

/** A listing of events names at most twenty types. */
const listingsPerRun = Math.ceil(eventTypes.length / 20);

interface RecoveryRow extends Record<string, unknown> {
  readonly read_until: Date | null;
  readonly is_leased: boolean;
}

/** Till on a processor whose webhooks never arrive. */
async function startDeaf(life: Lifetime, options?: ProcessOptions): Promise<TillInProcess> {
  const till = await startTill({ in: 'process', for: life, ...options });
  await till.control('delivery', { mode: 'drop' });
  return till;
}

async function recovery(till: TillInProcess): Promise<RecoveryRow> {
  const [row] = await till.sql<RecoveryRow>(
    `select read_until, coalesce(leased_until > now(), false) as is_leased
     from till.recovery, till.jobs where name = 'recovery'`,
  );
  assert(row);
  return row;
}

/** As if the list had been read up to then. */
async function readUntil(till: TillInProcess, interval: string): Promise<void> {
  await till.sql('update till.recovery set read_until = now() + $1::interval', [interval]);
}

async function recover(till: TillInProcess): Promise<void> {
  await till.services.recovery.run();
  await till.drain();
}

const listings = (till: TillInProcess) =>
  till.count('processor_request_duration_seconds', { operation: 'events.list' });

describe('events that no webhook brought', () => {
  test('are found in the list, of every type and over several pages, and applied', async (t) => {
    const till = await startDeaf(t);
    const payment = await createPaidPayment(till);
    const { subscription, clientSecret } = await createSubscription(till, { customerId: payment.customerId });
    await confirmSecret(till, clientSecret);
    const { processorCustomerId } = await till.get<CustomerBody>(`/customers/${payment.customerId}`);
    const renames = Array.from({ length: 110 }, (_, index) => `Ada ${index}`);
    await Promise.all(renames.map((name) => till.stripe.customers.update(processorCustomerId, { name })));
    assert.equal((await readPayment(till, payment)).status, 'requires_payment_method');

    await recover(till);
    assert.equal((await readPayment(till, payment)).status, 'succeeded');
    assert.equal((await readSubscription(till, subscription)).status, 'active');
    const invoices = await till.get<{ data: { status: string }[] }>(
      `/invoices?customerId=${payment.customerId}`,
    );
    assert.deepEqual(
      invoices.data.map(({ status }) => status),
      ['paid'],
    );
    const there = await till.stripe.customers.retrieve(processorCustomerId);
    assert(!there.deleted);
    assert.equal((await till.get<CustomerBody>(`/customers/${payment.customerId}`)).name, there.name);

    const [stored] = await till.sql<{ count: number }>('select count(*) as count from till.webhook_events');
    assert.ok(Number(stored?.count) > renames.length);
    const noted = till.lines.find(({ msg }) => msg === 'missed events found');
    assert.equal(noted?.['missed'], stored?.count);
    assert.equal(await listings(till), listingsPerRun + 1, 'two pages of the twenty types with the customer');
  });

  test('are taken in once, whether the list or a webhook brings them first', async (t) => {
    const till = await startTill({ in: 'process', for: t });
    const payment = await createPaidPayment(till);
    await recover(till);
    const [before] = await till.sql<{ count: number }>('select count(*) as count from till.webhook_events');
    const duplicates = await till.count('webhook_events_duplicate_total');
    await till.settle();
    assert.ok((await till.count('webhook_events_duplicate_total')) > duplicates);
    await recover(till);
    assert.equal(await till.count('payments_succeeded_total'), 1);
    assert.equal((await readPayment(till, payment)).status, 'succeeded');
    const known = `select count(*) as count from till.webhook_events where state <> 'ignored' or object_id is not null`;
    const [after] = await till.sql<{ count: number }>(known);
    assert.ok(Number(after?.count) >= Number(before?.count));
  });

  test('are looked for from where the list was last read, with ten minutes of overlap', async (t) => {
    const till = await startDeaf(t);
    const payment = await createPaidPayment(till);
    await readUntil(till, '-1 hour');
    const { read_until } = await recovery(till);
    await recover(till);
    assert.equal((await readPayment(till, payment)).status, 'succeeded');
    const noted = till.lines.find(({ msg }) => msg === 'missed events found');
    assert.equal(noted?.['since'], new Date(Number(read_until) - 600_000).toISOString());
  });

  test('are not passed over after the clock of a process ran ahead', async (t) => {
    let aheadMs = 3_600_000;
    const till = await startDeaf(t, { clock: { now: () => new Date(Date.now() + aheadMs) } });
    await recover(till);
    const payment = await createPaidPayment(till);
    aheadMs = 0;
    await recover(till);
    assert.equal((await readPayment(till, payment)).status, 'succeeded');
  });

  test('are looked for again from the same time after a run that failed, at whatever point it did', async (t) => {
    const till = await startDeaf(t);
    await readUntil(till, '-1 minute');
    const before = await recovery(till);
    for (const first of [[], [{ operation: 'events.list', kind: 'latency', latencyMs: 1 }]]) {
      for (const fault of first) await till.control('faults', fault);
      await till.control('faults', { operation: 'events.list', kind: 'error', status: 503, times: 100 });
      await assert.rejects(till.services.recovery.run(), { code: 'processor_unavailable' });
      assert.deepEqual(await recovery(till), { ...before, is_leased: false });
      await till.control('faults', {}, 'DELETE');
    }
    await recover(till);
    assert.ok(Number((await recovery(till)).read_until) > Number(before.read_until));
  });

  test('are not passed over when they happen between the two listings of a run', async (t) => {
    const till = await startDeaf(t);
    const customer = await createCustomer(till);
    await till.control('faults', { operation: 'events.list', kind: 'latency', latencyMs: 1 });
    await till.control('faults', { operation: 'events.list', kind: 'hang' });
    const run = till.services.recovery.run();
    await till.faultsTaken();
    // The first listing is over, the second hangs: what happens now, the second alone may see.
    await till.stripe.customers.update(customer.processorCustomerId, { name: 'Grace' });
    await till.control('clock', { advanceSeconds: 3_600 });
    await createSubscription(till, { customerId: customer.id });
    await till.control('faults', {}, 'DELETE');
    await run;
    await recover(till);
    assert.equal((await till.get<CustomerBody>(`/customers/${customer.id}`)).name, 'Grace');
  });

  test('are read by one process at a time', async (t) => {
    const till = await startDeaf(t);
    await Promise.all([till.services.recovery.run(), till.services.recovery.run()]);
    assert.equal(await listings(till), listingsPerRun, 'one run');
    const other = await startOther(till);
    const run = await other.job.take(async () => ({}));
    await till.services.recovery.run();
    assert.equal(await listings(till), listingsPerRun, 'another process is at it');
    await other.ownerLock.close();
    await till.services.recovery.run();
    assert.equal(await listings(till), 2 * listingsPerRun, 'that process has died');
    await run?.release();
  });

  test('are not looked for after more than 30 days, when the list has holes: everything is compared', async (t) => {
    const till = await startDeaf(t);
    const payment = await createPaidPayment(till);
    await readUntil(till, '-31 days');
    await till.services.recovery.run();
    assert.equal(await listings(till), 0);
    assert.equal((await readPayment(till, payment)).status, 'succeeded');
    assert.equal(await till.count('mirror_drift_total', { resource: 'payment' }), 1);
    assert.ok(till.lines.some(({ msg }) => msg.startsWith('gap longer than')));
    const { read_until } = await recovery(till);
    assert.ok(Date.now() - Number(read_until) < 3_600_000);
  });
});

describe('rows without an event for too long', () => {
  test('a payment that was paid without an event is corrected, counted and logged', async (t) => {
    const till = await startDeaf(t);
    const payment = await createPaidPayment(till);
    await till.sql(`update till.payments set created_at = now() - interval '11 minutes'`);
    await till.services.recovery.run();
    assert.equal((await readPayment(till, payment)).status, 'succeeded');
    assert.equal(await till.count('payments_succeeded_total'), 1);
    assert.equal(await till.count('mirror_drift_total', { resource: 'payment' }), 1);
    const line = till.lines.find(({ msg }) => msg === 'drifted mirror corrected');
    assert.deepEqual([line?.['resource'], line?.['id']], ['payment', payment.processorPaymentIntentId]);
  });

  test('a payment is checked ten minutes after its creation, then at growing intervals, for seven days', async (t) => {
    const till = await startDeaf(t);
    await createPayment(till);
    const reads = () => till.count('processor_request_duration_seconds', { operation: 'payments.read' });
    for (const [created, checked, isDue] of [
      ['5 minutes', null, false],
      ['11 minutes', null, true],
      ['30 minutes', '14 minutes', false],
      ['30 minutes', '16 minutes', true],
      ['6 days', '2 days', false],
      ['6 days', '4 days', true],
      ['8 days', null, false],
    ] as const) {
      const before = await reads();
      const move =
        'update till.payments set created_at = now() - $1::interval, checked_at = now() - $2::interval';
      await till.sql(move, [created, checked]);
      await till.services.recovery.run();
      assert.equal((await reads()) - before, isDue ? 1 : 0, `created ${created} ago, checked ${checked} ago`);
      await till.services.recovery.run();
      assert.equal((await reads()) - before, isDue ? 1 : 0, 'not twice in a row');
    }
  });

  test('a payment that cannot be compared does not stop the others', async (t) => {
    const till = await startDeaf(t);
    const payments = [await createPaidPayment(till), await createPaidPayment(till)];
    await till.sql(`update till.payments set created_at = now() - interval '11 minutes'`);
    const poisoned = payments[0]?.id;
    await till.sql(
      `alter table till.payments add constraint poisoned check (id <> '${poisoned}' or intent_status <> 'succeeded')`,
    );
    await till.services.recovery.run();
    const rows = await till.sql('select status from till.payments order by id');
    assert.deepEqual(rows, [{ status: 'requires_payment_method' }, { status: 'succeeded' }]);
    assert.ok(till.lines.some(({ msg }) => msg === 'mirror comparison failed'));
  });

  test('a subscription whose period is over without an event is corrected, one that goes on is left alone', async (t) => {
    const till = await startDeaf(t);
    const { subscription } = await createSubscription(till);
    await createSubscription(till);
    const truth = await readSubscription(till, subscription);
    await till.sql(
      `update till.subscriptions set current_period_end = now() - interval '2 hours' where id = $1`,
      [subscription.id],
    );
    await till.services.recovery.run();
    assert.equal(
      await till.count('processor_request_duration_seconds', { operation: 'subscriptions.read' }),
      1,
    );
    assert.equal((await readSubscription(till, subscription)).currentPeriodEnd, truth.currentPeriodEnd);
    assert.equal(await till.count('mirror_drift_total', { resource: 'subscription' }), 1);
  });

  test('final rows are never checked', async (t) => {
    const till = await startDeaf(t);
    const payment = await createPaidPayment(till);
    const canceled = await createPayment(till);
    await till.post(`/payments/${canceled.id}/cancel`);
    const { subscription } = await createSubscription(till);
    await till.fetch(`/api/v1/subscriptions/${subscription.id}`, { method: 'DELETE' });
    await recover(till);
    assert.equal((await readPayment(till, payment)).status, 'succeeded');
    await till.sql(`update till.payments set created_at = now() - interval '1 hour'`);
    await till.sql(`update till.subscriptions set current_period_end = now() - interval '2 hours'`);
    const reads = await till.count('processor_request_duration_seconds', { outcome: 'ok' });
    await till.services.recovery.run();
    const after = await till.count('processor_request_duration_seconds', { outcome: 'ok' });
    assert.equal(after, reads + listingsPerRun);
  });

  test('a check without a response of the processor is repeated by the next run', async (t) => {
    const till = await startDeaf(t);
    const payments = [await createPaidPayment(till), await createPaidPayment(till)];
    const { subscription } = await createSubscription(till);
    await till.sql(`update till.payments set created_at = now() - interval '11 minutes'`);
    await till.sql(`update till.subscriptions set current_period_end = now() - interval '2 hours'`);
    await till.control('faults', {
      operation: 'payment_intents.retrieve',
      kind: 'error',
      status: 503,
      times: 100,
    });
    await assert.rejects(till.services.recovery.run(), { code: 'processor_unavailable' });
    for (const table of ['payments', 'subscriptions']) {
      const marked = await till.sql(`select 1 from till.${table} where checked_at is not null`);
      assert.deepEqual(marked, [], `no ${table} are marked as looked at`);
    }
    assert.equal(await till.count('mirror_drift_total'), 0);
    await till.control('faults', {}, 'DELETE');
    await till.services.recovery.run();
    for (const payment of payments) assert.equal((await readPayment(till, payment)).status, 'succeeded');
    const { currentPeriodEnd } = await readSubscription(till, subscription);
    assert.ok(Date.parse(currentPeriodEnd ?? '') > Date.now());
  });
});

describe('a resync', () => {
  /** One of everything, true to the processor. */
  async function stock(till: TillInProcess) {
    const payment = await createPaidPayment(till);
    const { subscription, clientSecret } = await createSubscription(till, { customerId: payment.customerId });
    await confirmSecret(till, clientSecret);
    await recover(till);
    await till.post(`/payments/${payment.id}/refund`, { amount: 500 });
    await recover(till);
    return { payment, subscription };
  }

  /** Changes the rows of everything directly. */
  async function tamper(till: TillInProcess): Promise<void> {
    await till.sql(`update till.customers set name = 'Mallory'`);
    await till.sql(`update till.plans set name = 'Lead', price_active = false`);
    await till.sql(`update till.payments set intent_status = 'processing', amount_received = 0`);
    await till.sql(`update till.refunds set status = 'pending'`);
    await till.sql(`update till.subscriptions set status = 'unpaid'`);
    await till.sql(`update till.invoices set status = 'open', amount_paid = 0`);
  }

  async function mirrors(till: TillInProcess) {
    return Promise.all(
      [
        'select email, name, phone from till.customers order by id',
        'select name, active from till.plans order by id',
        'select status, amount_received, amount_refunded from till.payments order by id',
        'select status, amount from till.refunds order by id',
        'select status, current_period_end from till.subscriptions order by id',
        'select status, amount_paid from till.invoices order by id',
      ].map((sql) => till.sql(sql)),
    );
  }

  const drift = async (till: TillInProcess) =>
    Promise.all(
      ['customer', 'plan', 'payment', 'refund', 'subscription', 'invoice'].map((resource) =>
        till.count('mirror_drift_total', { resource }),
      ),
    );

  test('of everything reports how far it has come, corrects every difference, and counts each correction once', async (t) => {
    const till = await startDeaf(t);
    await stock(till);
    const truth = await mirrors(till);
    const reports: string[] = [];
    await till.services.resync.all(({ resource, compared, corrected }) => {
      reports.push(`${resource} ${compared} ${corrected}`);
    });
    assert.deepEqual(reports, [
      'customer 1 0',
      'plan 1 0',
      'subscription 1 0',
      'invoice 1 0',
      'payment 2 0',
      'refund 1 0',
      'dispute 0 0',
      'checkout 0 0',
    ]);
    assert.deepEqual(await drift(till), [0, 0, 0, 0, 0, 0], 'what is true is left alone');
    await tamper(till);
    await till.services.resync.all();
    assert.deepEqual(await mirrors(till), truth);
    // One payment was created through the API, and the subscription charged the other.
    assert.deepEqual(await drift(till), [1, 1, 2, 1, 1, 1]);
    assert.equal(till.lines.filter(({ msg }) => msg === 'drifted mirrors corrected').length, 6);
    await till.services.resync.all();
    assert.deepEqual(await drift(till), [1, 1, 2, 1, 1, 1]);
  });

  test('of one customer corrects and counts only what belongs to that customer', async (t) => {
    const till = await startDeaf(t);
    const { payment } = await stock(till);
    const truth = await mirrors(till);
    const bystander = await createCustomer(till);
    await tamper(till);
    await till.services.resync.ofCustomer(payment.customerId);
    assert.deepEqual(await drift(till), [1, 0, 2, 1, 1, 1]);
    const [customers, , ...money] = await mirrors(till);
    assert.deepEqual(customers?.[0], truth[0]?.[0]);
    assert.deepEqual(money, truth.slice(2));
    assert.equal((await till.get<CustomerBody>(`/customers/${bystander.id}`)).name, 'Mallory');
    await assert.rejects(till.services.resync.ofCustomer('0199d3a2-0000-7000-8000-0000000000ff'), {
      code: 'not_found',
    });
  });

  test('finds a refund from the dashboard', async (t) => {
    const till = await startDeaf(t);
    const { payment } = await stock(till);
    await till.stripe.refunds.create({ payment_intent: payment.processorPaymentIntentId });
    await till.services.resync.all();
    assert.equal((await readPayment(till, payment)).status, 'refunded');
    assert.equal((await readRefunds(till, payment)).length, 2);
  });

  test('finds a deleted customer, erases it, and cancels its subscriptions and payments', async (t) => {
    for (const which of ['all', 'ofCustomer'] as const) {
      const till = await startDeaf(t);
      const { payment, subscription } = await stock(till);
      const { processorCustomerId } = await till.get<CustomerBody>(`/customers/${payment.customerId}`);
      await till.stripe.customers.del(processorCustomerId);
      if (which === 'all') await till.services.resync.all();
      else await till.services.resync.ofCustomer(payment.customerId);
      assert.deepEqual(
        await till.sql('select email, name, deleted_at is not null as gone from till.customers'),
        [{ email: null, name: null, gone: true }],
      );
      assert.equal((await readSubscription(till, subscription)).status, 'canceled');
      assert.equal(await till.count('mirror_drift_total', { resource: 'customer' }), 1);
    }
  });

  test('that the processor cuts short leaves every row as it was', async (t) => {
    const till = await startDeaf(t);
    await stock(till);
    await tamper(till);
    const before = await mirrors(till);
    await till.control('faults', { operation: '*', kind: 'error', status: 503, times: 100 });
    await assert.rejects(till.services.resync.all(), { code: 'processor_unavailable' });
    assert.deepEqual(await mirrors(till), before);
    assert.deepEqual(await drift(till), [0, 0, 0, 0, 0, 0]);
  });
});

/** The recovery of another process. */
async function startOther(till: TillInProcess) {
  const { logger } = captureLog();
  const ownerLock = new OwnerLock({ url: till.databaseUrl, logger });
  await ownerLock.acquire();
  return { ownerLock, job: new Job('recovery', { database: till.database, ownerLock, logger }) };
}

test('a run whose lease ran out can neither write nor give back the lease of the run that took over', async (t) => {
  const till = await startTill({ in: 'process', for: t });
  const store = new RecoveryStore();
  const others = [await startOther(till), await startOther(till)] as const;
  try {
    const [first, second] = others.map(
      ({ job }) =>
        () =>
          job.take((tx) => store.begin(tx)),
    );
    assert(first && second);
    const early = await first();
    assert(early);
    assert.equal(await second(), undefined, 'one at a time');
    assert.equal(await first(), undefined, 'also in one process');
    await early.requireJob(till.database);
    await till.sql(`update till.jobs set leased_until = now() - interval '1 second' where name = 'recovery'`);
    const late = await second();
    assert(late);
    const lost = { message: 'another run took over the recovery' };
    await assert.rejects(early.requireJob(till.database), lost);
    await assert.rejects(
      early.write((tx) => store.finishListing(tx, new Date(0))),
      lost,
    );
    assert.equal(early.signal.aborted, true);
    await early.release();
    assert.equal((await recovery(till)).read_until, null);
    assert.equal((await recovery(till)).is_leased, true);
    await late.requireJob(till.database);
    await late.release();
    assert.equal((await recovery(till)).is_leased, false);
  } finally {
    for (const { ownerLock } of others) await ownerLock.close();
  }
});
