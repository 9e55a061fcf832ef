import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setImmediate } from 'node:timers/promises';
import pg from 'pg';
import { Failure } from '#core/errors.ts';
import type { ProcessorEvent } from '../../src/processor/port/event-calls.ts';
import { startTill } from '../support/till.ts';
import type { TillInProcess } from '../support/till-in-process.ts';
import { startTillOnLine } from '../support/till-on-line.ts';
import { eventOf, idOf, signWebhook } from '../support/webhook-events.ts';

/** As many as the inbox lets wait, and as many as it writes at once. */
const waitingMax = 5_000;
const batchMax = 200;

/** Another session that locks the inbox, so that inserts wait until it ends. */
async function holdInbox({ databaseUrl }: TillInProcess) {
  const client = new pg.Client({ connectionString: databaseUrl });
  await client.connect();
  await client.query('begin');
  await client.query('lock table till.webhook_events in share mode');
  return {
    release: async () => {
      await client.query('commit');
      await client.end();
    },
  };
}

/** Counts the statements that insert into the inbox: each has a time of its own, however many rows it brings. */
async function countStatements(till: TillInProcess): Promise<number> {
  const [row] = await till.sql<{ count: number }>(
    'select count(distinct xmin::text) as count from till.webhook_events',
  );
  return row?.count ?? 0;
}

function toEvent(till: TillInProcess, body: string): ProcessorEvent {
  const verified = till.processor.verifyWebhook(Buffer.from(body), signWebhook(body), new Date());
  assert(verified.outcome === 'event');
  return verified.event;
}

test('events that come while one is being stored share the next statement', async (t) => {
  const till = await startTill({ in: 'process', for: t });
  const held = await holdInbox(till);
  const events = Array.from({ length: 2 * batchMax + 1 }, () => eventOf('balance.available'));
  const receipts = events.map((event) => till.services.inbox.receive(toEvent(till, event)));
  await held.release();
  assert.deepEqual(new Set(await Promise.all(receipts)), new Set(['stored']));
  const [row] = await till.sql<{ count: number }>('select count(*) as count from till.webhook_events');
  assert.equal(row?.count, events.length);
  // Two full batches, and the one that is left.
  assert.equal(await countStatements(till), 3);
});

test('of two equal events in one statement one is stored and one is a duplicate', async (t) => {
  const till = await startTill({ in: 'process', for: t });
  const held = await holdInbox(till);
  const twin = toEvent(till, eventOf('balance.available'));
  const first = till.services.inbox.receive(toEvent(till, eventOf('balance.available')));
  const twins = [till.services.inbox.receive(twin), till.services.inbox.receive(twin)];
  await held.release();
  assert.equal(await first, 'stored');
  assert.deepEqual(await Promise.all(twins), ['stored', 'duplicate']);
  assert.equal(await till.count('webhook_events_received_total'), 2);
  assert.equal(await till.count('webhook_events_duplicate_total'), 1);
});

test('a row that cannot be stored fails alone; those that share its statement are stored', async (t) => {
  const till = await startTill({ in: 'process', for: t });
  await till.sql(
    `alter table till.webhook_events add constraint no_poison check (payload not like '%poison%')`,
  );
  const held = await holdInbox(till);
  const good = Array.from({ length: 20 }, () => eventOf('balance.available'));
  const bad = eventOf('balance.available', {}, { note: 'poison' });
  const responses = [...good.slice(0, 10), bad, ...good.slice(10)].map((event) =>
    till.services.inbox.receive(toEvent(till, event)).catch((error: unknown) => error),
  );
  await held.release();
  const outcomes = await Promise.all(responses);
  assert.equal(outcomes.filter((outcome) => outcome === 'stored').length, good.length);
  assert.match(String(outcomes[10]), /no_poison/);
  const rows = await till.sql<{ id: string }>('select id from till.webhook_events');
  assert.deepEqual(new Set(rows.map(({ id }) => id)), new Set(good.map(idOf)));
});

test('the queue is bounded: above its limit the processor is told to retry, and the others are stored', async (t) => {
  const till = await startTill({ in: 'process', for: t });
  const held = await holdInbox(till);
  const template = toEvent(till, eventOf('balance.available'));
  const receive = (number: number) => till.services.inbox.receive({ ...template, id: `evt_${number}` });
  const first = receive(0);
  // The first is in progress at the end of this turn of the event loop, and delays all others.
  await setImmediate();
  const waiting = Array.from({ length: waitingMax }, (_, number) => receive(number + 1));
  const turnedAway = await till.send(eventOf('balance.available'));
  assert.equal(turnedAway.status, 503);
  assert.equal(turnedAway.headers.get('retry-after'), '1');
  await assert.rejects(receive(-1), (error) => error instanceof Failure && error.code === 'overloaded');
  await held.release();
  assert.deepEqual(new Set(await Promise.all([first, ...waiting])), new Set(['stored']));
  const response = await till.send(eventOf('balance.available'));
  assert.equal(response.status, 200, 'the line has emptied');
});

test('when the database is down, a whole batch fails at once instead of row by row', async (t) => {
  const { till, line } = await startTillOnLine(t);
  line.cut();
  const events = Array.from({ length: 50 }, () => toEvent(till, eventOf('balance.available')));
  const receipts = events.map((event) => till.services.inbox.receive(event).catch((error: unknown) => error));
  for (const failure of await Promise.all(receipts)) {
    assert(failure instanceof Failure);
    assert.equal(failure.code, 'database_unavailable');
  }
  // All of them together.
  assert.ok(line.refused <= 1, `${line.refused} connections were attempted`);
});
