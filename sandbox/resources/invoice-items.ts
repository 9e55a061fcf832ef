import { changeInvoiceItem, createInvoiceItem, deleteInvoiceItem } from '../billing/invoice-item.ts';
import { existingCustomer } from '../payments/customer.ts';
import { currency } from '../payments/money.ts';
import { existing } from '../wire/existing.ts';
import type { Invoice, InvoiceItem } from '../wire/objects.ts';
import type { Call, Operation } from '../wire/operation.ts';
import {
  applyMetadata,
  bool,
  clearable,
  integer,
  metadata,
  object,
  oneOf,
  type Parsed,
  present,
  required,
  text,
} from '../wire/params.ts';
import { badParam } from '../wire/wire-error.ts';
import { amountParams, type BilledAmount, billedAmount } from './invoice-item-amount.ts';
import { Resource } from './resource.ts';
import { taxRatesFrom, taxRatesParam } from './tax-rates.ts';

const changeable = {
  ...amountParams,
  description: clearable(text()),
  discountable: bool,
  metadata,
  tax_behavior: oneOf('exclusive', 'inclusive', 'unspecified'),
  tax_code: clearable(text()),
  tax_rates: taxRatesParam,
  period: object({ start: required(integer()), end: required(integer()) }),
};

const createParams = { ...changeable, currency, customer: text(), invoice: text(), subscription: text() };

const invoiceItems = new Resource('invoiceitems', (store) => store.invoiceItems);

export const invoiceItemOperations: readonly Operation[] = [
  invoiceItems.operation('create', 'POST', createParams, create),
  invoiceItems.retrieve(),
  invoiceItems.operation('update', 'POST *', changeable, (call, params) => {
    const before = invoiceItems.existing(call);
    const billed = billedAmount(call, params, before);
    if (billed !== null && billed.currency !== before.currency)
      throw badParam(`The price must be in ${before.currency}, the currency of the invoice item.`, 'pricing');
    const { description, discountable, period, tax_rates: rates } = params;
    return changeInvoiceItem(call.store, before, {
      ...(billed === null ? {} : amountsOf(billed)),
      ...present({ description, discountable, period }),
      metadata: applyMetadata(before.metadata ?? {}, params.metadata),
      ...(rates === undefined ? {} : { tax_rates: taxRatesFrom(call.store, rates, 'tax_rates') }),
    });
  }),
  invoiceItems.delete(deleteInvoiceItem),
  invoiceItems.list(
    { customer: text(), invoice: text(), pending: bool },
    {
      within: ({ invoice, customer }) => ({ invoice, customer }),
      where:
        (_store, { pending }) =>
        (item) =>
          pending === undefined || (item.invoice === null) === pending,
    },
  ),
];

function create(call: Call, params: Parsed<typeof createParams>): InvoiceItem {
  const { store } = call;
  const invoice = params.invoice === undefined ? null : existing(store.invoices, params.invoice, 'invoice');
  const customerId = params.customer ?? invoice?.customer ?? null;
  if (customerId === null)
    throw badParam('Missing required param: customer.', 'customer', 'parameter_missing');
  const customer = existingCustomer(store, customerId).id;
  const billed = billedAmount(call, params, null);
  if (billed === null)
    throw badParam(
      'An invoice item needs one of amount, pricing, price_data or unit_amount_decimal.',
      'amount',
      'parameter_missing',
    );
  if (invoice !== null) checkSame(invoice, customer, billed.currency);
  if (params.subscription !== undefined) {
    const subscription = existing(store.subscriptions, params.subscription, 'subscription');
    if (subscription.customer !== customer)
      throw badParam('The subscription belongs to another customer.', 'subscription');
  }
  return createInvoiceItem(store, {
    customer,
    invoice,
    ...billed,
    description: params.description ?? null,
    discountable: params.discountable ?? billed.amount >= 0,
    metadata: applyMetadata({}, params.metadata),
    period: params.period ?? null,
    subscription: params.subscription ?? null,
    taxRates: taxRatesFrom(store, params.tax_rates, 'tax_rates'),
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
