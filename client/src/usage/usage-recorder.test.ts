import assert from 'node:assert/strict';
import { test } from 'node:test';
import { TillError } from '../errors.ts';
import type { NewUsageEvent } from '../types.ts';
import { UsageNotSentError, UsageRecorder, UsageRejectedError } from './usage-recorder.ts';

const at = '2026-11-17T12:00:00.000Z';
const event = (id: string): NewUsageEvent => ({
  id,
  customerId: 'customer',
  meter: 'api_calls',
  quantity: 1,
  at,
});

/** A recorder whose batches wait until the test responds. */
function start() {
  const batches: (readonly string[])[] = [];
  const responses: { resolve: (rejected?: readonly object[]) => void; reject: (error: Error) => void }[] = [];
  const recorder = new UsageRecorder(
    (events) =>
      new Promise((resolve, reject) => {
        batches.push(events.map(({ id }) => id));
        responses.push({
          resolve: (rejected = []) => resolve({ recorded: events.length, duplicates: 0, rejected } as never),
          reject,
        });
      }),
  );
  return { recorder, batches, responses };
}

test('events wait up to a second for others, and go together', async (t) => {
  t.mock.timers.enable({ apis: ['setTimeout'] });
  const { recorder, batches, responses } = start();
  const added = [recorder.add(event('1')), recorder.add(event('2'))];
  t.mock.timers.tick(999);
  assert.deepEqual(batches, []);
  t.mock.timers.tick(1);
  assert.deepEqual(batches, [['1', '2']]);
  responses[0]?.resolve();
  await Promise.all(added);
});

test('a thousand events go at once, and those that arrive meanwhile form the next batch', async () => {
  const { recorder, batches, responses } = start();
  const added = Array.from({ length: 1_500 }, (_, index) => recorder.add(event(String(index))));
  assert.deepEqual(
    batches.map(({ length }) => length),
    [1_000],
  );
  responses[0]?.resolve();
  await added[0];
  await added[999];
  assert.deepEqual(
    batches.map(({ length }) => length),
    [1_000, 500],
  );
  responses[1]?.resolve();
  await Promise.all(added);
});

test('a rejected event rejects alone, with its code', async () => {
  const { recorder, responses } = start();
  const added = [recorder.add(event('1')), recorder.add(event('2'))];
  const flushed = recorder.flush();
  responses[0]?.resolve([{ index: 1, id: '2', code: 'meter_not_found' }]);
  await added[0];
  await assert.rejects(added[1] ?? Promise.resolve(), (error) => {
    assert.ok(error instanceof UsageRejectedError);
    assert.deepEqual([error.code, error.event], ['meter_not_found', event('2')]);
    return true;
  });
  await flushed;
});

test('an event that follows the response to another is sent, however soon it follows', async (t) => {
  t.mock.timers.enable({ apis: ['setTimeout'] });
  const { recorder, batches, responses } = start();
  const pass = async (steps: number) => {
    for (let step = 0; step < steps; step += 1) await Promise.resolve();
  };
  // Each follows one step of the promises later than the one before.
  for (let steps = 0; steps < 20; steps += 1) {
    const first = recorder.add(event(`first ${steps}`));
    t.mock.timers.tick(1_000);
    let followed = first;
    for (let step = 0; step < steps; step += 1) followed = followed.then(() => {});
    const second = followed.then(() => recorder.add(event(`second ${steps}`)));
    responses.at(-1)?.resolve();
    await pass(100);
    t.mock.timers.tick(1_000);
    assert.deepEqual(batches.at(-1), [`second ${steps}`]);
    responses.at(-1)?.resolve();
    await second;
    await pass(100);
  }
});

test('a malformed event, or a batch that is too large, stops no other event', async () => {
  const sent: number[] = [];
  const recorder = new UsageRecorder(async (events) => {
    sent.push(events.length);
    const status = events.length > 600 ? 413 : 400;
    const code = status === 413 ? 'payload_too_large' : 'validation_failed';
    const call = { method: 'POST', path: '/api/v1/usage', idempotencyKey: undefined, attempts: 1 };
    if (events.length > 600 || events.some(({ id }) => id === 'malformed'))
      throw new TillError({ code, status } as never, {
        ...call,
        retryAfterSeconds: undefined,
        isReplay: false,
      });
    return { recorded: events.length, duplicates: 0, rejected: [] };
  });
  const ids = Array.from({ length: 1_000 }, (_, index) => (index === 700 ? 'malformed' : String(index)));
  const results = await Promise.allSettled(ids.map((id) => recorder.add(event(id))));
  const rejected = results.flatMap((result) => (result.status === 'rejected' ? [result.reason] : []));
  assert.deepEqual(
    rejected.map((error) => [error instanceof UsageRejectedError, error.code, error.event.id]),
    [[true, 'validation_failed', 'malformed']],
  );
  assert.ok(sent.length <= 25, `${sent.length} requests`);
});

test('a batch that could not be sent rejects its events, and the next one is sent', async () => {
  const { recorder, batches, responses } = start();
  const first = recorder.add(event('1'));
  const flushed = recorder.flush();
  const second = recorder.add(event('2'));
  responses[0]?.reject(new Error('down'));
  await assert.rejects(first, (error) => {
    assert.ok(error instanceof UsageNotSentError);
    // To send it again: the same id and time count once.
    assert.deepEqual(error.event, event('1'));
    assert.match(String(error.cause), /down/);
    return true;
  });
  assert.deepEqual(batches, [['1'], ['2']]);
  responses[1]?.resolve();
  await second;
  await flushed;
});

test('closing sends what waits, and refuses more', async () => {
  const { recorder, batches, responses } = start();
  const added = recorder.add(event('1'));
  const closed = recorder.close();
  await assert.rejects(recorder.add(event('2')), /closed/);
  responses[0]?.resolve();
  await Promise.all([added, closed]);
  assert.deepEqual(batches, [['1']]);
});

test('closing rejects if an event could not be sent', async () => {
  const { recorder, responses } = start();
  const added = recorder.add(event('1'));
  const closed = recorder.close();
  responses[0]?.reject(new Error('down'));
  await assert.rejects(added, UsageNotSentError);
  await assert.rejects(closed, { message: 'usage events that could not be sent: 1' });
});

test('closing resolves even if an event was rejected, or could not be sent before', async () => {
  const { recorder, responses } = start();
  const added = [recorder.add(event('1'))];
  const flushed = recorder.flush();
  responses[0]?.reject(new Error('down'));
  await flushed;
  added.push(recorder.add(event('2')));
  const closed = recorder.close();
  responses[1]?.resolve([{ index: 0, id: '2', code: 'meter_not_found' }]);
  await closed;
  const [first, second] = await Promise.allSettled(added);
  assert.ok(first?.status === 'rejected' && first.reason instanceof UsageNotSentError);
  assert.ok(second?.status === 'rejected' && second.reason instanceof UsageRejectedError);
});

test('too many waiting events are refused instead of filling the memory', async () => {
  const { recorder } = start();
  const added = Array.from({ length: 101_000 }, (_, index) => recorder.add(event(String(index))));
  await assert.rejects(recorder.add(event('one more')), /already wait/);
  // Nothing responds, so they never settle.
  assert.equal(added.length, 101_000);
});
