import {
  changeInvoiceItem,
  createInvoiceItem,
  deleteInvoiceItem,
  invoiceItemObject,
  invoiceLinesMax,
  type NewInvoiceItem,
} from '../billing/invoice-item.ts';
import { priceIn, pricingOf } from '../billing/price.ts';
import { productName } from '../billing/subscription-items.ts';
import { existingCustomer } from '../payments/customer.ts';
import { checkAmount, currency, unitOf } from '../payments/money.ts';
import type { Store } from '../state/store.ts';
import { refuseRemoved } from '../wire/api-version.ts';
import type { Invoice, InvoiceItem, Price, Pricing } from '../wire/objects.ts';
import type { Call } from '../wire/operation.ts';
import * as p from '../wire/params.ts';
import { badParam, exclusiveParams, missingParam } from '../wire/wire-error.ts';
import { inlinePrice, oneTimePriceParams, signed, taxBehavior } from './products.ts';
import { Resource } from './resource.ts';
import { taxRatesFrom, taxRatesParam } from './tax-rates.ts';

/** The processor's own limit for quantities. */
const quantityMax = 999_999_999;

/** The different ways to specify the amount of an invoice item. */
const amountParams = {
  amount: signed,
  price: p.text(),
  price_data: p.object(oneTimePriceParams),
  pricing: p.object({ price: p.text() }),
  quantity: p.integer(0, quantityMax),
  unit_amount: signed,
  unit_amount_decimal: p.decimal,
};

const changeable = {
  ...amountParams,
  description: p.clearable(p.text()),
  discountable: p.bool,
  metadata: p.metadata,
  tax_behavior: taxBehavior,
  tax_code: p.clearable(p.text()),
  tax_rates: taxRatesParam,
  period: p.object({ start: p.required(p.integer()), end: p.required(p.integer()) }),
};

const createParams = {
  ...changeable,
  currency,
  customer: p.text(),
  invoice: p.text(),
  subscription: p.text(),
};

const invoiceItems = new Resource('invoiceitems', (store) => store.invoiceItems);

export const invoiceItemOperations = [
  invoiceItems.create(createParams, create),
  invoiceItems.retrieve(),
  invoiceItems.update(changeable, (call, before, params) => {
    const billed = billedAmount(call, params, before);
    if (billed !== null && billed.currency !== before.currency)
      throw badParam(`The price must be in ${before.currency}, the currency of the invoice item.`, 'pricing');
    const { description, discountable, period, tax_rates: rates } = params;
    return changeInvoiceItem(call.store, before, {
      ...(billed === null ? {} : amountsOf(billed)),
      ...p.present({ description, discountable, period }),
      metadata: p.applyMetadata(before.metadata ?? {}, params.metadata),
      ...(rates !== undefined && { tax_rates: taxRatesFrom(call.store, rates, 'tax_rates') }),
    });
  }),
  invoiceItems.delete(deleteInvoiceItem),
  invoiceItems.list(
    { invoice: p.text(), customer: p.text(), pending: p.bool },
    {
      handled: ['pending'],
      where: ({ invoice }, { pending }) => pending === undefined || (invoice === null) === pending,
    },
  ),
];

function create(call: Call, params: p.Parsed<typeof createParams>): InvoiceItem {
  const { store } = call;
  const invoice = params.invoice === undefined ? null : store.invoices.existing(params.invoice, 'invoice');
  const customerId = params.customer ?? invoice?.customer ?? null;
  if (customerId === null) throw missingParam('customer');
  const customer = existingCustomer(store, customerId).id;
  const billed = billedAmount(call, params, null);
  if (billed === null)
    throw missingParam(
      'amount',
      'An invoice item needs one of amount, pricing, price_data or unit_amount_decimal.',
    );
  if (invoice !== null) checkSame(invoice, customer, billed.currency);
  if (params.subscription !== undefined) {
    const subscription = store.subscriptions.existing(params.subscription, 'subscription');
    if (subscription.customer !== customer)
      throw badParam('The subscription belongs to another customer.', 'subscription');
  }
  return createInvoiceItem(store, {
    customer,
    invoice,
    ...billed,
    ...p.present({ description: params.description, period: params.period }),
    discountable: params.discountable ?? billed.amount >= 0,
    metadata: p.applyMetadata({}, params.metadata),
    subscription: params.subscription ?? null,
    tax_rates: taxRatesFrom(store, params.tax_rates, 'tax_rates'),
  });
}

function amountsOf({ amount, quantity, pricing }: BilledAmount): Partial<InvoiceItem> {
  return { amount, net_amount: amount, quantity, quantity_decimal: String(quantity), pricing };
}

function checkSame(invoice: Invoice, customer: string, code: string): void {
  if (invoice.customer !== customer) throw badParam('The invoice belongs to another customer.', 'invoice');
  if (invoice.currency !== code)
    throw badParam(
      `The invoice item must be in ${invoice.currency}, the currency of the invoice.`,
      'currency',
    );
}

interface BilledAmount {
  readonly amount: number;
  readonly currency: string;
  readonly quantity: number;
  readonly pricing: Pricing;
}

type AmountParams = p.Parsed<typeof amountParams> & { readonly currency?: string | undefined };

