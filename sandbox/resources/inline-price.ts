import { createPrice } from '../billing/price.ts';
import { checkAmount, currency } from '../payments/money.ts';
import type { Store } from '../state/store.ts';
import { existing } from '../wire/existing.ts';
import type { Price } from '../wire/objects.ts';
import { decimal, integer, metadata, object, oneOf, type Parsed, required, text } from '../wire/params.ts';
import { badParam } from '../wire/wire-error.ts';

/** Credits are negative. */
const signed = integer(-Number.MAX_SAFE_INTEGER);

export const inlinePriceParams = {
  currency: required(currency),
  metadata,
  recurring: object({
    interval: required(oneOf('day', 'week', 'month', 'year')),
    interval_count: integer(1, 1_095),
  }),
  tax_behavior: oneOf('exclusive', 'inclusive', 'unspecified'),
  unit_amount: signed,
  unit_amount_decimal: decimal,
};
/** A price that is created together with what it is for. */
const { recurring, ...oneTime } = inlinePriceParams;
export const oneTimePriceParams = { ...oneTime, product: required(text()) };
export const recurringPriceParams = { ...oneTimePriceParams, recurring: required(recurring) };

/** Creates the price. Unless it stays in use, it is for this purpose only, and is inactive from the start. */
export function inlinePrice(
  store: Store,
  data: Parsed<typeof oneTimePriceParams> & Partial<Parsed<typeof inlinePriceParams>>,
  path: string,
  isActive = false,
): Price {
  const unitAmount = data.unit_amount ?? data.unit_amount_decimal;
  const param = `${path}[unit_amount]`;
  if (unitAmount === undefined)
    throw badParam(`Missing required param: ${param}.`, param, 'parameter_missing');
  checkAmount(Math.abs(data.unit_amount ?? 0), data.currency, param);
  const product = existing(store.products, data.product, `${path}[product]`).id;
  return createPrice(store, { ...data, product, unitAmount, active: isActive });
}
