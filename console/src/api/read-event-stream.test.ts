import assert from 'node:assert/strict';
import { test } from 'node:test';
import { readEventStream } from './read-event-stream.ts';

const encoder = new TextEncoder();

/** A response whose body the test sends, piece by piece. */
function openStream() {
  const { promise: cancelled, resolve: cancel } = Promise.withResolvers<void>();
  const { promise: started, resolve: start } = Promise.withResolvers<ReadableStreamDefaultController>();
  const response = new Response(new ReadableStream({ start, cancel: () => cancel() }));
  const send = async (text: string) => (await started).enqueue(encoder.encode(text));
  return { response, send, cancelled };
}

test('events arrive in the chunk that completes them, and heartbeats are skipped', async () => {
  const { response, send } = openStream();
  const events = readEventStream(response);
  await send('id: 1\ndata: {"id":"1"}\n\n: heartbeat\n\nid: 2\nda');
  assert.deepEqual((await events.next()).value, [{ id: '1' }]);
  await send('ta: {"id":"2"}\n\n');
  assert.deepEqual((await events.next()).value, [{ id: '2' }]);
});

test('a stream that sends nothing for three heartbeats ends', async (t) => {
  t.mock.timers.enable({ apis: ['setTimeout'] });
  const { response, cancelled } = openStream();
  const next = readEventStream(response).next();
  t.mock.timers.tick(45_000);
  await assert.rejects(next, /silent/);
  await cancelled;
});
