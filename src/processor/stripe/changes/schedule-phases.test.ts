import assert from 'node:assert/strict';
import { test } from 'node:test';
import { UnmappableError } from '../../port/event-facts.ts';
import type { PlannedChange } from '../../port/subscription-changes.ts';
import { WireObject } from '../wire/wire-object.ts';
import {
  isScheduleSpent,
  itemSettings,
  phasesWithChange,
  phasesWithMethod,
  scheduledMethods,
  settingsOf,
  taxOf,
} from './schedule-phases.ts';

const item = {
  id: 'si_1',
  price: { id: 'price_1' },
  quantity: 2,
  metadata: { seat: 'a' },
  current_period_end: 200,
};

const phase = {
  start_date: 100,
  end_date: 250,
  items: [{ price: 'price_1', quantity: 2 }],
  discounts: [],
  default_payment_method: null,
  metadata: { ours: 'no' },
  collection_method: null,
  default_tax_rates: [{ id: 'txr_1' }],
  trial_end: null,
};

const later = {
  ...phase,
  ...{ start_date: 250, end_date: 300, items: [{ price: { id: 'price_2' }, quantity: 1 }] },
  discounts: [{ coupon: 'co_1', discount: null, promotion_code: null }],
  proration_behavior: 'none',
};

function subscription(more: object = {}, schedule: object = {}): WireObject {
  return WireObject.parse(
    {
      id: 'sub_1',
      status: 'active',
      items: { data: [item] },
      discounts: ['di_1', { id: 'di_2' }],
      default_payment_method: 'pm_1',
      trial_end: 90,
      cancel_at: null,
      schedule: {
        id: 'sub_sched_1',
        current_phase: { start_date: 100, end_date: 250 },
        default_settings: { default_payment_method: 'pm_0' },
        phases: [{ ...phase, start_date: 50, end_date: 100 }, phase, later],
        ...schedule,
      },
      ...more,
    },
    'subscription',
  );
}

const change: PlannedChange = {
  items: [{ processorItemId: 'si_1', processorPriceId: 'price_3', quantity: 5 }],
  processorMainItemId: 'si_1',
  interval: 'month',
  intervalCount: 3,
  startsCycle: false,
};

const carriedOver = {
  default_tax_rates: ['txr_1'],
  default_payment_method: 'pm_1',
  discounts: [{ discount: 'di_1' }, { discount: 'di_2' }],
};

test('a change comes at the end of the period, and until then the subscription stays as it is', () => {
  assert.deepEqual(phasesWithChange(subscription(), change), [
    {
      ...carriedOver,
      items: [{ price: 'price_1', quantity: 2, metadata: { seat: 'a' } }],
      ...{ start_date: 100, end_date: 200 },
    },
    {
      ...carriedOver,
      items: [{ price: 'price_3', quantity: 5, metadata: { seat: 'a' } }],
      proration_behavior: 'none',
      duration: { interval: 'month', interval_count: 3 },
    },
  ]);
});

test('a trial stays, a new cycle starts with the change, and a requested end stays', () => {
  const [now, next] = phasesWithChange(
    subscription({ status: 'trialing', trial_end: 200, cancel_at: 900, discounts: [] }),
    { ...change, startsCycle: true },
  );
  assert.deepEqual([now?.trial_end, next?.trial_end, now?.discounts], [200, undefined, undefined]);
  assert.deepEqual(
    [next?.billing_cycle_anchor, next?.end_date, next?.duration],
    ['phase_start', 900, undefined],
  );
});

test('other items stay, a metered one without a quantity, and a missing main item is an error', () => {
  const { quantity: _, ...metered } = item;
  const data = [item, { ...metered, id: 'si_9', price: 'price_9', metadata: {} }];
  const [now, next] = phasesWithChange(subscription({ items: { data } }), change);
  assert.deepEqual(now?.items.at(-1), { price: 'price_9' });
  assert.deepEqual(next?.items, [
    { price: 'price_3', quantity: 5, metadata: { seat: 'a' } },
    { price: 'price_9' },
  ]);
  assert.throws(
    () => phasesWithChange(subscription(), { ...change, processorMainItemId: 'si_8' }),
    UnmappableError,
  );
});

