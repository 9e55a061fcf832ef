/** A process whose worker is idle applies events in the transaction that stores them. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Receipt } from '#engine/webhooks/inbox.ts';
import { type Backend, startBackend } from '../support/backend.ts';
import { assertEventsComplete, readEvents } from '../support/checks/outbox.ts';
import { confirmPayment, createPayment, readPayment } from '../support/objects.ts';
import { lineToDatabase } from '../support/tcp-line.ts';
import { startTill } from '../support/till.ts';
import type { TillInProcess } from '../support/till-in-process.ts';
import { until } from '../support/until.ts';
import { eventOf, idOf, signWebhook } from '../support/webhook-events.ts';
import { holdRows } from './row-lock.ts';

/** Later than the response that the row comes from, so that the event needs no read. */
const laterSeconds = 60;

interface EventRow extends Record<string, unknown> {
  readonly state: string;
  readonly attempts: number;
}

function start(on: Backend): Promise<TillInProcess> {
  return startTill({ in: 'process', on, workers: 1 });
}

/** Receives events together, while the worker is idle. */
async function receive(till: TillInProcess, ...bodies: readonly string[]): Promise<readonly Receipt[]> {
  const { processor, services } = till;
  await until(() => services.worker.isIdle);
  return Promise.all(
    bodies.map((body) => {
      const verified = processor.verifyWebhook(Buffer.from(body), signWebhook(body), new Date());
      assert(verified.outcome === 'event');
      return services.inbox.receive(verified.event, verified.read);
    }),
  );
}

async function rowOf({ sql }: Backend, body: string): Promise<EventRow | undefined> {
  const [row] = await sql<EventRow>('select state, attempts from till.webhook_events where id = $1', [
    idOf(body),
  ]);
  return row;
}

function becomes(backend: Backend, body: string, state: string): Promise<void> {
  return until(async () => (await rowOf(backend, body))?.state === state);
}

/** The states in which events are inserted. */
async function watchInserts({ sql }: Backend): Promise<() => Promise<readonly string[]>> {
  await sql('create table till.seen (state text)');
  await sql(`create function till.see() returns trigger language plpgsql as
    $$ begin insert into till.seen values (new.state); return null; end $$`);
  await sql(
    'create trigger see after insert on till.webhook_events for each row execute function till.see()',
  );
  return async () => (await sql<{ state: string }>('select state from till.seen')).map(({ state }) => state);
}

/** A payment whose success Till has not heard of, and the event about it. */
async function paidPayment(till: TillInProcess) {
  const payment = await createPayment(till);
  await confirmPayment(till, payment);
  const { data } = await till.stripe.events.list({ type: 'payment_intent.succeeded', limit: 1 });
  const [succeeded] = data;
  assert(succeeded);
  const event = JSON.stringify({ ...succeeded, created: succeeded.created + laterSeconds });
  return { payment, event };
}

test('an event is applied when it is acknowledged, with its event for applications, and counted once', async (t) => {
  const backend = await startBackend(t);
  const till = await start(backend);
  const { payment, event } = await paidPayment(till);
  const inserted = await watchInserts(backend);
  assert.deepEqual(await receive(till, event), ['stored']);
  assert.equal((await readPayment(till, payment)).status, 'succeeded');
  assert.deepEqual(await rowOf(backend, event), { state: 'processed', attempts: 1 });
  assert.deepEqual(await inserted(), ['processed'], 'it is written once');
  const [newest] = (await readEvents(backend.sql, payment.id)).slice(-1);
  assert.equal(newest?.type, 'payment.succeeded');
  assert.deepEqual(newest?.cause, {
    kind: 'webhook',
    keyName: null,
    person: null,
    requestId: null,
    processorEventId: idOf(event),
  });
  for (const metric of ['received', 'processed'])
    assert.equal(await till.count(`webhook_events_${metric}_total`), 1);
  assert.equal(await till.count('webhook_lag_seconds'), 1);
  assert.equal(await till.count('payments_succeeded_total'), 1);
  assert.deepEqual(await receive(till, event), ['duplicate']);
  assert.deepEqual(await receive(till, event, event), ['duplicate', 'duplicate']);
  assert.equal(await till.count('webhook_events_duplicate_total'), 3);
  assert.equal(await till.count('webhook_events_processed_total'), 1);
  assert.equal(await till.count('payments_succeeded_total'), 1);
  await assertEventsComplete(till, backend.sql);
});

