import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { Failure } from '#core/errors.ts';
import { assertProperty } from '../../../test/support/seeds.ts';
import { mostInASecond, VirtualTime } from '../../../test/support/virtual-time.ts';
import { CallPacer, type PacedCall } from './call-pacer.ts';
import type { Priority } from './call-queue.ts';
import { documentedLimits } from './documented-limits.ts';
import { Limits, type RateLimit } from './limits.ts';
import { LocalTokens } from './tokens.ts';

const customers = 'POST /v1/customers';

interface Started {
  readonly atMs: number;
  readonly group: string;
  readonly endpoint: string;
  readonly priority: Priority;
}

interface Wanted {
  readonly group?: string;
  readonly endpoint?: string;
  readonly priority?: Priority;
  readonly patienceMs?: number;
  /** How long the processor takes. */
  readonly takesMs?: number;
}

function setUp({
  perSecond,
  isLive = false,
  inFlightMax = 1_000,
}: {
  readonly perSecond?: number;
  readonly isLive?: boolean;
  readonly inFlightMax?: number;
}) {
  const time = new VirtualTime();
  const limits = new Limits({ documented: documentedLimits(isLive), perSecond });
  let waiting = 0;
  const observer = {
    waiting: (_priority: Priority, change: number) => {
      waiting += change;
    },
    began: () => {},
    refused: () => {},
  };
  const pacer = new CallPacer({ limits, tokens: new LocalTokens(limits), inFlightMax, observer, time });
  const started: Started[] = [];
  const refused: { readonly atMs: number; readonly failure: Failure }[] = [];
  const request = async ({
    takesMs = 100,
    patienceMs = 6_000,
    ...wanted
  }: Wanted = {}): Promise<PacedCall> => {
    const call: PacedCall = {
      ...{ group: 'a', endpoint: customers, priority: 'interactive', ...wanted },
      isInFlight: false,
    };
    try {
      await pacer.begin(call, patienceMs);
      const { group, endpoint, priority } = call;
      started.push({ atMs: time.nowMs(), group, endpoint, priority });
      time.after(takesMs, () => pacer.end(call));
    } catch (error) {
      assert(error instanceof Failure);
      refused.push({ atMs: time.nowMs(), failure: error });
    }
    return call;
  };
  const requests = (count: number, wanted?: Wanted) => {
    for (let made = 0; made < count; made += 1) void request(wanted);
  };
  return { time, pacer, started, refused, request, requests, limits, waiting: () => waiting };
}

const timesOf = (started: readonly Started[]) => started.map(({ atMs }) => atMs);
const rate: RateLimit = { reason: 'endpoint-rate', retryAfterMs: undefined };

test('60 calls at once begin as fast as a limit of 25 a second allows, and no second has more', async () => {
  const { time, started, refused, requests, waiting } = setUp({ perSecond: 25 });
  requests(60);
  await time.runUntil(2_700);
  assert.equal(refused.length, 0);
  assert.equal(started.length, 60);
  assert.ok(mostInASecond(timesOf(started)) <= 25);
  assert.equal(waiting(), 0);
});

test('40 calls a second for 5 seconds all begin', async () => {
  const { time, started, refused, requests } = setUp({ perSecond: 25 });
  for (let made = 0; made < 200; made += 1) time.after(made * 25, () => requests(1));
  await time.runUntil(9_000);
  assert.deepEqual([started.length, refused.length], [200, 0]);
  assert.ok(mostInASecond(timesOf(started)) <= 25);
});

test('what cannot begin in time is refused at once, and says when to retry', async () => {
  const { time, started, refused, requests } = setUp({ perSecond: 25 });
  requests(200);
  await time.runUntil(0);
  // 22 a second, for six seconds, and the burst.
  assert.ok(Math.abs(200 - refused.length - 135) <= 3, `${200 - refused.length} accepted`);
  for (const { atMs, failure } of refused) {
    assert.equal(atMs, 0);
    assert.equal(failure.code, 'processor_unavailable');
    assert.equal(failure.extras.effect, 'none');
    assert.equal(failure.extras.retryAfterSeconds, 7);
  }
  await time.runUntil(7_000);
  assert.equal(started.length + refused.length, 200);
  assert.ok(timesOf(started).every((atMs) => atMs <= 6_000));
});

test('a flood of one application does not delay another', async () => {
  const { time, started, refused, requests } = setUp({ perSecond: 25 });
  requests(300, { group: 'flood' });
  requests(5, { group: 'quiet' });
  await time.runUntil(7_000);
  assert.equal(refused.length, 305 - started.length);
  const quiet = started.filter(({ group }) => group === 'quiet');
  assert.equal(quiet.length, 5);
  assert.ok(Math.max(...timesOf(quiet)) < 500, String(timesOf(quiet)));
});

test('background work waits behind requests, and never starves', async () => {
  const { time, started, requests } = setUp({ perSecond: 25 });
  requests(20, { priority: 'background', patienceMs: 60_000 });
  // More than the limit, for a minute.
  for (let made = 0; made < 1_800; made += 1) time.after(made * 33, () => requests(1));
  await time.runUntil(15_000);
  const background = timesOf(started.filter(({ priority }) => priority === 'background'));
  assert.equal(background.length, 20);
  assert.ok(Math.max(...background) > 5_000 && Math.max(...background) < 10_000, String(background));
});

