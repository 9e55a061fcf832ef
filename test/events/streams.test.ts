import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { after, test } from 'node:test';
import { streamLimits } from '#engine/events/feed/event-streams.ts';
import type { OverloadLimits } from '../../src/http/load/overload.ts';
import { startBackend } from '../support/backend.ts';
import { testKey } from '../support/client.ts';
import { effort } from '../support/effort.ts';
import {
  appendEvents,
  type EventPage,
  newEvent,
  openStream,
  type StreamMessage,
} from '../support/event-feed.ts';
import { readProblem } from '../support/problem.ts';
import { startTill } from '../support/till.ts';
import type { TillInProcess } from '../support/till-in-process.ts';
import { until } from '../support/until.ts';

const backend = await startBackend({ after });
const till = await startTill({ in: 'process', on: backend, mustNotLogErrors: true });
/** Its limits are so low that a test meets them. It is stopped by the last test that uses it. */
const strict = await startTill({
  in: 'process',
  on: backend,
  streamLimits: { streamsMax: 6, heartbeatMs: 20, keyCheckMs: 20, slowReaderMs: 100 },
  overloadLimits: workingMax(3),
});
const append = (...events: Parameters<typeof newEvent>[0][]) =>
  appendEvents(till.sql, ...events.map((values) => newEvent(values)));
const streamHeaders = { accept: 'text/event-stream' };

/** Requests are not shed for their age. */
function workingMax(working: number): OverloadLimits {
  const limit = { working, ageMs: 600_000 };
  return { webhooks: limit, others: limit };
}

/** API keys with names of their own: each name may have only a share of the streams. */
const keysOf = (count: number) =>
  Promise.all(
    Array.from({ length: count }, async (_, index) => {
      const { key } = await till.post<{ key: string }>('/api-keys', {
        name: `reader-${index}`,
        scopes: ['read'],
      });
      return key;
    }),
  );
/** As many streams as `strict` serves, two for each name. */
const openAll = async () => {
  const streams = [];
  for (const key of await keysOf(3))
    for (let index = 0; index < 2; index += 1)
      streams.push(await openStream(strict, '', { 'x-api-key': key }));
  return streams;
};

/** The newest place of the feed. */
async function end(): Promise<string> {
  return (await till.get<EventPage>('/events?objectId=none')).nextCursor ?? assert.fail('the feed is empty');
}

/** Time never goes back, so this lasts until the end of the process. */
function letTimePass(ms: number): void {
  const now = performance.now.bind(performance);
  performance.now = () => now() + ms;
}

/** Lines of the request log about a request. */
function logged({ lines }: TillInProcess, requestId: string) {
  return lines.filter((line) => line['requestId'] === requestId).map(({ msg, status }) => `${msg} ${status}`);
}

test('a stream has the headers that keep proxies from buffering it, and begins with the oldest event', async () => {
  const objectId = randomUUID();
  await append({ objectId, data: { id: objectId, note: 'two\nlines' } });
  const stream = await openStream(till);
  const { headers, status } = stream.response;
  assert.equal(status, 200);
  assert.equal(headers.get('content-type'), 'text/event-stream');
  assert.equal(headers.get('cache-control'), 'no-cache');
  assert.equal(headers.get('x-accel-buffering'), 'no');
  assert.equal(headers.get('x-content-type-options'), 'nosniff');
  assert.ok(headers.has('x-request-id'));
  const first = await stream.messages.next();
  assert.deepEqual(first.value, { retry: '1000' });
  const { value } = await stream.messages.next();
  const { data } = await till.get<EventPage>('/events');
  assert.deepEqual(JSON.parse(value?.data ?? ''), data[0]);
  assert.deepEqual([value?.id, value?.event], [data[0]?.id, 'customer.updated']);
  stream.close();
});

test('events of another process arrive while the stream is open, each once, and selected by the filters', async () => {
  const customerId = randomUUID();
  const stream = await openStream(
    till,
    `?after=${await end()}&customerId=${customerId}&types=payment.created`,
  );
  const payments = Array.from({ length: 3 }, () => randomUUID());
  for (const objectId of payments) {
    await append({ type: 'payment.created', objectType: 'payment', objectId: randomUUID() });
    await append({ type: 'payment.created', objectType: 'payment', objectId, customerId });
    await append({ type: 'payment.updated', objectType: 'payment', objectId, customerId });
  }
  for (const objectId of payments) assert.equal((await stream.nextEvent()).objectId, objectId);
  stream.close();
});

test('a stream resumes after its Last-Event-ID, even if the URL names an older event', async () => {
  const start = await end();
  const objects = Array.from({ length: 4 }, () => randomUUID());
  for (const objectId of objects) await append({ objectId });
  const first = await openStream(till, `?after=${start}`);
  await first.nextEvent();
  const { id } = await first.nextEvent();
  first.close();
  const second = await openStream(till, `?after=${start}`, { 'last-event-id': id });
  assert.equal((await second.nextEvent()).objectId, objects[2]);
  assert.equal((await second.nextEvent()).objectId, objects[3]);
  second.close();
});