test('settings of the phase and of its items stay, but a new price has no thresholds of usage', () => {
  const tax = { automatic_tax: { disabled_reason: null, enabled: true, liability: { type: 'self' } } };
  const withSettings = { ...phase, ...tax, invoice_settings: { days_until_due: 14, issuer: null } };
  const [current, last] = [withSettings, { ...withSettings, ...{ start_date: 250, end_date: 300 } }];
  const first = { ...item, discounts: ['di_3'], billing_thresholds: { usage_gte: 9 } };
  const found = subscription({ items: { data: [first] } }, { phases: [current, last] });
  const phases = [...phasesWithChange(found, change), ...phasesWithMethod(found, 'pm_2')];
  for (const one of phases) {
    assert.deepEqual(one.automatic_tax, { enabled: true, liability: { type: 'self' } });
    assert.deepEqual(one.invoice_settings, { days_until_due: 14 });
  }
  const discounts = [{ discount: 'di_3' }];
  const kept = { price: 'price_1', quantity: 2, metadata: { seat: 'a' }, discounts };
  assert.deepEqual(phases[0]?.items, [{ ...kept, billing_thresholds: { usage_gte: 9 } }]);
  assert.deepEqual(phases[1]?.items, [{ ...kept, price: 'price_3', quantity: 5 }]);
});

test('items are added, changed and removed together, and the mark names the main plan', () => {
  const others = ['si_2', 'si_3'].map((id) => ({ ...item, id, price: `price_of_${id}`, metadata: {} }));
  const [, next] = phasesWithChange(subscription({ items: { data: [item, ...others] } }), {
    ...change,
    items: [
      { processorItemId: 'si_2', quantity: 7 },
      { processorItemId: null, processorPriceId: 'price_4', quantity: 1 },
      { processorItemId: 'si_3', isRemoved: true },
    ],
    mainMark: 'price_4',
  });
  assert.deepEqual(next?.items, [
    { price: 'price_1', quantity: 2, metadata: { seat: 'a' } },
    { price: 'price_of_si_2', quantity: 7 },
    { price: 'price_4', quantity: 1 },
  ]);
  assert.deepEqual(next?.metadata, { till_main: 'price_4' });
});

test('another payment method is set in the current phase and all later ones, and nothing else changes', () => {
  const [now, next, ...others] = phasesWithMethod(subscription(), 'pm_2');
  assert.deepEqual(others, []);
  assert.deepEqual([now?.start_date, now?.end_date, now?.default_payment_method], [100, 250, 'pm_2']);
  assert.deepEqual(next, {
    default_tax_rates: ['txr_1'],
    ...{ proration_behavior: 'none', metadata: { ours: 'no' } },
    items: [{ price: 'price_2', quantity: 1 }],
    ...{ start_date: 250, end_date: 300 },
    discounts: [{ coupon: 'co_1' }],
    default_payment_method: 'pm_2',
  });
});

test('a schedule charges the payment method of the phase, else of the schedule, else the default of the customer', () => {
  assert.deepEqual(scheduledMethods(subscription()), ['pm_0', 'pm_0']);
  const none = { default_settings: { default_payment_method: null } };
  assert.deepEqual(scheduledMethods(subscription({}, none)), [null, null]);
  const phases = [phase, { ...later, default_payment_method: 'pm_7' }];
  assert.deepEqual(scheduledMethods(subscription({}, { phases })), ['pm_0', 'pm_7']);
  assert.deepEqual(scheduledMethods(subscription({}, { current_phase: null })), []);
  for (const schedule of [null, 'sub_sched_1'])
    assert.deepEqual(scheduledMethods(subscription({ schedule })), []);
});

test('a schedule is spent in its last phase, if the subscription then continues and nothing else is planned', () => {
  const inLastPhase = { end_behavior: 'release', current_phase: { start_date: 250, end_date: 300 } };
  const isSpent = (values: object | null | string) =>
    isScheduleSpent(
      typeof values === 'object' && values !== null
        ? subscription({}, { ...inLastPhase, ...values })
        : subscription({ schedule: values }),
    );
  assert.equal(isSpent({}), true);
  for (const values of [
    { current_phase: { start_date: 100, end_date: 250 } },
    { end_behavior: 'cancel' },
    { current_phase: null },
    { pause_schedules: [{ key: 'summer' }] },
    // A change creates its schedule with a single phase, and adds the other one with a second call.
    { phases: [later] },
    null,
    'sub_sched_1',
  ])
    assert.equal(isSpent(values), false, JSON.stringify(values));
});

