import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setTimeout } from 'node:timers/promises';
import type { LogLine } from '../support/log-capture.ts';
import { createPaidPayment } from '../support/objects.ts';
import { startTill } from '../support/till.ts';
import type { TillInProcess } from '../support/till-in-process.ts';
import { startTillOnLine } from '../support/till-on-line.ts';
import { eventOf, idOf } from '../support/webhook-events.ts';
import { holdRows } from './row-lock.ts';

/** Far more looks than an idle worker needs to wake and apply one event; each is a round trip. */
const looksMax = 20_000;

async function becomes(till: TillInProcess, event: string, state: string): Promise<void> {
  for (let look = 0; look < looksMax; look += 1) {
    const [row] = await till.sql<{ state: string }>('select state from till.webhook_events where id = $1', [
      idOf(event),
    ]);
    if (row?.state === state) return;
  }
  assert.fail(`the event never became ${state}`);
}

test('an idle worker wakes by itself for what a webhook brings, a replay, and what another process stored', async (t) => {
  const till = await startTill({ in: 'process', for: t });
  till.services.worker.start();
  const event = eventOf('invoice.paid.newer');
  await till.send(event);
  await becomes(till, event, 'processed');
  await till.sql(`update till.invoices set status = 'open'`);
  await till.post(`/webhook-events/${idOf(event)}/replay`);
  await becomes(till, event, 'processed');
  const elsewhere = eventOf('invoice.paid.newer');
  await till.sql(
    `insert into till.webhook_events (id, type, object_id, created_at, payload, state, next_try_at, received_at)
     values ($1, 'invoice.paid', 'in_1', date_trunc('second', now()), $2, 'pending', now(), now())`,
    [idOf(elsewhere), elsewhere],
  );
  await becomes(till, elsewhere, 'processed');
});

test('a worker that is told to stop finishes its batch and begins no other', async (t) => {
  const till = await startTill({ in: 'process', for: t });
  await till.take(eventOf('invoice.paid.newer', { status: 'open' }, { created: 1_000 }));
  const event = eventOf('invoice.paid.newer');
  await till.send(event);
  const lock = await holdRows(till, 'select from till.invoices for update');
  till.services.worker.start();
  await lock.awaited(1);
  const late = eventOf('invoice.paid.newer');
  await till.send(late);
  let hasStopped = false;
  const stopped = till.services.worker.stop().then(() => {
    hasStopped = true;
  });
  // The batch waits for the lock, and the stop for the batch: a round trip later that is still so.
  await lock.awaited(1);
  assert.equal(hasStopped, false);
  await lock.release();
  await stopped;
  await becomes(till, event, 'processed');
  await becomes(till, late, 'pending');
});

test('a worker survives an outage of the database, and loses nothing', async (t) => {
  const { till, line } = await startTillOnLine(t);
  const event = eventOf('invoice.paid.newer');
  await till.send(event);
  line.cut();
  await assert.rejects(till.services.eventApplier.applyBatch(), { code: 'database_unavailable' });
  line.repair();
  till.services.worker.start();
  await becomes(till, event, 'processed');
  // It is counted once the worker knows of the commit, which others can see already.
  await till.services.worker.stop();
  assert.equal(await till.count('webhook_events_processed_total'), 1);
});

const isTold = ({ msg }: LogLine) => msg === 'webhook events not processed; retry scheduled';

test('after an outage a worker is idle again, even if no event arrives', async (t) => {
  const { till, line } = await startTillOnLine(t);
  const { worker } = till.services;
  t.after(() => worker.stop());
  line.cut();
  worker.start();
  while (!till.lines.some(isTold)) await setTimeout(1);
  line.repair();
  while (!worker.isIdle) await setTimeout(1);
});

test('a processor that does not respond delays no event that needs no read', async (t) => {
  const till = await startTill({ in: 'process', for: t });
  await till.control('delivery', { mode: 'paused' });
  const payment = await createPaidPayment(till);
  await till.control('faults', { operation: 'refunds.list', kind: 'hang' });
  till.services.worker.start();
  const payment_intent = payment.processorPaymentIntentId;
  const asking = eventOf('charge.refunded.newer', { payment_intent });
  await till.send(asking);
  await till.faultsTaken();
  const other = eventOf('invoice.paid.newer');
  await till.send(other);
  await becomes(till, other, 'processed');
  await becomes(till, asking, 'pending');
  await till.control('faults', {}, 'DELETE');
});

test('events of one batch about one object share one read', async (t) => {
  const till = await startTill({ in: 'process', for: t });
  await till.control('delivery', { mode: 'paused' });
  const { processorPaymentIntentId: payment_intent } = await createPaidPayment(till);
  const lists = { operation: 'refunds.list' };
  const before = await till.count('processor_request_duration_seconds', lists);
  await till.take(...Array.from({ length: 10 }, () => eventOf('charge.refunded.newer', { payment_intent })));
  assert.equal((await till.count('processor_request_duration_seconds', lists)) - before, 1);
});

test('failed events are retried after a second, however many arrive meanwhile', async (t) => {
  const { till, line } = await startTillOnLine(t);
  line.cut();
  const { worker } = till.services;
  t.after(() => worker.stop());
  worker.start();
  while (till.lines.filter(isTold).length < 3) {
    worker.nudge();
    await setTimeout(1);
  }
  const [first, , third] = till.lines.filter(isTold).map(({ time }) => Date.parse(String(time)));
  assert.ok(first !== undefined && third !== undefined);
  assert.ok(third - first >= 2_000, `three attempts within ${third - first} ms`);
});
