import assert from 'node:assert/strict';
import { test } from 'node:test';
import { attemptsMax } from '#core/model/webhook-event.ts';
import { batchMax } from '#engine/sync/event-applier.ts';
import { startTill } from '../support/till.ts';
import type { TillInProcess } from '../support/till-in-process.ts';
import { eventOf, idOf, signWebhook } from '../support/webhook-events.ts';

/** More than a batch. */
const goodEvents = batchMax + 100;

interface EventRow extends Record<string, unknown> {
  readonly state: string;
  readonly attempts: number;
  readonly last_error: string | null;
}

/** The write of one row fails, as if its values broke a rule of the database. */
async function poison(till: TillInProcess, processorInvoiceId: string): Promise<void> {
  await till.sql(
    `alter table till.invoices add constraint poisoned check (processor_invoice_id <> '${processorInvoiceId}')`,
  );
}

async function rowOf(till: TillInProcess, event: string): Promise<EventRow> {
  const [row] = await till.sql<EventRow>(
    'select state, attempts, last_error from till.webhook_events where id = $1',
    [idOf(event)],
  );
  assert(row);
  return row;
}

/** As if its time had come. */
async function becomeDue(till: TillInProcess): Promise<void> {
  await till.sql(`update till.webhook_events set next_try_at = now() where state = 'pending'`);
}

async function receive(till: TillInProcess, events: readonly string[]): Promise<void> {
  const receipts = events.map((body) => {
    const verified = till.processor.verifyWebhook(Buffer.from(body), signWebhook(body), new Date());
    assert(verified.outcome === 'event');
    return till.services.inbox.receive(verified.event);
  });
  assert.deepEqual(new Set(await Promise.all(receipts)), new Set(['stored']));
}

/** Counts the transactions that write invoices, even those that are rolled back, as a sequence does. */
async function countTransactions({ sql }: TillInProcess): Promise<() => Promise<number>> {
  await sql('create sequence till.begun');
  await sql(`create function till.count_begun() returns trigger language plpgsql as
    $$ begin perform nextval('till.begun'); return null; end $$`);
  await sql(`create trigger count_begun before insert on till.invoices
    for each statement execute function till.count_begun()`);
  return async () =>
    (await sql<{ count: number }>('select last_value as count from till.begun'))[0]?.count ?? 0;
}

test('an event that cannot be applied delays none of the others, ends failed, and is applied by a replay once it can be', async (t) => {
  const till = await startTill({ in: 'process', for: t });
  await poison(till, 'in_poison');
  const transactions = await countTransactions(till);
  const events = Array.from({ length: goodEvents }, (_, index) =>
    eventOf('invoice.paid.newer', { id: `in_${index}` }),
  );
  const poisoned = eventOf('invoice.paid.newer', { id: 'in_poison' });
  // Between the good ones, so that its batch has some before it and some after it.
  await receive(till, [...events.slice(0, 300), poisoned, ...events.slice(300)]);

  assert.equal(await till.services.eventApplier.applyBatch(), batchMax);
  const taken = await transactions();
  assert.ok(taken > 1 && taken <= 20, `the batch took ${taken} transactions`);
  await till.drain();
  const [applied] = await till.sql<{ count: number }>('select count(*) as count from till.invoices');
  assert.equal(applied?.count, goodEvents, 'every good event was applied in the first pass');
  assert.equal(await till.count('webhook_events_processed_total'), goodEvents);

  for (let row = await rowOf(till, poisoned); row.attempts < attemptsMax; row = await rowOf(till, poisoned)) {
    assert.equal(row.state, 'pending');
    assert.match(row.last_error ?? '', /poisoned/);
    assert.equal(await till.count('webhook_events_failed_total'), 0);
    await becomeDue(till);
    assert.equal(await till.services.eventApplier.applyBatch(), 1);
    assert.equal((await rowOf(till, poisoned)).attempts, row.attempts + 1);
  }
  assert.deepEqual(await rowOf(till, poisoned).then(({ state, attempts }) => [state, attempts]), [
    'failed',
    attemptsMax,
  ]);
  assert.equal(await till.count('webhook_events_failed_total', { type: 'invoice.paid' }), 1);
  assert.ok(
    till.lines.some(
      ({ msg, event }) => msg === 'webhook event failed permanently' && event === idOf(poisoned),
    ),
  );
  await becomeDue(till);
  assert.equal(await till.services.eventApplier.applyBatch(), 0, 'what has failed is left alone');

  await till.sql('alter table till.invoices drop constraint poisoned');
  await till.post(`/webhook-events/${idOf(poisoned)}/replay`);
  await till.drain();
  assert.deepEqual(await rowOf(till, poisoned).then(({ state, last_error }) => [state, last_error]), [
    'processed',
    null,
  ]);
  assert.deepEqual(
    await till.sql(`select status from till.invoices where processor_invoice_id = 'in_poison'`),
    [{ status: 'paid' }],
  );
  assert.equal(await till.count('webhook_events_processed_total'), goodEvents + 1);
});

