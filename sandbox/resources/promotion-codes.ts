import { couponRefusal, isRedeemable, shownPromotionCode } from '../billing/coupon.ts';
import { newId } from '../ids.ts';
import { existingCustomer } from '../payments/customer.ts';
import { currency } from '../payments/money.ts';
import type { Store } from '../state/store.ts';
import { refuseRemoved } from '../wire/api-version.ts';
import type { Coupon, PromotionCode } from '../wire/objects.ts';
import type { Call } from '../wire/operation.ts';
import * as p from '../wire/params.ts';
import { badParam, missingParam, wrongState } from '../wire/wire-error.ts';
import { Resource } from './resource.ts';

/** The processor's own limits. */
const codeLengthMax = 500;
const generatedCodeLength = 8;

const createParams = {
  promotion: p.object({ type: p.required(p.oneOf('coupon')), coupon: p.required(p.text()) }),
  coupon: p.text(),
  active: p.bool,
  code: p.text(codeLengthMax),
  customer: p.text(),
  expires_at: p.integer(),
  max_redemptions: p.integer(1),
  metadata: p.metadata,
  restrictions: p.object({
    first_time_transaction: p.bool,
    minimum_amount: p.integer(1),
    minimum_amount_currency: currency,
  }),
};
const updateParams = { active: p.bool, metadata: p.metadata };

const promotionCodes = new Resource('promotion_codes', (store) => store.promotionCodes, {
  show: shownPromotionCode,
});

export const promotionCodeOperations = [
  promotionCodes.create(createParams, (call, params) => {
    const { store } = call;
    refuseRemoved(call.version, 'promotionObject', params, 'coupon');
    return store.record('promotion_code.created', store.promotionCodes, promotionCodeFrom(store, params));
  }),
  promotionCodes.retrieve(),
  promotionCodes.update(updateParams, update),
  promotionCodes.list(
    { active: p.bool, code: p.text(codeLengthMax), coupon: p.text(), customer: p.text() },
    {
      handled: ['active', 'code'],
      within: ({ code }) => ({ code: code?.toLowerCase() }),
      where: (code, { active }, store) =>
        active === undefined || shownPromotionCode(store, code).active === active,
    },
  ),
];

function promotionCodeFrom(store: Store, params: p.Parsed<typeof createParams>): PromotionCode {
  const param = params.coupon === undefined ? 'promotion[coupon]' : 'coupon';
  const couponId = params.promotion?.coupon ?? params.coupon;
  if (couponId === undefined) throw missingParam('promotion');
  const coupon = store.coupons.existing(couponId, param);
  const customer = params.customer === undefined ? null : existingCustomer(store, params.customer).id;
  const code = params.code ?? newId('', generatedCodeLength).toUpperCase();
  if (!/^[A-Za-z0-9-]+$/.test(code))
    throw badParam('A promotion code can only contain letters, digits and dashes.', 'code');
  checkLimits(store, coupon, params);
  const created: PromotionCode = {
    ...store.blank(store.promotionCodes, 'promotion_code'),
    active: params.active ?? true,
    code,
    customer,
    customer_account: null,
    expires_at: params.expires_at ?? null,
    max_redemptions: params.max_redemptions ?? null,
    metadata: p.applyMetadata({}, params.metadata),
    promotion: { type: 'coupon', coupon: coupon.id },
    restrictions: {
      first_time_transaction: params.restrictions?.first_time_transaction ?? false,
      minimum_amount: params.restrictions?.minimum_amount ?? null,
      minimum_amount_currency: params.restrictions?.minimum_amount_currency ?? null,
    },
    times_redeemed: 0,
  };
  if (created.active) checkUnique(store, created);
  return created;
}

/** A code cannot allow more than its coupon. */
function checkLimits(store: Store, coupon: Coupon, params: p.Parsed<typeof createParams>): void {
  const { expires_at: expiresAt, max_redemptions: max, restrictions } = params;
  const refusal = couponRefusal(coupon, store.now());
  if (refusal !== null && params.active !== false)
    throw badParam(refusal.message, 'promotion[coupon]', refusal.code);
  if (expiresAt !== undefined && expiresAt <= store.now())
    throw badParam('expires_at must be in the future.', 'expires_at');
  if (expiresAt !== undefined && coupon.redeem_by !== null && expiresAt > coupon.redeem_by)
    throw badParam("expires_at cannot be after the coupon's redeem_by.", 'expires_at');
  if (max !== undefined && coupon.max_redemptions !== null && max > coupon.max_redemptions)
    throw badParam("max_redemptions cannot exceed the coupon's max_redemptions.", 'max_redemptions');
  if ((restrictions?.minimum_amount === undefined) !== (restrictions?.minimum_amount_currency === undefined))
    throw missingParam(
      'restrictions[minimum_amount_currency]',
      'minimum_amount and minimum_amount_currency must be passed together.',
    );
}

/** Ignoring case, an active code is unique among those of its customer, or among those without a customer. */
function checkUnique(store: Store, created: PromotionCode): void {
  const taken = store.promotionCodes
    .allWithin('code', created.code.toLowerCase())
    .some(
      (other) =>
        other.id !== created.id &&
        other.customer === created.customer &&
        isRedeemable(other, store.coupons.get(other.promotion.coupon), store.now()),
    );
  if (taken)
    throw wrongState(`An active promotion code with \`code: ${created.code}\` already exists.`, undefined, {
      param: 'code',
    });
}

function update(
  { store }: Call,
  before: PromotionCode,
  params: p.Parsed<typeof updateParams>,
): PromotionCode {
  const changed: PromotionCode = {
    ...before,
    active: params.active ?? before.active,
    metadata: p.applyMetadata(before.metadata ?? {}, params.metadata),
  };
  if (params.active === true) {
    const coupon = store.coupons.get(before.promotion.coupon);
    if (!isRedeemable(changed, coupon, store.now()))
      throw wrongState('This promotion code cannot be reactivated: it can no longer be redeemed.');
    checkUnique(store, changed);
  }
  store.put(store.promotionCodes, changed);
  const after = shownPromotionCode(store, changed);
  store.emitUpdated('promotion_code.updated', shownPromotionCode(store, before), after);
  return after;
}