test('an event that two processes receive at once leaves one row, one count and one effect', async (t) => {
  const backend = await startBackend(t);
  const tills = await Promise.all([start(backend), start(backend)]);
  const [first, second] = tills;
  const { payment, event } = await paidPayment(first);
  // Both have looked for the event and found none, and wait for the row.
  const lock = await holdRows(first, 'select from till.payments for update');
  const receipts = [receive(first, event), receive(second, event)];
  await lock.awaited(2);
  await lock.release();
  assert.deepEqual((await Promise.all(receipts)).flat().toSorted(), ['duplicate', 'stored']);
  await becomes(backend, event, 'processed');
  await Promise.all(tills.map((till) => till.stopWorkers()));
  const total = async (metric: string) => (await first.count(metric)) + (await second.count(metric));
  for (const metric of ['received', 'duplicate', 'processed'])
    assert.equal(await total(`webhook_events_${metric}_total`), 1, metric);
  assert.equal(await total('payments_succeeded_total'), 1);
  assert.equal(await countSuccesses(backend, payment), 1);
});

test('of events that arrive together, a poisoned one stops no other, and all are acknowledged', async (t) => {
  const backend = await startBackend(t);
  const till = await start(backend);
  await backend.sql(
    `alter table till.invoices add constraint poisoned check (processor_invoice_id <> 'in_poison')`,
  );
  const [poisoned, ...good] = ['in_poison', 'in_1', 'in_2'].map((id) =>
    eventOf('invoice.paid.newer', { id }),
  );
  assert(poisoned !== undefined);
  assert.deepEqual(await receive(till, poisoned, ...good), ['stored', 'stored', 'stored']);
  for (const event of good) await becomes(backend, event, 'processed');
  await until(async () => (await rowOf(backend, poisoned))?.attempts === 1);
  assert.equal((await rowOf(backend, poisoned))?.state, 'pending');
  await till.stopWorkers();
  assert.equal(await till.count('webhook_events_received_total'), 3);
  assert.equal(await till.count('webhook_events_processed_total'), 2);
});

test('an event whose content makes its reader fail is stored for the worker, and acknowledged', async (t) => {
  const backend = await startBackend(t);
  const till = await start(backend);
  const body = eventOf('invoice.paid.newer');
  const verified = till.processor.verifyWebhook(Buffer.from(body), signWebhook(body), new Date());
  assert(verified.outcome === 'event');
  await until(() => till.services.worker.isIdle);
  const failing = () => {
    throw new TypeError('a defect of the reader');
  };
  assert.equal(await till.services.inbox.receive(verified.event, failing), 'stored');
  await becomes(backend, body, 'processed');
});

test('an event that finds no row is stored for the worker, so that a row that appears brings it back', async (t) => {
  const backend = await startBackend(t);
  const till = await start(backend);
  const inserted = await watchInserts(backend);
  const event = eventOf('customer.updated', { id: 'cus_elsewhere', metadata: {} });
  assert.deepEqual(await receive(till, event), ['stored']);
  assert.deepEqual(await inserted(), ['pending']);
  await becomes(backend, event, 'ignored');
  await till.stopWorkers();
  await till.services.inbox.bringBack([{ key: 'cus_elsewhere', since: new Date(0) }]);
  assert.equal((await rowOf(backend, event))?.state, 'pending');
});

