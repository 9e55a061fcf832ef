import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Coupon, PromotionCode } from '../wire/objects.ts';
import { couponRefusal, isRedeemable, promotionRefusal, purchaseRefusal } from './coupon.ts';

const now = 1_000;

const coupon = (given: Partial<Coupon> = {}): Coupon => ({
  id: 'TEN',
  object: 'coupon',
  amount_off: null,
  created: 0,
  currency: null,
  duration: 'forever',
  duration_in_months: null,
  livemode: false,
  max_redemptions: null,
  metadata: {},
  name: null,
  percent_off: 10,
  redeem_by: null,
  times_redeemed: 0,
  valid: true,
  ...given,
});

const code = (
  given: Partial<PromotionCode> = {},
  restrictions: Partial<PromotionCode['restrictions']> = {},
): PromotionCode => ({
  id: 'promo_1',
  object: 'promotion_code',
  active: true,
  code: 'TEN',
  created: 0,
  customer: null,
  customer_account: null,
  expires_at: null,
  livemode: false,
  max_redemptions: null,
  metadata: {},
  promotion: { type: 'coupon', coupon: 'TEN' },
  restrictions: {
    first_time_transaction: false,
    minimum_amount: null,
    minimum_amount_currency: null,
    ...restrictions,
  },
  times_redeemed: 0,
  ...given,
});

const purchase = {
  customer: 'cus_1',
  currency: 'usd',
  subtotal: 1_500,
  hasPriorTransactions: false,
  now,
};

test('a coupon can be redeemed until it expires or is used up', () => {
  assert.equal(couponRefusal(coupon({ redeem_by: now + 1, max_redemptions: 1 }), now), null);
  assert.equal(couponRefusal(coupon({ redeem_by: now }), now)?.code, 'coupon_expired');
  assert.match(
    couponRefusal(coupon({ max_redemptions: 2, times_redeemed: 2 }), now)?.message ?? '',
    /used up/,
  );
});

test('an amount can only be taken off in its own currency, a percentage in any', () => {
  const amount = { percent_off: null, amount_off: 500 };
  assert.equal(purchaseRefusal(coupon({ ...amount, currency: 'usd' }), purchase), null);
  assert.notEqual(purchaseRefusal(coupon({ ...amount, currency: 'eur' }), purchase), null);
  assert.equal(purchaseRefusal(coupon(), { ...purchase, currency: 'jpy' }), null);
});

test('a code is redeemable while it and its coupon are', () => {
  assert.equal(isRedeemable(code({ expires_at: now + 1, max_redemptions: 1 }), coupon(), now), true);
  for (const bad of [
    code({ active: false }),
    code({ expires_at: now }),
    code({ max_redemptions: 3, times_redeemed: 3 }),
  ]) {
    assert.equal(isRedeemable(bad, coupon(), now), false);
    assert.notEqual(promotionRefusal(bad, coupon(), purchase), null);
  }
  assert.equal(isRedeemable(code(), undefined, now), false);
  assert.equal(isRedeemable(code(), coupon({ redeem_by: now }), now), false);
  assert.equal(promotionRefusal(code(), coupon({ redeem_by: now }), purchase)?.code, 'coupon_expired');
});

test('a code can be restricted to a customer, to first purchases and to a minimum amount', () => {
  assert.equal(promotionRefusal(code({ customer: 'cus_1' }), coupon(), purchase), null);
  assert.match(
    promotionRefusal(code({ customer: 'cus_2' }), coupon(), purchase)?.message ?? '',
    /different customer/,
  );
  const first = code({}, { first_time_transaction: true });
  assert.equal(promotionRefusal(first, coupon(), purchase), null);
  assert.match(
    promotionRefusal(first, coupon(), { ...purchase, hasPriorTransactions: true })?.message ?? '',
    /prior transactions/,
  );
  const least = (minimum_amount: number, minimum_amount_currency = 'usd') =>
    promotionRefusal(code({}, { minimum_amount, minimum_amount_currency }), coupon(), purchase);
  assert.equal(least(1_500), null);
  assert.match(least(1_501)?.message ?? '', /minimum amount/);
  assert.match(least(1, 'eur')?.message ?? '', /minimum amount/);
});