/** The amount in the parameters. Null if there is none. `before` is the item to change. */
function billedAmount(call: Call, params: AmountParams, before: InvoiceItem | null): BilledAmount | null {
  checkOne(call, params);
  const quantity = params.quantity ?? before?.quantity ?? 1;
  const price = priceOf(call, params);
  if (price !== null)
    return billed(Number(price.unit_amount_decimal), quantity, price.currency, pricingOf(price));
  const { amount, unit_amount_decimal: unitDecimal, unit_amount: unit = unitDecimal } = params;
  if (amount !== undefined || unit !== undefined) {
    const code = params.currency ?? before?.currency;
    if (code === undefined) throw missingParam('currency');
    return unit === undefined ? inTotal(amount ?? 0, quantity, code) : billed(unit, quantity, code, {});
  }
  if (before === null || params.quantity === undefined) return null;
  const { price_details } = before.pricing;
  const details = price_details === undefined ? {} : { price_details };
  return billed(Number(before.pricing.unit_amount_decimal), quantity, before.currency, details);
}

function checkOne(call: Call, params: AmountParams): void {
  // In older versions, both were separate parameters.
  refuseRemoved(call.version, 'invoicePayments', params, 'price', 'unit_amount');
  const names = ['amount', 'price', 'price_data', 'pricing', 'unit_amount', 'unit_amount_decimal'] as const;
  const given = names.filter((name) => params[name] !== undefined);
  if (given.length > 1) throw exclusiveParams(...given);
}

function priceOf({ store }: Call, params: AmountParams): Price | null {
  const { price_data: data } = params;
  if (data !== undefined) return inlinePrice(store, data, 'price_data');
  const id = params.pricing?.price ?? params.price;
  if (id === undefined) return null;
  return oneTimePrice(store, id, params.price === undefined ? 'pricing[price]' : 'price');
}

function oneTimePrice(store: Store, id: string, param: string): Price {
  const price = store.prices.existing(id, param);
  if (!price.active) throw badParam('The price specified is inactive. Use an active price.', param);
  if (price.recurring !== null)
    throw badParam(
      'The price specified is set to `type=recurring` but this field only accepts prices with `type=one_time`.',
      param,
    );
  return price;
}

const addedItem = p.object({
  discountable: p.bool,
  metadata: p.metadata,
  period: p.ignored,
  price: p.text(),
  price_data: p.object(oneTimePriceParams),
  quantity: p.integer(0, quantityMax),
  tax_rates: taxRatesParam,
});

/** The processor's own limit. */
const addedItemsMax = 20;
/** One-time items that the next invoice of a subscription bills. */
export const addedItemsParam = p.array(addedItem, addedItemsMax);

/** The items of the parameter, for a customer that pays in this currency. */
export function addedItemsFrom(
  { store }: Call,
  items: ReturnType<typeof addedItemsParam>,
  { customer, currency: code }: { readonly customer: string; readonly currency: string },
): Omit<NewInvoiceItem, 'subscription'>[] {
  return items.map((item, index) => {
    const path = `add_invoice_items[${index}]`;
    if ((item.price === undefined) === (item.price_data === undefined))
      throw badParam('Pass exactly one of price and price_data.', `${path}[price]`);
    const found =
      item.price_data === undefined
        ? oneTimePrice(store, item.price ?? '', `${path}[price]`)
        : inlinePrice(store, item.price_data, `${path}[price_data]`);
    const price = priceIn(store, found, code);
    if (price === undefined)
      throw badParam(`The price must be in ${code}, the currency of the subscription.`, `${path}[price]`);
    const amounts = billed(Number(price.unit_amount_decimal), item.quantity ?? 1, code, pricingOf(price));
    return {
      ...amounts,
      customer,
      description: productName(store, price),
      discountable: item.discountable ?? amounts.amount >= 0,
      metadata: p.applyMetadata({}, item.metadata),
      tax_rates: taxRatesFrom(store, item.tax_rates, `${path}[tax_rates]`),
    };
  });
}

const previewedItem = p.object({
  amount: p.required(signed),
  currency: p.required(currency),
  description: p.clearable(p.text()),
  discountable: p.bool,
  metadata: p.metadata,
  period: changeable.period,
  tax_rates: taxRatesParam,
});

/** Items that a preview shows in addition to those that wait. */
export const previewedItemsParam = p.array(previewedItem, invoiceLinesMax);

/** The items of the parameter, which are not stored. */
export function previewedItemsFrom(
  { store }: Call,
  items: ReturnType<typeof previewedItemsParam>,
  { customer, currency: code }: { readonly customer: string; readonly currency: string },
): InvoiceItem[] {
  return items.map((item, index) => {
    const path = `invoice_items[${index}]`;
    if (item.currency !== code)
      throw badParam(
        `The invoice item must be in ${code}, the currency of the invoice.`,
        `${path}[currency]`,
      );
    return invoiceItemObject(store, {
      customer,
      ...inTotal(item.amount, 1, code),
      ...p.present({ description: item.description, period: item.period }),
      discountable: item.discountable ?? item.amount >= 0,
      metadata: p.applyMetadata({}, item.metadata),
      tax_rates: taxRatesFrom(store, item.tax_rates, `${path}[tax_rates]`),
    });
  });
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
