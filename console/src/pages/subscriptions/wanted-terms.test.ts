import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Plan } from '@till/client';
import {
  changeBody,
  costText,
  parseQuantity,
  selectableAddOns,
  selectablePlans,
  type WantedTerms,
} from './wanted-terms.ts';

const current = { planId: 'gold', quantity: 1, addOns: [{ planId: 'seats', quantity: 2 }] };
const addOns = [{ planId: 'seats', quantity: '2' }];
const wanted: WantedTerms = { planId: 'gold', quantity: '3', addOns, when: 'now', proration: 'invoice' };

test('a quantity is a whole number that the API accepts', () => {
  assert.deepEqual(['1', ' 12 ', '1000000', '0', '1000001', '1.5', '-1', '', 'x'].map(parseQuantity), [
    1,
    12,
    1_000_000,
    undefined,
    undefined,
    undefined,
    undefined,
    undefined,
    undefined,
  ]);
});

test('a change sends plan, quantity and add-ons, and the proration only if it happens now', () => {
  assert.deepEqual(changeBody(wanted, current), {
    planId: 'gold',
    quantity: 3,
    addOns: current.addOns,
    when: 'now',
    proration: 'invoice',
  });
  assert.deepEqual(changeBody({ ...wanted, when: 'periodEnd' }, current), {
    planId: 'gold',
    quantity: 3,
    addOns: current.addOns,
    when: 'periodEnd',
  });
});

test('inputs that change nothing, or are not valid, send nothing', () => {
  assert.equal(changeBody({ ...wanted, quantity: '1' }, current), undefined);
  assert.equal(changeBody({ ...wanted, quantity: '0' }, current), undefined);
  assert.equal(changeBody({ ...wanted, addOns: [{ planId: 'seats', quantity: 'x' }] }, current), undefined);
});

test('add-ons alone can change: their number, their quantity, and none', () => {
  const same = { ...wanted, quantity: '1' };
  for (const some of [
    [],
    [{ planId: 'seats', quantity: '3' }],
    [...addOns, { planId: 'support', quantity: '1' }],
    [{ planId: 'support', quantity: '2' }],
  ])
    assert.deepEqual(
      changeBody({ ...same, addOns: some }, current)?.addOns,
      some.map(({ planId, quantity }) => ({ planId, quantity: Number(quantity) })),
    );
});

test('a subscription can have active add-ons with the currency and interval of its plan, and keep its own', () => {
  const plan = (id: string, values: Partial<Plan> = {}) =>
    ({
      ...{ id, name: id, active: true, addOn: true, currency: 'eur', amount: 900, interval: 'month' },
      ...{ intervalCount: 1, ...values },
    }) as Plan;
  const plans = [
    ...[plan('main', { addOn: false }), plan('seats'), plan('yearly', { interval: 'year' })],
    ...[plan('yen', { currency: 'jpy' }), plan('gone', { active: false }), plan('old', { active: false })],
    plan('quarterly', { intervalCount: 3 }),
  ];
  const [main] = plans;
  const selectable = selectableAddOns(plans, main, [{ planId: 'old', quantity: 1 }]);
  assert.deepEqual(
    selectable.map(({ id }) => id),
    ['old', 'seats'],
  );
});

test('a subscription can change to active plans in its currency, and keep an archived one', () => {
  const plan = (id: string, values: Partial<Plan> = {}) =>
    ({ id, name: id, active: true, currency: 'eur', amount: 900, ...values }) as Plan;
  const old = plan('old', { active: false });
  const plans = [
    ...[plan('silver'), plan('yen', { currency: 'jpy' }), plan('gone', { active: false }), old],
    plan('seats', { addOn: true }),
  ];
  assert.deepEqual(
    selectablePlans(plans, old).map(({ id }) => id),
    ['old', 'silver'],
  );
});

test('the cost of a change says what is charged now, to which card, or when the next invoice comes', () => {
  const around = { card: 'Visa •••• 4242', currentPeriodEnd: '2026-12-15T09:30:00.000Z' };
  const preview = { amountDue: 1_800, currency: 'eur', billedNow: true };
  assert.match(costText(preview, { when: 'now', proration: 'invoice' }, around)[0] ?? '', /18\.00.*4242 now/);
  assert.match(
    costText(preview, { when: 'now', proration: 'none' }, around)[0] ?? '',
    /new period starts now/,
  );
  assert.deepEqual(costText({ ...preview, amountDue: 0 }, { when: 'now', proration: 'invoice' }, around), [
    'Nothing is charged now: credits cover the invoice that is created now.',
  ]);
  const [later = ''] = costText({ ...preview, billedNow: false }, { when: 'periodEnd' }, around);
  assert.match(later, /^Nothing is charged now\. The next invoice on .*2026.* is .*18\.00\.$/);
});
