import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { entitlementOf, mergeFeatures } from './entitlement.ts';
import type { PlanFeatures } from './plan-features.ts';

const [periodEnd, trialEnd, paidUntil] = ['2026-03-01', '2026-02-01', '2026-02-10'].map(
  (day) => new Date(`${day}T00:00:00Z`),
) as [Date, Date, Date];
const terms = { currentPeriodEnd: periodEnd, trialEnd, paidUntil };

describe('grace', () => {
  const judge = (days: number, now: string) =>
    entitlementOf({ ...terms, status: 'past_due' }, { days, now: new Date(now) });

  test('lasts until the paid end plus the days, to the millisecond', () => {
    const until = new Date('2026-02-13T00:00:00Z');
    assert.deepEqual(judge(3, '2026-02-12T23:59:59.999Z'), { entitled: true, reason: 'grace', until });
    assert.deepEqual(judge(3, '2026-02-13T00:00:00Z'), { entitled: false, reason: 'past_due', until });
  });

  test('of no days ends with the paid period, which may still run', () => {
    assert.equal(judge(0, '2026-02-09T23:59:59Z').reason, 'grace');
    assert.equal(judge(0, '2026-02-10T00:00:00Z').reason, 'past_due');
  });

  test('needs a paid end', () => {
    const unknown = entitlementOf(
      { ...terms, status: 'past_due', paidUntil: null },
      { days: 365, now: new Date('2026-02-01T00:00:00Z') },
    );
    assert.deepEqual(unknown, { entitled: false, reason: 'past_due', until: null });
  });
});

test('active and trialing follow the status, not the clock', () => {
  const late = { days: 0, now: new Date('2030-01-01T00:00:00Z') };
  assert.deepEqual(entitlementOf({ ...terms, status: 'active' }, late), {
    ...{ entitled: true, reason: 'active', until: periodEnd },
  });
  assert.deepEqual(entitlementOf({ ...terms, status: 'trialing' }, late), {
    ...{ entitled: true, reason: 'trialing', until: trialEnd },
  });
});

describe('features of several plans', () => {
  const cases: readonly (readonly [string, readonly PlanFeatures[], PlanFeatures])[] = [
    ['are those of all of them', [{ a: true }, { b: 1 }], { a: true, b: 1 }],
    ['are true if one is', [{ a: false }, { a: true }], { a: true }],
    ['are false if none is true', [{ a: false }, { a: false }], { a: false }],
    ['have the largest integer', [{ a: -3 }, { a: 7 }, { a: 0 }], { a: 7 }],
    ["have the newest subscription's text", [{ b: 1 }, { a: 'new' }, { a: 'old' }], { a: 'new', b: 1 }],
    ['of mixed types are those of the newest', [{ a: false }, { a: 9 }, { a: true }], { a: false }],
    ['of mixed types are those of the newest, whichever it is', [{ a: 'x' }, { a: true }], { a: 'x' }],
    ['are none without a plan', [], {}],
    ['may have any name', [{ constructor: 1 }, { constructor: 2 }], { constructor: 2 }],
  ];
  for (const [name, newestFirst, merged] of cases)
    test(name, () => assert.deepEqual(mergeFeatures(newestFirst), merged));
});
