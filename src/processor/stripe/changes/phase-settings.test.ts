import assert from 'node:assert/strict';
import { test } from 'node:test';
import { WireObject } from '../wire/wire-object.ts';
import { itemSettings, settingsOf, taxOf } from './phase-settings.ts';

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