test('an operation at its limit holds up no other', async () => {
  const { time, started, requests } = setUp({ perSecond: 100, isLive: true });
  requests(100);
  requests(15, { endpoint: 'GET /v1/customers/search' });
  await time.runUntil(1_000);
  const searched = started.filter(({ endpoint }) => endpoint.endsWith('/search'));
  assert.ok(Math.max(...timesOf(searched)) < 1_000);
  assert.equal(searched.length, 15);
  assert.ok(mostInASecond(timesOf(started.filter(({ endpoint }) => endpoint === customers))) <= 25);
});

test('without a limit nothing waits, and a call too many is refused at once', async () => {
  const { pacer, refused, requests, time, waiting } = setUp({ inFlightMax: 3 });
  const call: PacedCall = { group: '', endpoint: customers, priority: 'interactive', isInFlight: false };
  assert.equal(pacer.begin(call, 1_000), undefined);
  assert.equal(pacer.again(call, 1_000), undefined);
  requests(3);
  await time.runUntil(0);
  assert.deepEqual(
    refused.map(({ failure }) => failure.code),
    ['overloaded'],
  );
  assert.equal(waiting(), 0);
});

test('with a limit, calls above the number that may be in progress wait for others to end', async () => {
  const { time, started, requests } = setUp({ perSecond: 100, isLive: true, inFlightMax: 2 });
  requests(6, { takesMs: 500 });
  await time.runUntil(1_400);
  assert.deepEqual(timesOf(started), [0, 0, 500, 500, 1_000, 1_000]);
});

test('the first refusal of a processor without a stated limit lets its calls wait from then on', async () => {
  const { time, pacer, started, request, requests } = setUp({});
  const call = await request();
  requests(39);
  await time.runUntil(50);
  assert.equal(started.length, 40);
  pacer.learn(call, { reason: 'global-rate', retryAfterMs: undefined });
  const again = pacer.again(call, 5_000);
  requests(40);
  await time.runUntil(1_149);
  assert.equal(started.length, 40, 'the second of the refusal is used up');
  await time.runUntil(1_150);
  assert.equal(await again, true);
  await time.runUntil(3_000);
  assert.equal(started.length, 80);
  assert.ok(mostInASecond(timesOf(started.slice(40))) <= 25);
});

test('a call that is repeated comes before the others of its caller', async () => {
  const { time, pacer, request, requests, started } = setUp({ perSecond: 25 });
  const call = await request({ takesMs: 10_000 });
  requests(50);
  pacer.learn(call, rate);
  const again = pacer.again(call, 5_000);
  let repeatedMs = Number.NaN;
  void again?.then(() => {
    repeatedMs = time.nowMs();
  });
  await time.runUntil(1_000);
  assert.ok(repeatedMs < 100, `${repeatedMs} ms`);
  assert.ok(mostInASecond(timesOf(started)) <= 24);
});

test('a call that cannot be repeated in time is not, and leaves no place taken', async () => {
  const { time, pacer, request, requests, started } = setUp({ perSecond: 25, inFlightMax: 1 });
  const call = await request({ takesMs: 10_000 });
  pacer.learn(call, { ...rate, retryAfterMs: 2_000 });
  const again = pacer.again(call, 1_000);
  await time.runUntil(1_000);
  assert.equal(await again, false);
  pacer.end(call);
  requests(1);
  await time.runUntil(2_100);
  assert.equal(started.length, 2);
});

test('calls that wait are refused when the service stops', async () => {
  const { time, pacer, started, refused, requests, waiting } = setUp({ perSecond: 25 });
  requests(10);
  pacer.close();
  await time.runUntil(1_000);
  assert.deepEqual([started.length, refused.length, waiting()], [2, 8, 0]);
});

test('whatever arrives, no second has more than a limit, and every call begins or is refused in time', async () => {
  const arrival = fc.record({
    atMs: fc.nat({ max: 3_000 }),
    group: fc.constantFrom('a', 'b', 'c'),
    endpoint: fc.constantFrom(customers, 'GET /v1/customers/search', 'POST /v1/prices'),
    priority: fc.constantFrom<Priority>('interactive', 'background'),
    patienceMs: fc.constantFrom(0, 500, 2_000),
    takesMs: fc.nat({ max: 3_000 }),
  });
  const arrivals = fc.array(arrival, { maxLength: 150 });
  await assertProperty(
    fc.asyncProperty(arrivals, fc.integer({ min: 1, max: 60 }), async (calls, perSecond) => {
      const { time, started, refused, requests, waiting } = setUp({ perSecond, inFlightMax: 40 });
      for (const { atMs, ...wanted } of calls) time.after(atMs, () => requests(1, wanted));
      await time.runUntil(10_000);
      assert.equal(started.length + refused.length, calls.length);
      assert.equal(waiting(), 0);
      assert.ok(mostInASecond(timesOf(started)) <= perSecond);
      for (const endpoint of new Set(started.map((one) => one.endpoint))) {
        const ofEndpoint = started.filter((one) => one.endpoint === endpoint);
        assert.ok(mostInASecond(timesOf(ofEndpoint)) <= (endpoint.endsWith('/search') ? 20 : 25));
      }
    }),
    { short: 20, long: 400 },
  );
});
