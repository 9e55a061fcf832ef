import { createPrice } from '../billing/price.ts';
import { checkAmount, currency, unitOf } from '../payments/money.ts';
import { mayUseOld } from '../wire/api-version.ts';
import { existing } from '../wire/existing.ts';
import type { InvoiceItem, Price, Pricing } from '../wire/objects.ts';
import type { Call } from '../wire/operation.ts';
import { decimal, integer, object, oneOf, type Parsed, required, text } from '../wire/params.ts';
import { badParam } from '../wire/wire-error.ts';

/** Credits are negative. */
const signed = integer(-Number.MAX_SAFE_INTEGER);
/** The processor's own limit for quantities. */
const quantityMax = 999_999_999;

/** The different ways to specify the amount of an invoice item. */
export const amountParams = {
  amount: signed,
  price: text(),
  price_data: object({
    currency: required(currency),
    product: required(text()),
    unit_amount: signed,
    unit_amount_decimal: decimal,
    tax_behavior: oneOf('exclusive', 'inclusive', 'unspecified'),
  }),
  pricing: object({ price: text() }),
  quantity: integer(0, quantityMax),
  unit_amount: signed,
  unit_amount_decimal: decimal,
};

export interface BilledAmount {
  readonly amount: number;
  readonly currency: string;
  readonly quantity: number;
  readonly pricing: Pricing;
}

type AmountParams = Parsed<typeof amountParams> & { readonly currency?: string | undefined };

/** The amount in the parameters. Null if there is none. `before` is the item to change. */
export function billedAmount(
  call: Call,
  params: AmountParams,
  before: InvoiceItem | null,
): BilledAmount | null {
  checkOne(call, params);
  const quantity = params.quantity ?? before?.quantity ?? 1;
  const price = priceOf(call, params);
  if (price !== null)
    return billed(Number(price.unit_amount_decimal), quantity, price.currency, {
      price_details: { price: price.id, product: price.product },
    });
  const { amount, unit_amount_decimal: unitDecimal, unit_amount: unit = unitDecimal } = params;
  if (amount !== undefined || unit !== undefined) {
    const code = params.currency ?? before?.currency;
    if (code === undefined)
      throw badParam('Missing required param: currency.', 'currency', 'parameter_missing');
    return unit === undefined ? inTotal(amount ?? 0, quantity, code) : billed(unit, quantity, code, {});
  }
  if (before === null || params.quantity === undefined) return null;
  const { price_details } = before.pricing;
  const details = price_details === undefined ? {} : { price_details };
  return billed(Number(before.pricing.unit_amount_decimal), quantity, before.currency, details);
}

function checkOne(call: Call, params: AmountParams): void {
  // In older versions, both were separate parameters.
  for (const name of ['price', 'unit_amount'] as const)
    if (params[name] !== undefined && !mayUseOld(call.version, 'invoicePayments'))
      throw badParam(`Received unknown parameter: ${name}`, name, 'parameter_unknown');
  const names = ['amount', 'price', 'price_data', 'pricing', 'unit_amount', 'unit_amount_decimal'] as const;
  const given = names.filter((name) => params[name] !== undefined);
  if (given.length > 1)
    throw badParam(
      `You may only specify one of these parameters: ${given.join(', ')}.`,
      given[0],
      'parameters_exclusive',
    );
}

function priceOf({ store }: Call, params: AmountParams): Price | null {
  const { price_data: data } = params;
  if (data !== undefined) {
    const unit = data.unit_amount ?? data.unit_amount_decimal;
    if (unit === undefined)
      throw badParam(
        'Missing required param: price_data[unit_amount].',
        'price_data[unit_amount]',
        'parameter_missing',
      );
    const product = existing(store.products, data.product, 'price_data[product]').id;
    // A price that was created for one item cannot be used for another.
    return createPrice(store, { ...data, product, unitAmount: unit, active: false });
  }
  const id = params.pricing?.price ?? params.price;
  if (id === undefined) return null;
  const param = params.price === undefined ? 'pricing[price]' : 'price';
  const price = existing(store.prices, id, param);
  if (!price.active) throw badParam('The price specified is inactive. Use an active price.', param);
  if (price.recurring !== null)
    throw badParam(
      'The price specified is set to `type=recurring` but this field only accepts prices with `type=one_time`.',
      param,
    );
  return price;
}

function billed(unit: number, quantity: number, code: string, details: Partial<Pricing>): BilledAmount {
  const step = unitOf(code);
  const amount = Math.round((unit * quantity) / step) * step;
  checkAmount(Math.abs(amount), code, 'amount');
  const pricing: Pricing = { ...details, type: 'price_details', unit_amount_decimal: String(unit) };
  return { amount, currency: code, quantity, pricing };
}

function inTotal(amount: number, quantity: number, code: string): BilledAmount {
  checkAmount(Math.abs(amount), code, 'amount');
  const unit = quantity === 0 ? amount : amount / quantity;
  return {
    amount,
    currency: code,
    quantity,
    pricing: { type: 'price_details', unit_amount_decimal: String(unit) },
  };
}
