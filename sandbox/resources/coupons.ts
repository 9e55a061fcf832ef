import { deleteCoupon, shownCoupon } from '../billing/coupon.ts';
import { checkRound, currency } from '../payments/money.ts';
import type { Store } from '../state/store.ts';
import { existing } from '../wire/existing.ts';
import type { Coupon } from '../wire/objects.ts';
import type { Operation } from '../wire/operation.ts';
import {
  applyMetadata,
  array,
  clearable,
  integer,
  metadata,
  object,
  oneOf,
  type Parsed,
  type Parser,
  present,
  text,
} from '../wire/params.ts';
import { badParam, wrongState } from '../wire/wire-error.ts';
import { Resource } from './resource.ts';

/** The processor's own limits. */
const nameLengthMax = 40;
const idLengthMax = 500;
/** More than a coupon needs. */
const productsMax = 1_000;
const redeemBySecondsMax = 5 * 366 * 86_400;

/** Greater than 0, at most 100, with at most two decimals. */
const percentage: Parser<number> = (node, path) => {
  const value = typeof node === 'string' && /^\d{1,3}(\.\d{1,2})?$/.test(node) ? Number(node) : 0;
  if (value <= 0 || value > 100)
    throw badParam('Invalid percent_off: must be a number greater than 0 and at most 100.', path);
  return value;
};

const createParams = {
  id: text(idLengthMax),
  amount_off: integer(1),
  applies_to: object({ products: array(text(), productsMax) }),
  currency,
  duration: oneOf('forever', 'once', 'repeating'),
  duration_in_months: integer(1),
  max_redemptions: integer(1),
  metadata,
  name: text(nameLengthMax),
  percent_off: percentage,
  redeem_by: integer(),
};

const coupons = new Resource('coupons', (store) => store.coupons, { show: shownCoupon });

export const couponOperations: readonly Operation[] = [
  coupons.operation('create', 'POST', createParams, ({ store }, params) => {
    const coupon = store.put(store.coupons, couponFrom(store, params));
    store.emit('coupon.created', shownCoupon(store, coupon));
    return shownCoupon(store, coupon);
  }),
  coupons.retrieve(),
  coupons.operation(
    'update',
    'POST *',
    { metadata, name: clearable(text(nameLengthMax)) },
    (call, params) => {
      const { store } = call;
      const before = coupons.existing(call);
      const after = store.change(store.coupons, before, {
        ...present(params),
        metadata: applyMetadata(before.metadata ?? {}, params.metadata),
      });
      store.emitUpdated('coupon.updated', shownCoupon(store, before), shownCoupon(store, after));
      return shownCoupon(store, after);
    },
  ),
  coupons.delete(deleteCoupon),
  coupons.list({}),
];

function couponFrom(store: Store, params: Parsed<typeof createParams>): Coupon {
  checkTerms(params);
  const { id, redeem_by: redeemBy = null } = params;
  if (redeemBy !== null && (redeemBy <= store.now() || redeemBy > store.now() + redeemBySecondsMax))
    throw badParam('redeem_by must be in the future, at most five years ahead.', 'redeem_by');
  // The id of a deleted coupon stays taken while discounts still use its terms.
  if (id !== undefined && (store.coupons.get(id) ?? store.deletedCoupons.get(id)) !== undefined)
    throw wrongState('Coupon already exists.', 'resource_already_exists', { param: 'id' });
  const products = params.applies_to?.products ?? [];
  for (const [index, product] of products.entries())
    existing(store.products, product, `applies_to[products][${index}]`);
  return {
    id: id ?? store.coupons.newId(),
    object: 'coupon',
    amount_off: params.amount_off ?? null,
    ...(products.length === 0 ? {} : { applies_to: { products: [...products] } }),
    created: store.now(),
    currency: params.amount_off === undefined ? null : (params.currency ?? null),
    duration: params.duration ?? 'once',
    duration_in_months: params.duration_in_months ?? null,
    livemode: false,
    max_redemptions: params.max_redemptions ?? null,
    metadata: applyMetadata({}, params.metadata),
    name: params.name ?? null,
    percent_off: params.percent_off ?? null,
    redeem_by: redeemBy,
    times_redeemed: 0,
    valid: true,
  };
}

function checkTerms(params: Parsed<typeof createParams>): void {
  const { amount_off: amount, percent_off: percent, duration = 'once' } = params;
  if ((amount === undefined) === (percent === undefined))
    throw badParam(
      'You must pass either amount_off or percent_off, and not both.',
      amount === undefined ? 'percent_off' : 'amount_off',
      amount === undefined ? 'parameter_missing' : 'parameters_exclusive',
    );
  if (amount !== undefined && params.currency === undefined)
    throw badParam('You must pass currency when passing amount_off.', 'currency', 'parameter_missing');
  if (amount !== undefined && params.currency !== undefined)
    checkRound(amount, params.currency, 'amount_off');
  if (duration === 'repeating' && params.duration_in_months === undefined)
    throw badParam(
      'You must pass duration_in_months when the duration is repeating.',
      'duration_in_months',
      'parameter_missing',
    );
  if (duration !== 'repeating' && params.duration_in_months !== undefined)
    throw badParam(
      'You can only pass duration_in_months when the duration is repeating.',
      'duration_in_months',
    );
}
