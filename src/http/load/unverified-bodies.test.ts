import assert from 'node:assert/strict';
import type { IncomingMessage } from 'node:http';
import { PassThrough } from 'node:stream';
import { type TestContext, test } from 'node:test';
import { setImmediate } from 'node:timers/promises';
import { Failure } from '#core/errors.ts';
import { UnverifiedBodies, type UnverifiedLimits } from './unverified-bodies.ts';

const kib = 1_024;
const mib = 1_024 * kib;

/** What becomes of the bodies of several requests. */
function reader(limits: Partial<UnverifiedLimits> = {}) {
  const bodies = new UnverifiedBodies(limits);
  const outcomes: (Buffer | string)[] = [];
  /** A request whose body the test sends, of this declared length. */
  const open = (length?: number) => {
    const stream = new PassThrough({ highWaterMark: 4 * mib });
    const headers = length === undefined ? {} : { 'content-length': String(length) };
    const position = outcomes.push('reading') - 1;
    bodies.read(
      Object.assign(stream, { headers }) as unknown as IncomingMessage,
      (body) => {
        outcomes[position] = body;
      },
      (error) => {
        outcomes[position] = error instanceof Failure ? error.code : error.message;
      },
    );
    return stream;
  };
  return { bodies, open, outcomes };
}

async function send(stream: PassThrough, ...parts: readonly (string | Buffer)[]): Promise<void> {
  for (const part of parts) {
    stream.write(part);
    await setImmediate();
  }
}

function mockTime(t: TestContext) {
  let nowMs = 0;
  t.mock.method(performance, 'now', () => nowMs);
  t.mock.timers.enable({ apis: ['setInterval'] });
  return (ms: number) => {
    nowMs += ms;
    t.mock.timers.tick(ms);
  };
}

test('a body is the same in one part, in many, and without a declared length', async () => {
  const { bodies, open, outcomes } = reader();
  const text = 'a body in parts';
  const requests = [open(text.length), open(text.length), open()];
  await send(requests[0] ?? assert.fail(), text);
  for (const request of requests.slice(1)) await send(request, ...text);
  for (const request of requests) request.end();
  await setImmediate();
  open(0).end();
  await setImmediate();
  assert.deepEqual(outcomes.map(String), [text, text, text, '']);
  assert.deepEqual([bodies.count, bodies.bytes], [0, 0]);
});

test('parts of a byte take little more memory than their bytes', async () => {
  const { bodies, open } = reader();
  const request = open(mib);
  await send(request, ...Array.from({ length: 5_000 }, () => 'x'));
  assert.ok(bodies.bytes <= 16 * kib, `${bodies.bytes} bytes`);
});

test('a body above the limit is refused when its first byte too many arrives', async () => {
  const { bodies, open, outcomes } = reader();
  const request = open();
  await send(request, Buffer.alloc(mib));
  assert.deepEqual(outcomes, ['reading']);
  await send(request, 'x');
  assert.deepEqual(outcomes, ['payload_too_large']);
  assert.equal(bodies.count, 0);
});

test('a sender that goes away leaves nothing', async () => {
  const { bodies, open, outcomes } = reader();
  const request = open(100);
  await send(request, 'x');
  request.destroy(new Error('aborted'));
  await setImmediate();
  assert.deepEqual([outcomes, bodies.count, bodies.bytes], [['aborted'], 0, 0]);
});

test('many bodies that lack a byte stay within the memory of all, and a whole one passes them', async () => {
  const { bodies, open, outcomes } = reader();
  const almost = Buffer.alloc(mib - 1);
  // Three times as many as fit.
  for (let n = 0; n < 100; n += 1) {
    await send(open(mib), almost.subarray(0, mib / 2), almost.subarray(mib / 2));
    assert.ok(bodies.bytes <= 32 * mib, `${bodies.bytes} bytes`);
  }
  const whole = open(20);
  await send(whole, 'a complete', ' signed one');
  whole.end();
  await setImmediate();
  assert.equal(String(outcomes.at(-1)), 'a complete signed one');
  assert.equal(outcomes.filter((outcome) => outcome === 'reading').length, bodies.count);
  assert.ok(bodies.count >= 31, 'those that fit remain');
});

test('when there are too many, the oldest gives way', () => {
  const { open, outcomes } = reader({ bodiesMax: 3 });
  for (let n = 0; n < 5; n += 1) open(100);
  assert.deepEqual(outcomes, ['request_timeout', 'request_timeout', 'reading', 'reading', 'reading']);
});

test('a body that stops is refused after moments, and a steady one at its deadline', async (t) => {
  const pass = mockTime(t);
  const { bodies, open, outcomes } = reader();
  const steady = open(mib);
  const stopped = open(mib);
  await send(stopped, 'x');
  for (let second = 1; second <= 9; second += 1) {
    await send(steady, Buffer.alloc(20 * kib));
    pass(1_000);
    assert.equal(outcomes[0], 'reading');
    assert.equal(outcomes[1], second < 3 ? 'reading' : 'request_timeout', `after ${second} s`);
  }
  pass(1_000);
  assert.deepEqual(outcomes, ['request_timeout', 'request_timeout']);
  assert.deepEqual([bodies.count, bodies.bytes], [0, 0]);
});
