import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { eventFixture } from '../../../../test/fixtures/event-fixture.ts';
import { atSecond } from '../../../../test/support/transitions.ts';
import { mapSubscription } from './map-subscription.ts';

const asOf = atSecond(1_000);
const { object } = JSON.parse(eventFixture('customer.subscription.updated.newer')).data;
const map = (more: object) => mapSubscription({ ...object, ...more }, asOf);

describe('the discount of a subscription', () => {
  const coupon = { id: 'c1', object: 'coupon', percent_off: 12.5, amount_off: null, currency: null };
  const discount = {
    ...{ id: 'di_1', object: 'discount', end: 86_400 },
    source: { type: 'coupon', coupon },
    promotion_code: { id: 'promo_1', object: 'promotion_code', code: 'WELCOME' },
  };

  test('is the first one of a response', () => {
    assert.deepEqual(map({ discounts: [discount, { ...discount, id: 'di_2' }] }).discount, {
      ...{ processorDiscountId: 'di_1', code: 'WELCOME', percentOff: 12.5, amountOff: null, currency: null },
      endsAt: '1970-01-02T00:00:00.000Z',
    });
  });

  test('of an amount has a currency, and may have neither a code nor an end', () => {
    const off = { ...coupon, percent_off: null, amount_off: 500, currency: 'EUR' };
    const plain = { ...discount, end: null, promotion_code: null, source: { type: 'coupon', coupon: off } };
    assert.deepEqual(map({ discounts: [plain] }).discount, {
      ...{ processorDiscountId: 'di_1', code: null, percentOff: null, amountOff: 500, currency: 'eur' },
      endsAt: null,
    });
  });

  test('of an event is only its id, in both shapes', () => {
    assert.deepEqual(map({ discounts: ['di_1'] }).discount, { processorDiscountId: 'di_1' });
    assert.deepEqual(map({ discount }).discount, { processorDiscountId: 'di_1' });
    for (const none of [{ discounts: [] }, { discount: null }, {}]) assert.equal(map(none).discount, null);
  });

  describe('for one invoice, which the latest invoice has used,', () => {
    const once = {
      ...discount,
      end: null,
      source: { type: 'coupon', coupon: { ...coupon, duration: 'once' } },
    };
    const forever = { ...discount, source: { type: 'coupon', coupon: { ...coupon, duration: 'forever' } } };
    const usedBy = (invoice: unknown) => map({ discounts: [], latest_invoice: invoice }).usedDiscount;
    const invoice = { id: 'in_1', object: 'invoice', status: 'open', discounts: [forever, once] };
    const used = {
      ...{ processorDiscountId: 'di_1', code: 'WELCOME', percentOff: 12.5, amountOff: null, currency: null },
      ...{ endsAt: null, isOnce: true, usedBy: 'in_1' },
    };

    test('is that of an invoice that can be paid or is paid', () => {
      for (const status of ['open', 'draft', 'paid']) assert.deepEqual(usedBy({ ...invoice, status }), used);
      for (const status of ['void', 'uncollectible']) assert.equal(usedBy({ ...invoice, status }), null);
      assert.equal(usedBy({ ...invoice, discounts: [forever] }), null);
      assert.equal(usedBy(null), null);
    });

    test('is only its id in a list, if the invoice can be paid, and unknown in an event', () => {
      assert.deepEqual(usedBy({ ...invoice, discounts: ['di_1'] }), { processorDiscountId: 'di_1' });
      assert.equal(usedBy({ ...invoice, status: 'paid', discounts: ['di_1'] }), null);
      assert.equal(usedBy('in_1'), undefined);
    });
  });
});

describe('the pending change of a subscription', () => {
  const [item] = object.items.data;
  const phase = (start: number, price: unknown, quantity = 1) => ({
    ...{ start_date: start, end_date: start + 100, items: [{ price, quantity }] },
  });
  const schedule = (...phases: readonly object[]) => ({
    schedule: {
      ...{ id: 'sub_sched_1', object: 'subscription_schedule', current_phase: phases[0] },
      phases: phases.toReversed(),
    },
  });

  test('waits for the customer if the processor holds an update back', () => {
    const update = { subscription_items: [{ ...item, price: 'price_2', quantity: 3 }], expires_at: 1 };
    assert.deepEqual(map({ pending_update: update, schedule: 'sub_sched_1' }).pendingChange, {
      items: [{ processorItemId: 'si_1', processorPriceId: 'price_2', quantity: 3 }],
      ...{ mainMark: null, at: null },
    });
    const other = map({ pending_update: { subscription_items: null, trial_end: 5 } }).pendingChange;
    assert.equal(other?.items[0].processorPriceId, 'price_1');
  });

  test('is the next phase with another price or quantity', () => {
    const [now, same, next] = [phase(0, 'price_1'), phase(100, 'price_1'), phase(200, { id: 'price_2' }, 2)];
    assert.deepEqual(map(schedule(now, same, next)).pendingChange, {
      items: [{ processorItemId: null, processorPriceId: 'price_2', quantity: 2 }],
      ...{ mainMark: null, at: new Date(200_000) },
    });
    assert.equal(map(schedule(now, phase(100, 'price_1', 4))).pendingChange?.items[0].quantity, 4);
    for (const none of [schedule(now), schedule(now, same), { schedule: null }, {}])
      assert.equal(map(none).pendingChange, null);
  });

  test('is a phase with the same items and another main plan', () => {
    const marked = { ...phase(100, 'price_1'), metadata: { till_main: 'price_1' } };
    const change = schedule(phase(0, 'price_1'), marked);
    assert.equal(map(change).pendingChange?.mainMark, 'price_1');
    assert.equal(map({ ...change, metadata: { till_main: 'price_1' } }).pendingChange, null);
  });

  test('is unknown if an event shows only the id of the schedule', () => {
    assert.equal(map({ schedule: 'sub_sched_1' }).pendingChange, undefined);
    assert.equal(map({ schedule: 'sub_sched_1', status: 'canceled' }).pendingChange, null, 'it has ended');
  });
});