test('a batch with three poisoned events takes at most sixty transactions', async (t) => {
  const till = await startTill({ in: 'process', for: t });
  await till.sql(
    `alter table till.invoices add constraint poisoned check (processor_invoice_id not like '%_poison')`,
  );
  const transactions = await countTransactions(till);
  const poisoned = [99, 266, 433];
  const ids = Array.from(
    { length: batchMax },
    (_, index) => `in_${index}${poisoned.includes(index) ? '_poison' : ''}`,
  );
  await receive(
    till,
    ids.map((id) => eventOf('invoice.paid.newer', { id })),
  );
  assert.equal(await till.services.eventApplier.applyBatch(), batchMax);
  assert.deepEqual(
    await till.sql('select state, attempts, count(*) from till.webhook_events group by 1, 2 order by 1'),
    [
      { state: 'pending', attempts: 1, count: poisoned.length },
      { state: 'processed', attempts: 1, count: batchMax - poisoned.length },
    ],
  );
  const taken = await transactions();
  assert.ok(taken > 1 && taken <= 60, `the batch took ${taken} transactions`);
});

test('a good event about the same object is applied although a poisoned one came with it', async (t) => {
  const till = await startTill({ in: 'process', for: t });
  await till.sql(`alter table till.invoices add constraint poisoned check (amount_due <> 666)`);
  const at = Math.floor(Date.now() / 1_000);
  const poisoned = eventOf('invoice.paid.newer', { status: 'open', amount_due: 666 }, { created: at });
  const good = eventOf('invoice.paid.newer', {}, { created: at + 1 });
  await till.take(poisoned, good);
  assert.equal((await rowOf(till, good)).state, 'processed');
  assert.equal((await rowOf(till, poisoned)).state, 'pending');
  assert.deepEqual(await till.sql('select status, amount_due from till.invoices'), [
    { status: 'paid', amount_due: 900 },
  ]);
  // The row has moved past what it could not take, so that the next attempt has nothing left to write.
  await becomeDue(till);
  await till.drain();
  assert.equal((await rowOf(till, poisoned)).state, 'processed');
});

test('a processor that is down delays only the event that needs a read', async (t) => {
  const till = await startTill({ in: 'process', for: t });
  await till.take(eventOf('invoice.paid.newer', { id: 'in_tied', status: 'draft' }, { created: 1_000_000 }));
  // The same second, another value: only the processor can tell.
  const tied = eventOf('invoice.paid.newer', { id: 'in_tied', status: 'open' }, { created: 1_000_000 });
  const lines = { object: 'list', data: [], has_more: false };
  const good = eventOf('invoice.paid.newer', { id: 'in_good', lines });
  await till.control('faults', { operation: '*', kind: 'error', status: 503, times: 100 });
  await till.take(tied, good);
  assert.equal((await rowOf(till, good)).state, 'processed');
  const waiting = await rowOf(till, tied);
  assert.deepEqual([waiting.state, waiting.attempts], ['pending', 1]);
  assert.match(waiting.last_error ?? '', /The processor failed/);
  await till.control('faults', {}, 'DELETE');
  await becomeDue(till);
  await till.drain();
  assert.equal(
    (await rowOf(till, tied)).state,
    'processed',
    'it is not an error of the processor, so the row stays',
  );
  assert.deepEqual(
    await till.sql(`select status from till.invoices where processor_invoice_id = 'in_tied'`),
    [{ status: 'draft' }],
  );
});
