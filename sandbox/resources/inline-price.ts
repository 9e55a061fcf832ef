import { createPrice } from '../billing/price.ts';
import { checkAmount, currency } from '../payments/money.ts';
import type { Store } from '../state/store.ts';
import type { Price } from '../wire/objects.ts';
import * as p from '../wire/params.ts';
import { missingParam } from '../wire/wire-error.ts';

/** Credits are negative. */
export const signed = p.integer(-Number.MAX_SAFE_INTEGER);

export const interval = p.required(p.oneOf('day', 'week', 'month', 'year'));
export const taxBehavior = p.oneOf('exclusive', 'inclusive', 'unspecified');

export const inlinePriceParams = {
  currency: p.required(currency),
  metadata: p.metadata,
  recurring: p.object({
    interval,
    interval_count: p.integer(1, 1_095),
  }),
  tax_behavior: taxBehavior,
  unit_amount: signed,
  unit_amount_decimal: p.decimal,
};
/** A price that is created together with what it is for. */
const { recurring, ...oneTime } = inlinePriceParams;
export const oneTimePriceParams = { ...oneTime, product: p.required(p.text()) };
export const recurringPriceParams = { ...oneTimePriceParams, recurring: p.required(recurring) };

/** Creates the price. Unless it stays in use, it is for this purpose only, and is inactive from the start. */
export function inlinePrice(
  store: Store,
  data: p.Parsed<typeof oneTimePriceParams> & Partial<p.Parsed<typeof inlinePriceParams>>,
  path: string,
  isActive = false,
): Price {
  const unitAmount = data.unit_amount ?? data.unit_amount_decimal;
  const param = `${path}[unit_amount]`;
  if (unitAmount === undefined) throw missingParam(param);
  checkAmount(Math.abs(data.unit_amount ?? 0), data.currency, param);
  const product = store.products.existing(data.product, `${path}[product]`).id;
  return createPrice(store, { ...data, product, unitAmount, active: isActive });
}