test('an event that needs a read is acknowledged before it, and counted once after it', async (t) => {
  const backend = await startBackend(t);
  const till = await start(backend);
  const tied = { id: 'in_tied', lines: { object: 'list', data: [], has_more: false } };
  const [first, event] = ['draft', 'open'].map((status) =>
    // The same second, another value: only the processor can tell.
    eventOf('invoice.paid.newer', { ...tied, status }, { created: 1_000_000 }),
  );
  assert(first !== undefined && event !== undefined);
  const inserted = await watchInserts(backend);
  assert.deepEqual(await receive(till, first), ['stored']);
  assert.deepEqual(await receive(till, event), ['stored']);
  assert.deepEqual(await inserted(), ['processed', 'pending']);
  await becomes(backend, event, 'processed');
  assert.deepEqual(await rowOf(backend, event), { state: 'processed', attempts: 1 });
  await till.stopWorkers();
  assert.equal(await till.count('webhook_events_processed_total'), 2);
});

test('a row that somebody else locks delays no acknowledgement for long, and the worker applies the event later', async (t) => {
  const backend = await startBackend(t);
  const till = await start(backend);
  const { payment, event } = await paidPayment(till);
  const lock = await holdRows(till, 'select from till.payments for update');
  // Without its limit, this would wait until the lock is released.
  assert.deepEqual(await receive(till, event), ['stored']);
  assert.equal((await rowOf(backend, event))?.state, 'pending');
  await lock.release();
  await becomes(backend, event, 'processed');
  assert.equal((await readPayment(till, payment)).status, 'succeeded');
  assert.deepEqual(till.deadlocks, []);
});

for (const isCommitted of [true, false]) {
  const what = isCommitted ? 'just after' : 'just before';
  test(`a process that is gone ${what} the commit loses nothing, and the next delivery repeats nothing`, async (t) => {
    const backend = await startBackend(t);
    const { line, url } = await lineToDatabase(backend.databaseUrl);
    backend.atEnd(() => line.close());
    const till = await startTill({ in: 'process', on: backend, databaseUrl: url, workers: 1 });
    const { payment, event } = await paidPayment(till);
    const commits = await pauseCommits(backend);
    const receipt = receive(till, event);
    receipt.catch(() => {});
    await commits.reached();
    // As far as the processor and the database can tell, the process dies here.
    line.cut();
    if (!isCommitted) await commits.end();
    await commits.resume();
    await assert.rejects(receipt, { code: 'database_unavailable' });
    if (isCommitted) await becomes(backend, event, 'processed');
    const survivor = await start(backend);
    assert.deepEqual(await receive(survivor, event), [isCommitted ? 'duplicate' : 'stored']);
    assert.deepEqual(await rowOf(backend, event), { state: 'processed', attempts: 1 });
    assert.equal((await readPayment(survivor, payment)).status, 'succeeded');
    assert.equal(await countSuccesses(backend, payment), 1);
    await assertEventsComplete(survivor, backend.sql);
  });
}

/** Stops every transaction that stores a processed event right before its commit. */
async function pauseCommits({ sql }: Backend) {
  await sql('create table till.resumed ()');
  await sql(`create function till.pause() returns trigger language plpgsql as $$ begin
    while new.state = 'processed' and not exists (select from till.resumed) loop perform pg_sleep(0.01); end loop;
    return null; end $$`);
  await sql(`create constraint trigger pause after insert on till.webhook_events
    deferrable initially deferred for each row execute function till.pause()`);
  const pids = async (where: string) =>
    (await sql<{ pid: number }>(`select pid from pg_stat_activity where ${where}`)).map(({ pid }) => pid);
  let paused: readonly number[] = [];
  return {
    reached: () =>
      until(async () => {
        paused = await pids(`datname = current_database() and wait_event = 'PgSleep'`);
        return paused.length > 0;
      }),
    // Between two sleeps it looks for the end of the pause, so only its number finds it at any time.
    end: async () => {
      await sql('select pg_terminate_backend(pid) from unnest($1::integer[]) as pid', [paused]);
      await until(async () => (await pids(`pid in (${paused})`)).length === 0);
    },
    resume: () => sql('insert into till.resumed default values'),
  };
}

async function countSuccesses({ sql }: Backend, { id }: { readonly id: string }): Promise<number> {
  return (await readEvents(sql, id)).filter(({ type }) => type === 'payment.succeeded').length;
}
