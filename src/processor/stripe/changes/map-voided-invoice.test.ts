import assert from 'node:assert/strict';
import { test } from 'node:test';
import { mapVoidedInvoice } from './map-voided-invoice.ts';

const owner = { customer: 'cus_1', subscription: 'sub_1', invoice: null, invoice_item: null };
const coupon = {
  ...{ id: 'HALF', object: 'coupon', name: 'Half', duration: 'once', percent_off: 50, amount_off: null },
  ...{ currency: null, max_redemptions: null, metadata: {} },
};
const discount = {
  ...{ id: 'di_1', object: 'discount', ...owner, subscription_item: null },
  source: { type: 'coupon', coupon },
  promotion_code: { id: 'promo_1', object: 'promotion_code', code: 'SAVE', max_redemptions: null },
};

const mapped = (...discounts: readonly unknown[]) =>
  mapVoidedInvoice({
    ...{ id: 'in_1', object: 'invoice', status: 'void', created: 1_800_000_000, discounts },
    parent: { type: 'subscription_details', subscription_details: { subscription: 'sub_1' } },
  });

test('a voided invoice shows its discounts for one invoice, with all that creates them again', () => {
  const products = { applies_to: { products: ['prod_1'] } };
  const amount = { ...coupon, percent_off: null, amount_off: 300, currency: 'eur', ...products };
  const ofCustomer = {
    ...{ ...discount, id: 'di_2', subscription: null, promotion_code: null },
    source: { type: 'coupon', coupon: { ...amount, max_redemptions: 5 } },
  };
  const invoice = mapped(discount, ofCustomer);
  assert.deepEqual(
    [invoice.processorInvoiceId, invoice.processorSubscriptionId, invoice.status, invoice.discountIds],
    ['in_1', 'sub_1', 'void', ['di_1', 'di_2']],
  );
  assert.equal(invoice.createdAt.getTime(), 1_800_000_000_000);
  const terms = { id: 'HALF', name: 'Half', percentOff: 50, amountOff: null, currency: null, products: null };
  assert.deepEqual(invoice.onceDiscounts, [
    {
      ...{ processorDiscountId: 'di_1', processorSubscriptionId: 'sub_1', coupon: terms },
      ...{ promotionCodeId: 'promo_1', code: 'SAVE', isLimited: false },
    },
    {
      ...{ processorDiscountId: 'di_2', processorSubscriptionId: null },
      coupon: { ...terms, percentOff: null, amountOff: 300, currency: 'eur', products: ['prod_1'] },
      ...{ promotionCodeId: null, code: null, isLimited: true },
    },
  ]);
});

test('a limited code, and a coupon of Till with the code that it replaces, are recognized', () => {
  const limited = { ...discount, promotion_code: { ...discount.promotion_code, max_redemptions: 1 } };
  const ours = { ...coupon, max_redemptions: 1, metadata: { till_restores: 'di_0', till_code: 'SAVE' } };
  const restored = { ...discount, promotion_code: null, source: { type: 'coupon', coupon: ours } };
  const shown = mapped(limited, restored).onceDiscounts;
  assert.deepEqual(
    shown.map(({ code, isLimited }) => [code, isLimited]),
    [
      ['SAVE', true],
      ['SAVE', true],
    ],
  );
});

test('other discounts are not restored: ids, longer ones, and those of the invoice or an item', () => {
  const others = [
    'di_3',
    null,
    { ...discount, source: { type: 'coupon', coupon: { ...coupon, duration: 'forever' } } },
    { ...discount, source: { type: 'coupon', coupon: 'HALF' } },
    { ...discount, source: { type: 'coupon', coupon: null } },
    { ...discount, subscription: null, invoice: 'in_1' },
    { ...discount, subscription: null, subscription_item: 'si_1' },
    { ...discount, source: { type: 'other' } },
  ];
  assert.deepEqual(mapped(...others).onceDiscounts, []);
  assert.deepEqual(mapVoidedInvoice({ id: 'in_2', object: 'invoice' }).discountIds, []);
});
