import assert from 'node:assert/strict';
import { test } from 'node:test';
import { inFlightMax, Lane } from './lane.ts';

/** A lane whose attempts end when the test says so. */
function scripted() {
  const started: string[] = [];
  const endings = new Map<string, (settled: boolean) => void>();
  const lane = new Lane(
    (eventId) => {
      started.push(eventId);
      return new Promise((resolve) => endings.set(eventId, resolve));
    },
    () => 0,
    (error) => assert.fail(String(error)),
  );
  const end = async (eventId: string, settled: boolean) => {
    endings.get(eventId)?.(settled);
    // All consequences of an ended attempt run in microtasks.
    await new Promise((resolve) => setImmediate(resolve));
  };
  return { lane, started, end };
}

test('deliveries start in order and only a few at a time', async (t) => {
  const { lane, started, end } = scripted();
  const ids = Array.from({ length: inFlightMax + 2 }, (_, index) => `evt_${index}`);
  for (const id of ids) lane.push(id);
  assert.deepEqual(started, ids.slice(0, inFlightMax));
  await end('evt_3', true);
  assert.deepEqual(started, ids.slice(0, inFlightMax + 1));
  assert.equal(lane.size, inFlightMax + 1);
  for (const id of ids) await end(id, true);
  assert.deepEqual(started, ids);
  t.after(() => lane.close());
});

test('a failed delivery waits while the next ones continue, and a flush retries it', async (t) => {
  const { lane, started, end } = scripted();
  t.after(() => lane.close());
  lane.push('bad');
  await end('bad', false);
  lane.push('good');
  await end('good', true);
  assert.deepEqual(started, ['bad', 'good']);
  const flushed = lane.flush();
  await end('bad', true);
  await flushed;
  assert.deepEqual(started, ['bad', 'good', 'bad']);
  assert.equal(lane.size, 0);
});

test('paused deliveries start only with a flush or when they are resumed', async (t) => {
  const { lane, started, end } = scripted();
  t.after(() => lane.close());
  lane.hold(true);
  lane.push('first');
  assert.deepEqual(started, []);
  const flushed = lane.flush();
  await end('first', true);
  await flushed;
  lane.push('second');
  assert.deepEqual(started, ['first']);
  lane.hold(false);
  assert.deepEqual(started, ['first', 'second']);
  await end('second', true);
});

test('a closed lane waits for attempts in progress and starts no more', async () => {
  const { lane, started, end } = scripted();
  lane.push('flying');
  const closed = lane.close();
  lane.push('late');
  await end('flying', false);
  await closed;
  assert.deepEqual(started, ['flying']);
});

test('an attempt that throws is reported and waits for its retry', async (t) => {
  const errors: unknown[] = [];
  const lane = new Lane(
    () => Promise.reject(new Error('broken')),
    () => 0,
    (error) => errors.push(error),
  );
  t.after(() => lane.close());
  lane.push('evt_0');
  await lane.flush();
  assert.equal(lane.size, 1);
  assert.match(String(errors[0]), /broken/);
});
