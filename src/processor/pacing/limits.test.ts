import assert from 'node:assert/strict';
import { test } from 'node:test';
import { documentedLimits } from './documented-limits.ts';
import { LearnedLimit, Limits, type RateLimit } from './limits.ts';

test('a refusal lowers a limit by a call, a second of them by a tenth, and it rises again slowly', () => {
  const limit = new LearnedLimit({ stated: 100, documented: 25 });
  const perSecond = (nowMs: number) => Math.round(limit.perSecond(nowMs) ?? 0);
  assert.equal(perSecond(0), 100);
  limit.lowerRate(0, undefined);
  assert.equal(perSecond(0), 99);
  for (let refused = 0; refused < 50; refused += 1) limit.lowerRate(500, undefined);
  assert.equal(perSecond(500), 90);
  limit.lowerRate(1_000, undefined);
  assert.equal(perSecond(1_000), 89);
  assert.equal(perSecond(4_000), 89);
  assert.equal(perSecond(8_000), 97);
  assert.equal(perSecond(60_000), 100);
  for (let at = 100_000; at < 200_000; at += 100) limit.lowerRate(at, undefined);
  assert.equal(perSecond(200_000), 10, 'some calls always begin');
});

test('refusals of calls that were sent before a pause lower nothing', () => {
  const limit = new LearnedLimit({ stated: 100, documented: 25 });
  limit.lowerRate(0, 2_000);
  limit.lowerRate(1_999, 9_000);
  assert.equal(limit.pausedUntilMs, 2_000);
  assert.equal(Math.round(limit.perSecond(2_000) ?? 0), 99);
});

test('without a stated limit, the documented one holds after the first refusal, and is forgotten', () => {
  const limit = new LearnedLimit({ stated: undefined, documented: 25 });
  assert.equal(limit.isActive(0), false);
  assert.equal(limit.perSecond(0), undefined);
  limit.lowerRate(10, undefined);
  assert.equal(limit.perSecond(10), 25);
  assert.equal(limit.pausedUntilMs, 1_110, 'the current second is used up');
  assert.equal(limit.perSecond(600_009), 25);
  assert.equal(limit.perSecond(600_010), undefined);
  assert.equal(limit.isActive(600_010), false);
});

test('a pause is as long as the processor says, up to half a minute', () => {
  const limit = new LearnedLimit({ stated: 100, documented: 25 });
  limit.lowerRate(0, 2_000);
  assert.equal(limit.pausedUntilMs, 2_000);
  limit.lowerRate(2_000, 3_600_000);
  assert.equal(limit.pausedUntilMs, 32_000);
});

test('a limit of concurrent calls is learned from how many there were, and rises by one at a time', () => {
  const limit = new LearnedLimit({ stated: undefined, documented: 25 });
  assert.equal(limit.inFlightMax(0), Number.POSITIVE_INFINITY);
  limit.lowerInFlight(0, 21);
  assert.equal(limit.inFlightMax(0), 18);
  limit.lowerInFlight(100, 10);
  assert.equal(limit.inFlightMax(100), 9);
  assert.equal(limit.inFlightMax(10_100), 11);
  for (let second = 1; second < 50; second += 1) limit.lowerInFlight(second * 10_000, 1);
  assert.equal(limit.inFlightMax(490_000), 1, 'one call may always be in progress');
  assert.equal(limit.isActive(2_000_000), false);
});

test('each refusal lowers the limit that it names', () => {
  const inFlight = { all: 10, endpoint: 5 };
  const learn = (reason: RateLimit['reason']) => {
    const limits = new Limits({ documented: documentedLimits(true), perSecond: 100 });
    limits.learn('POST /v1/customers', { reason, retryAfterMs: undefined }, 0, inFlight);
    const { all } = limits;
    const [own, other] = [limits.of('POST /v1/customers'), limits.of('GET /v1/customers/search')];
    const rates = [all, own, other].map((limit) => Math.round(limit.perSecond(0) ?? 0));
    return [...rates, all.inFlightMax(0), own.inFlightMax(0)];
  };
  const none = Number.POSITIVE_INFINITY;
  assert.deepEqual(learn('global-rate'), [99, 25, 20, none, none]);
  assert.deepEqual(learn('endpoint-rate'), [100, 24, 20, none, none]);
  assert.deepEqual(learn('global-concurrency'), [100, 25, 20, 8, none]);
  assert.deepEqual(learn('endpoint-concurrency'), [100, 25, 20, none, 3]);
  assert.deepEqual(learn('resource-specific'), [100, 25, 20, none, none]);
});