const parse = (value: object) => WireObject.parse(value, 'phase');

test('the settings of a phase become parameters, with ids instead of objects and without what is not set', () => {
  const account = { id: 'acct_1', object: 'account' };
  const phase = parse({
    collection_method: 'send_invoice',
    description: 'Seats',
    application_fee_percent: 2.5,
    default_tax_rates: [{ id: 'txr_1' }],
    billing_thresholds: { amount_gte: 1_000, reset_billing_cycle_anchor: null },
    invoice_settings: {
      account_tax_ids: [{ id: 'txi_1' }, 'txi_2'],
      custom_fields: [{ name: 'Order', value: '7' }],
      ...{ days_until_due: 14, description: null, footer: 'Thanks' },
      issuer: { type: 'account', account },
    },
    on_behalf_of: account,
    transfer_data: { destination: account, amount_percent: null },
    add_invoice_items: [{ price: 'price_1' }],
  });
  assert.deepEqual(settingsOf(phase), {
    collection_method: 'send_invoice',
    description: 'Seats',
    application_fee_percent: 2.5,
    default_tax_rates: ['txr_1'],
    billing_thresholds: { amount_gte: 1_000 },
    invoice_settings: {
      account_tax_ids: ['txi_1', 'txi_2'],
      custom_fields: [{ name: 'Order', value: '7' }],
      ...{ days_until_due: 14, footer: 'Thanks' },
      issuer: { type: 'account', account: 'acct_1' },
    },
    on_behalf_of: 'acct_1',
    transfer_data: { destination: 'acct_1' },
  });
  const unset = {
    ...{ billing_thresholds: null, on_behalf_of: null, transfer_data: null, default_tax_rates: [] },
    invoice_settings: { account_tax_ids: null, custom_fields: null, days_until_due: null, issuer: null },
  };
  assert.deepEqual([settingsOf(parse(unset)), settingsOf(parse({}))], [{}, {}]);
});

test('the running phase has the tax of the subscription, and a later one its own', () => {
  const tax = (enabled: boolean, more: object = {}) =>
    parse({ automatic_tax: { disabled_reason: null, enabled, liability: null, ...more } });
  const liability = { type: 'self' };
  const on = { automatic_tax: { enabled: true, liability } };
  const off = { automatic_tax: { enabled: false } };
  assert.deepEqual(taxOf(tax(true, { liability }), parse({})), on, 'by default_settings');
  assert.deepEqual(taxOf(tax(false), parse({})), {});
  assert.deepEqual(taxOf(tax(false), tax(true)), off, 'the processor has disabled it');
  assert.deepEqual(taxOf(null, tax(true, { liability })), on);
  assert.deepEqual(taxOf(null, tax(false)), off);
  assert.deepEqual(taxOf(null, parse({})), {});
});

test('an item keeps its discounts, thresholds, tax rates and metadata', () => {
  const ofSubscription = {
    discounts: ['di_1', { id: 'di_2', object: 'discount', promotion_code: 'promo_1' }],
    billing_thresholds: { usage_gte: 50 },
    tax_rates: [{ id: 'txr_1' }],
    metadata: { seat: 'a' },
  };
  assert.deepEqual(itemSettings(parse(ofSubscription)), {
    discounts: [{ discount: 'di_1' }, { discount: 'di_2' }],
    billing_thresholds: { usage_gte: 50 },
    tax_rates: ['txr_1'],
    metadata: { seat: 'a' },
  });
  const discounts = [{ coupon: { id: 'co_1' }, discount: null, promotion_code: null }];
  const ofPhase = { discounts, billing_thresholds: null, tax_rates: [], metadata: {} };
  assert.deepEqual(itemSettings(parse(ofPhase)), { discounts: [{ coupon: 'co_1' }] });
});
