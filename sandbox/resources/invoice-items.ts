import { changeInvoiceItem, createInvoiceItem, deleteInvoiceItem } from '../billing/invoice-item.ts';
import { existingCustomer } from '../payments/customer.ts';
import { currency } from '../payments/money.ts';
import type { Invoice, InvoiceItem } from '../wire/objects.ts';
import type { Call } from '../wire/operation.ts';
import * as p from '../wire/params.ts';
import { badParam, missingParam } from '../wire/wire-error.ts';
import { taxBehavior } from './inline-price.ts';
import { amountParams, type BilledAmount, billedAmount } from './invoice-item-amount.ts';
import { Resource } from './resource.ts';
import { taxRatesFrom, taxRatesParam } from './tax-rates.ts';

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
      ...p.present({ description, discountable, period }),
      metadata: p.applyMetadata(before.metadata ?? {}, params.metadata),
      ...(rates === undefined ? {} : { tax_rates: taxRatesFrom(call.store, rates, 'tax_rates') }),
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
