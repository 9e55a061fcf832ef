import { deleteCoupon, shownCoupon } from '../billing/coupon.ts';
import { checkRound, currency } from '../payments/money.ts';
import type { Store } from '../state/store.ts';
import { nulls } from '../wire/nulls.ts';
import type { Coupon } from '../wire/objects.ts';
import * as p from '../wire/params.ts';
import { badParam, missingParam, wrongState } from '../wire/wire-error.ts';
import { Resource } from './resource.ts';

/** The processor's own limits. */
const nameLengthMax = 40;
const idLengthMax = 500;
/** More than a coupon needs. */
const productsMax = 1_000;
const redeemBySecondsMax = 5 * 366 * 86_400;

/** Greater than 0, at most 100, with at most two decimals. */
const percentage: p.Parser<number> = (node, path) => {
  const value = typeof node === 'string' && /^\d{1,3}(\.\d{1,2})?$/.test(node) ? Number(node) : 0;
  if (value <= 0 || value > 100)
    throw badParam('Invalid percent_off: must be a number greater than 0 and at most 100.', path);
  return value;
};

const createParams = {
  id: p.text(idLengthMax),
  amount_off: p.integer(1),
  applies_to: p.object({ products: p.array(p.text(), productsMax) }),
  currency,
  duration: p.oneOf('forever', 'once', 'repeating'),
  duration_in_months: p.integer(1),
  max_redemptions: p.integer(1),
  metadata: p.metadata,
  name: p.text(nameLengthMax),
  percent_off: percentage,
  redeem_by: p.integer(),
};

const coupons = new Resource('coupons', (store) => store.coupons, { show: shownCoupon });

export const couponOperations = [
  coupons.create(createParams, ({ store }, params) => {
    const coupon = store.put(store.coupons, couponFrom(store, params));
    store.emit('coupon.created', shownCoupon(store, coupon));
    return shownCoupon(store, coupon);
  }),
  coupons.retrieve(),
  coupons.update(
    { metadata: p.metadata, name: p.clearable(p.text(nameLengthMax)) },
    ({ store }, before, params) => {
      const after = store.change(store.coupons, before, {
        ...p.present(params),
        metadata: p.applyMetadata(before.metadata ?? {}, params.metadata),
      });
      store.emitUpdated('coupon.updated', shownCoupon(store, before), shownCoupon(store, after));
      return after;
    },
  ),
  coupons.delete(deleteCoupon),
  coupons.list({}),
];

function couponFrom(store: Store, params: p.Parsed<typeof createParams>): Coupon {
  checkTerms(params);
  const { id, applies_to: appliesTo, currency: _, metadata: __, ...terms } = params;
  const redeemBy = terms.redeem_by ?? null;
  if (redeemBy !== null && (redeemBy <= store.now() || redeemBy > store.now() + redeemBySecondsMax))
    throw badParam('redeem_by must be in the future, at most five years ahead.', 'redeem_by');
  // The id of a deleted coupon stays taken while discounts still use its terms.
  if (id !== undefined && (store.coupons.get(id) ?? store.deletedCoupons.get(id)) !== undefined)
    throw wrongState('Coupon already exists.', 'resource_already_exists', { param: 'id' });
  const products = appliesTo?.products ?? [];
  for (const [index, product] of products.entries())
    store.products.existing(product, `applies_to[products][${index}]`);
  return {
    id: id ?? store.coupons.newId(),
    object: 'coupon',
    ...nulls('amount_off duration_in_months max_redemptions name percent_off redeem_by'),
    created: store.now(),
    duration: 'once',
    livemode: false,
    times_redeemed: 0,
    ...p.present(terms),
    ...(products.length !== 0 && { applies_to: { products: [...products] } }),
    currency: params.amount_off === undefined ? null : (params.currency ?? null),
    metadata: p.applyMetadata({}, params.metadata),
    valid: true,
  };
}

function checkTerms(params: p.Parsed<typeof createParams>): void {
  const { amount_off: amount, percent_off: percent, duration = 'once' } = params;
  if ((amount === undefined) === (percent === undefined))
    throw badParam(
      'You must pass either amount_off or percent_off, and not both.',
      amount === undefined ? 'percent_off' : 'amount_off',
      amount === undefined ? 'parameter_missing' : 'parameters_exclusive',
    );
  if (amount !== undefined && params.currency === undefined)
    throw missingParam('currency', 'You must pass currency when passing amount_off.');
  if (amount !== undefined && params.currency !== undefined)
    checkRound(amount, params.currency, 'amount_off');
  if (duration === 'repeating' && params.duration_in_months === undefined)
    throw missingParam(
      'duration_in_months',
      'You must pass duration_in_months when the duration is repeating.',
    );
  if (duration !== 'repeating' && params.duration_in_months !== undefined)
    throw badParam(
      'You can only pass duration_in_months when the duration is repeating.',
      'duration_in_months',
    );
}