test('400 and 410 are returned before a stream begins', async () => {
  const refuse = async (query: string, headers: object, path: string) => {
    const response = await till.fetch(`/api/v1/events${query}`, {
      headers: { ...streamHeaders, ...headers },
    });
    const { errors } = await readProblem(response, 400, 'invalid_request');
    assert.equal(errors?.[0]?.path, path);
  };
  await refuse('?after=evt_unknown', {}, 'query.after');
  await refuse('?types=payment.paid', {}, 'query.types');
  await refuse('', { 'last-event-id': 'evt_unknown' }, 'header.last-event-id');
  const { status } = await till.fetch('/api/v1/events', {
    headers: { ...streamHeaders, 'x-api-key': 'wrong' },
  });
  assert.equal(status, 401);
});

test('a heartbeat is a comment, with the place that the reader has passed without an event', async () => {
  const stream = await openStream(strict, `?after=${await end()}&types=plan.archived`);
  assert.deepEqual((await stream.messages.next()).value, { retry: '1000' });
  assert.deepEqual((await stream.messages.next()).value, { comment: 'heartbeat' });
  await append({ type: 'customer.created' });
  let beat: StreamMessage | undefined;
  do beat = (await stream.messages.next()).value ?? assert.fail('the stream ended');
  while (beat.id === undefined);
  assert.deepEqual(beat, { comment: 'heartbeat', id: await end() });
  stream.close();
  assert.equal(streamLimits.heartbeatMs, 15_000);
});

test('streams and waits count neither as late nor as in flight', async () => {
  const requestDeadlineMs = 10_000;
  const busy = await startTill({
    ...{ in: 'process', on: backend },
    requestDeadlineMs,
    overloadLimits: workingMax(1),
  });
  const query = `?after=${await end()}&types=plan.archived`;
  const streams = [];
  for (let count = 0; count < 3; count += 1) streams.push(await openStream(busy, query));
  const waits = [];
  for (let count = 0; count < 3; count += 1) {
    waits.push(busy.get<EventPage>(`/events${query}&waitSeconds=30`));
    // It is served when no other request is in flight: this one waits.
    await until(async () => (await busy.tryGet('/events?limit=1')).status === 200);
  }
  // The deadline of a request that began after all of them passes.
  await till.database.transaction(async (tx) => {
    await tx.query('lock table till.plans in access exclusive mode');
    const late = busy.tryGet('/plans');
    await until(async () => {
      const waiting = `select from pg_locks where not granted and relation = 'till.plans'::regclass`;
      return (await backend.sql(waiting)).length > 0;
    });
    letTimePass(requestDeadlineMs);
    assert.equal((await late).status, 503);
  });
  const objectId = randomUUID();
  await append({ objectId, type: 'plan.archived' });
  for (const stream of streams) assert.equal((await stream.nextEvent()).objectId, objectId);
  for (const { data } of await Promise.all(waits)) assert.equal(data[0]?.objectId, objectId);
  for (const stream of streams) stream.close();
  await busy.stop();
});

test('503: streams above the limit are shed, and a place becomes free when a stream ends', async () => {
  const streams = await openAll();
  const refused = await strict.fetch('/api/v1/events', { headers: streamHeaders });
  assert.equal(refused.headers.get('retry-after'), '5');
  await readProblem(refused, 503, 'overloaded');
  assert.equal(await strict.count('http_requests_shed_total', { kind: 'event_readers' }), 1);
  // Other requests are served.
  await strict.get('/events?limit=1');
  streams[0]?.close();
  await until(async () => (await strict.count('event_streams')) === 5);
  streams.push(await openStream(strict));
  for (const stream of streams) stream.close();
  await until(async () => (await strict.count('event_streams')) === 0);
});

test('429: streams of one name above its share are refused, and other names are served', async () => {
  const [key = '', other = ''] = await keysOf(2);
  const own = { 'x-api-key': key };
  const streams = [await openStream(strict, '', own), await openStream(strict, '', own)];
  // Another API key of the same name is the same application.
  const [same = ''] = await keysOf(1);
  for (const refusedKey of [key, same]) {
    const refused = await strict.fetch('/api/v1/events', {
      headers: { ...streamHeaders, 'x-api-key': refusedKey },
    });
    assert.equal(refused.headers.get('retry-after'), '5');
    await readProblem(refused, 429, 'rate_limited');
  }
  streams.push(await openStream(strict, '', { 'x-api-key': other }));
  streams[0]?.close();
  await until(async () => (await strict.count('event_streams')) === 2);
  streams.push(await openStream(strict, '', own));
  for (const stream of streams) stream.close();
  await until(async () => (await strict.count('event_streams')) === 0);
});

