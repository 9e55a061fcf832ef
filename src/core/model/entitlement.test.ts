import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import fc from 'fast-check';
import { assertProperty } from '../../../test/support/seeds.ts';
import { type AddOnFeatures, entitlementOf, joinAddOns, mergeFeatures } from './entitlement.ts';
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

describe('features of a main plan and its add-ons', () => {
  const max = Number.MAX_SAFE_INTEGER;
  const one = (features: PlanFeatures, quantity = 1) => ({ features, quantity });
  const cases: readonly (readonly [string, PlanFeatures, readonly AddOnFeatures[], PlanFeatures])[] = [
    ["are the main plan's without add-ons", { a: 5, b: true }, [], { a: 5, b: true }],
    ['are true if one is', { a: false, b: true }, [one({ a: true, b: false })], { a: true, b: true }],
    ['are false if none is true', { a: false }, [one({ a: false })], { a: false }],
    ['add up to the units of each add-on', { a: 5 }, [one({ a: 1 }, 3), one({ a: 10 }, 2)], { a: 28 }],
    ['add up without the main plan too', {}, [one({ a: 1 }, 3), one({ a: 10 }, 2)], { a: 23 }],
    ['can be reduced', { a: 5 }, [one({ a: -2 }, 2)], { a: 1 }],
    ['are unlimited if the main plan says so', { a: true }, [one({ a: 5 })], { a: true }],
    ['are unlimited if an add-on says so', { a: 5 }, [one({ a: 1 }), one({ a: true })], { a: true }],
    ['are unlimited if one of two add-ons says so', {}, [one({ a: 1 }), one({ a: true })], { a: true }],
    ["have the main plan's text", { a: 'email' }, [one({ a: 'phone' })], { a: 'email' }],
    ["have the first add-on's text otherwise", {}, [one({ a: 'phone' }), one({ a: 'fax' })], { a: 'phone' }],
    [
      "of mixed types are the main plan's",
      { a: 'x', b: false, c: 1 },
      [one({ a: true, b: 5, c: 'y' })],
      {
        ...{ a: 'x', b: false, c: 1 },
      },
    ],
    ['stop at the largest integer', { a: max }, [one({ a: max }, 1_000_000)], { a: max }],
    ['stop only once all are added', { a: max }, [one({ a: 1 }), one({ a: -1 })], { a: max }],
    ['stop at the smallest integer', { a: -max }, [one({ a: -max }, 2)], { a: -max }],
    ['may have any name', { constructor: 1 }, [one({ constructor: 2 })], { constructor: 3 }],
  ];
  for (const [name, main, addOns, joined] of cases)
    test(name, () => assert.deepEqual(joinAddOns(main, addOns), joined));

  const integer = fc.maxSafeInteger();
  const features = fc.dictionary(
    fc.constantFrom('a', 'b', '__proto__'),
    fc.oneof(fc.boolean(), integer, fc.string({ maxLength: 3 })),
  );
  const anyAddOns = fc.array(fc.record({ features, quantity: fc.integer({ min: 1, max: 1_000_000 }) }), {
    maxLength: 19,
  });

  test('are those of all plans, and keep the type that the main plan gives them unless they are unlimited', () =>
    assertProperty(
      fc.property(features, anyAddOns, (main, addOns) => {
        const joined = joinAddOns(main, addOns);
        const all = [main, ...addOns.map((addOn) => addOn.features)].flatMap(Object.keys);
        assert.deepEqual(Object.keys(joined).toSorted(), [...new Set(all)].toSorted());
        for (const [name, value] of Object.entries(joined)) {
          assert.ok(typeof value !== 'number' || Number.isSafeInteger(value));
          const own = Object.entries(main).find(([key]) => key === name)?.[1];
          if (own !== undefined && value !== true) assert.equal(typeof value, typeof own);
          if (own === true || typeof own === 'string') assert.equal(value, own);
        }
      }),
    ));

  test('do not depend on the order of add-ons whose values have one type', () =>
    assertProperty(
      fc.property(fc.constantFrom(fc.boolean(), integer).chain(ofOneType), ([main, addOns]) => {
        assert.deepEqual(joinAddOns(main, addOns), joinAddOns(main, addOns.toReversed()));
      }),
    ));
});

function ofOneType(value: fc.Arbitrary<boolean> | fc.Arbitrary<number>) {
  const features = fc.record({ a: value as fc.Arbitrary<boolean | number> });
  return fc.tuple(features, fc.array(fc.record({ features, quantity: fc.integer({ min: 1, max: 9 }) })));
}
