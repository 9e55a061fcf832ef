import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { test } from 'node:test';
import { EndpointStore } from '#engine/events/endpoints/endpoint-store.ts';
import { type Backend, startBackend } from '../support/backend.ts';
import { startEventSink } from '../support/event-sink.ts';
import { appendForIds } from '../support/stored-events.ts';
import { startTill } from '../support/till.ts';
import type { TillInProcess } from '../support/till-in-process.ts';
import { until } from '../support/until.ts';

const settings = { in: 'process', delivers: true, events: { allowPrivate: true } } as const;
/** Far more looks than a take-over needs. Each is a statement. */
const looksMax = 5_000;

async function ownerOf({ sql }: Backend): Promise<number | null> {
  const [row] = await sql<{ owner: number | null }>('select owner from till.event_endpoints');
  return row?.owner ?? null;
}

/** Resolves when a statement waits for a lock. */
async function lockAwaited({ sql }: Backend): Promise<void> {
  const text = `select from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`;
  await until(async () => (await sql(text)).length > 0, 'no statement waits for a lock');
}

/** Resolves when the endpoint has this owner. */
function owned(backend: Backend, owner: number | null): Promise<void> {
  return until(async () => (await ownerOf(backend)) === owner, 'the endpoint has another owner');
}

test('one process at a time delivers, and another takes over at once when it is gone', async (t) => {
  const backend = await startBackend(t);
  const closed: Promise<unknown>[] = [];
  let holds = false;
  const sink = await startEventSink(t, (response) => {
    if (holds) closed.push(once(response, 'close'));
    else response.writeHead(204).end();
  });
  const first = await startTill({ ...settings, on: backend });
  await first.post('/event-endpoints', { url: sink.url });
  await owned(backend, first.ownerLock.owner);
  const second = await startTill({ ...settings, on: backend });
  const nudge = (...tills: readonly TillInProcess[]) => {
    for (const till of tills) void till.services.dispatcher.endpointsChanged();
  };
  const objectId = randomUUID();
  await appendForIds(backend.sql, [{ objectId }, {}, {}]);
  nudge(first, second);
  await sink.arrived(3);
  assert.equal(sink.received.length, 3, 'only one process delivers');

  // The first process is in the middle of a delivery when its lock goes, as if it were dead.
  holds = true;
  const [late, next] = await appendForIds(backend.sql, [{ objectId }, { objectId }]);
  nudge(first);
  await sink.arrived(4);
  await first.ownerLock.close();
  holds = false;
  for (let look = 0; (await ownerOf(backend)) !== second.ownerLock.owner; look += 1) {
    assert.ok(look < looksMax, 'the endpoint has another owner');
    // As if it had not renewed its lease for a while.
    await backend.sql(
      `update till.event_endpoints set leased_until = now() + interval '20 seconds' where owner = $1`,
      [first.ownerLock.owner],
    );
    nudge(second);
  }
  await sink.arrived(6);
  // It was not dead. When it notices that it lost the lease, it ends what it was doing.
  const [ended] = closed;
  assert(ended !== undefined);
  nudge(first);
  await ended;
  const [last] = await appendForIds(backend.sql, [{ objectId }]);
  nudge(first, second);
  await sink.arrived(7);
  assert.deepEqual(
    sink.received.slice(3).map(({ body }) => body.id),
    [late, late, next, last],
  );
  assert.equal(await ownerOf(backend), second.ownerLock.owner);
});

test('a process that stops records what it has sent, and the next one sends the rest once', async (t) => {
  const backend = await startBackend(t);
  let isHeld = true;
  const slowObject = randomUUID();
  const sink = await startEventSink(t, (response, { body }) => {
    if (!isHeld || body.objectId !== slowObject) response.writeHead(204).end();
  });
  const first = await startTill({ ...settings, on: backend });
  const { id } = await first.post<{ id: string }>('/event-endpoints', { url: sink.url });
  const ids = await appendForIds(backend.sql, [
    ...[{ objectId: slowObject }, {}, { objectId: slowObject }, {}, {}],
  ]);
  first.services.dispatcher.nudge();
  await sink.arrived(4);
  await first.stop();
  assert.equal(await ownerOf(backend), null);
  isHeld = false;
  const second = await startTill({ ...settings, on: backend });
  await sink.arrived(6);
  const repeated = sink.received.slice(4).map(({ body }) => body.id);
  assert.deepEqual(repeated, [ids[0], ids[2]], 'only what had no response is sent again');
  await second.call('DELETE', `/event-endpoints/${id}`);
});

test('leases are renewed in the order of the ids, so that a renewal and a resend cannot wait for each other', async (t) => {
  const backend = await startBackend(t);
  const till = await startTill({ ...settings, delivers: false, on: backend });
  for (const url of ['https://one.example.com', 'https://two.example.com'])
    await till.post('/event-endpoints', { url });
  const [first, second] = await backend.sql<{ id: string }>(
    'select id from till.event_endpoints order by id',
  );
  assert.ok(first !== undefined && second !== undefined);
  await backend.sql('update till.event_endpoints set owner = 7, history = till.history()');
  // The first endpoint now comes last in the table.
  await backend.sql('update till.event_endpoints set description = $2 where id = $1', [first.id, 'moved']);
  const store = new EndpointStore();
  const { database } = till;
  const renewed = await database.transaction(async (tx) => {
    await store.lock(tx, first.id);
    const renewal = store.renew(database, 7, 30_000);
    await lockAwaited(backend);
    await store.lock(tx, second.id);
    return { renewal };
  });
  assert.deepEqual(await renewed.renewal, new Set([first.id, second.id]));
});