test('a reader that does not read is disconnected, and resumes without a gap', async () => {
  const start = await end();
  const socket = openRaw(strict.url, `?after=${start}`);
  await once(socket, 'readable');
  // More than the buffers of both sockets and one batch hold together.
  const filler = 'x'.repeat(1_000_000);
  const objects = Array.from({ length: 16 }, () => randomUUID());
  for (const objectId of objects) await append({ objectId, data: { id: objectId, filler } });
  await until(() => strict.lines.some(({ msg }) => msg === 'slow reader of events disconnected'));
  socket.destroy();
  const stream = await openStream(till, `?after=${start}`);
  for (const objectId of objects) assert.equal((await stream.nextEvent()).objectId, objectId);
  stream.close();
});

test('a stream ends when the database fails, and the reader resumes', async () => {
  const stream = await openStream(strict, `?after=${await end()}`);
  await append({});
  const { id } = await stream.nextEvent();
  await till.sql('alter function till.event_horizon() rename to missing');
  for await (const _ of stream.messages);
  await till.sql('alter function till.missing() rename to event_horizon');
  const objectId = randomUUID();
  await append({ objectId });
  const again = await openStream(strict, '', { 'last-event-id': id });
  assert.equal((await again.nextEvent()).objectId, objectId);
  again.close();
});

test('a stream that its caller ends is in the request log once', async () => {
  const stream = await openStream(till, '', { 'x-request-id': 'aborted-1' });
  assert.deepEqual(logged(till, 'aborted-1'), []);
  stream.close();
  await until(() => logged(till, 'aborted-1').length > 0);
  await till.get('/events?limit=1');
  assert.deepEqual(logged(till, 'aborted-1'), ['request 200']);
});

test('a stream ends when its API key is revoked', async () => {
  const { id, key } = await till.post<{ id: string; key: string }>('/api-keys', {
    name: 'reader',
    scopes: ['read'],
  });
  const stream = await openStream(strict, `?after=${await end()}`, { 'x-api-key': key });
  await append({});
  await stream.nextEvent();
  assert.equal((await strict.call('DELETE', `/api-keys/${id}`)).status, 204);
  for await (const _ of stream.messages);
});

test('when the service stops, streams end in order, waits get their responses, and both are logged once', async () => {
  const after = await end();
  const idle = await openStream(strict, `?after=${after}`, { 'x-request-id': 'ended-1' });
  const busy = await openStream(strict, `?after=${after}&types=customer.created`, {
    'x-request-id': 'ended-2',
  });
  await append({ type: 'customer.created' });
  await busy.nextEvent();
  const headers = { 'x-request-id': 'ended-3' };
  const wait = strict.call('GET', `/events?after=${await end()}&waitSeconds=30`, undefined, headers);
  // The waiting request has arrived when a later one gets its response.
  await strict.get('/events?limit=1');
  await strict.stop();
  assert.deepEqual(await (await wait).json(), { data: [], nextCursor: null });
  // Reading to the end fails if the connection was cut.
  for await (const _ of idle.messages);
  for await (const _ of busy.messages);
  for (const requestId of ['ended-1', 'ended-2', 'ended-3'])
    assert.deepEqual(logged(strict, requestId), ['request 200']);
});

test('one process serves 1,000 streams without a connection to the database for each', async () => {
  const { streamsMax } = streamLimits;
  assert.equal(streamsMax, 1_000);
  /** A tenth. */
  const streamsOfName = 100;
  const count = effort({ short: 120, long: streamsMax });
  const after = await end();
  const objectId = randomUUID();
  const keys = await keysOf(streamsMax / streamsOfName);
  const sockets = Array.from({ length: count }, (_, index) =>
    openRaw(till.url, `?after=${after}`, keys[Math.floor(index / streamsOfName)]),
  );
  const seen = sockets.map((socket) => readUntil(socket, objectId));
  await until(async () => (await till.count('event_streams')) === count);
  await append({ objectId });
  await Promise.all(seen);
  const [connections] = await till.sql<{ count: number }>(
    `select count(*) from pg_stat_activity where datname = current_database() and application_name = 'till'`,
  );
  // The pools of two Tills.
  assert.ok(Number(connections?.count) <= 20, JSON.stringify(connections));
  for (const socket of sockets) socket.destroy();
});

/** A stream on a socket that reads only when the test does. */
function openRaw(url: string, query: string, key = testKey): Socket {
  const { hostname, port } = new URL(url);
  const socket = connect(Number(port), hostname);
  socket.on('error', () => {});
  socket.write(
    `GET /api/v1/events${query} HTTP/1.1\r\nhost: till\r\nx-api-key: ${key}\r\naccept: text/event-stream\r\n\r\n`,
  );
  return socket;
}

async function readUntil(socket: Socket, text: string): Promise<void> {
  let received = '';
  for (;;) {
    await once(socket, 'readable');
    received += socket.read()?.toString() ?? '';
    if (received.includes(text)) return;
  }
}
