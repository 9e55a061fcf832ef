import { automaticTax, noAutomaticTax, noPaymentSettings } from '../billing/invoice-object.ts';
import { livingCustomer } from '../payments/customer.ts';
import type { Store } from '../state/store.ts';
import type { Invoice } from '../wire/objects.ts';
import * as p from '../wire/params.ts';
import { badParam, exclusiveParams, missing, missingParam } from '../wire/wire-error.ts';
import { automaticTaxParam, checkTaxLocation, taxRatesFrom, taxRatesParam } from './tax-rates.ts';

/** The processor's own limits. */
const customFieldsMax = 4;
const customFieldNameLengthMax = 40;
const customFieldValueLengthMax = 140;
const daySeconds = 86_400;
/** More than the number of types at the processor. */
const paymentMethodTypesMax = 100;

export const invoicePaymentSettings = {
  payment_method_options: p.ignored,
  payment_method_types: p.clearable(p.array(p.text(), paymentMethodTypesMax)),
};

/** Fields that can be set when an invoice is created, and changed while it is a draft. */
export const invoiceParams = {
  automatic_tax: automaticTaxParam,
  default_tax_rates: taxRatesParam,
  auto_advance: p.bool,
  collection_method: p.oneOf('charge_automatically', 'send_invoice'),
  custom_fields: p.clearable(
    p.array(
      p.object({
        name: p.required(p.text(customFieldNameLengthMax)),
        value: p.required(p.text(customFieldValueLengthMax)),
      }),
      customFieldsMax,
    ),
  ),
  days_until_due: p.integer(),
  default_payment_method: p.clearable(p.text()),
  description: p.clearable(p.text()),
  due_date: p.integer(),
  footer: p.clearable(p.text()),
  metadata: p.metadata,
  payment_settings: p.object(invoicePaymentSettings),
  statement_descriptor: p.clearable(p.text(22)),
};

type InvoiceParams = p.Parsed<typeof invoiceParams>;

/** The fields that the parameters set on an invoice of this customer. */
export function detailsFrom(
  store: Store,
  params: InvoiceParams,
  before: Pick<Invoice, 'collection_method' | 'created' | 'customer' | 'due_date' | 'metadata'>,
): Partial<Invoice> {
  const { default_payment_method: method, custom_fields: fields } = params;
  if (method != null && store.paymentMethods.get(method)?.customer !== before.customer)
    throw missing('PaymentMethod', method, 'default_payment_method');
  const { automatic_tax: tax, default_tax_rates: rates, description, footer, statement_descriptor } = params;
  const types = params.payment_settings?.payment_method_types;
  if (before.customer !== null && tax?.enabled === true) checkTaxLocation(store, before.customer);
  return {
    ...collectionFrom(store, params, before),
    ...p.present({ default_payment_method: method, description, footer, statement_descriptor }),
    ...(fields !== undefined && { custom_fields: fields === null ? null : [...fields] }),
    ...(rates !== undefined && { default_tax_rates: taxRatesFrom(store, rates, 'default_tax_rates') }),
    ...(types !== undefined && {
      payment_settings: { ...noPaymentSettings, payment_method_types: types && [...types] },
    }),
    ...(tax !== undefined && { automatic_tax: tax.enabled ? automaticTax : noAutomaticTax }),
    metadata: p.applyMetadata(before.metadata ?? {}, params.metadata),
  };
}

/** An invoice that is charged has no due date. One that is sent must have one. */
function collectionFrom(
  store: Store,
  params: InvoiceParams,
  before: Pick<Invoice, 'collection_method' | 'created' | 'customer' | 'due_date'>,
): Partial<Invoice> {
  const { days_until_due: days, due_date: date } = params;
  const method = params.collection_method ?? before.collection_method;
  const param = days === undefined ? 'due_date' : 'days_until_due';
  if (days !== undefined && date !== undefined) throw exclusiveParams('due_date', 'days_until_due');
  if (method !== 'send_invoice') {
    if (days !== undefined || date !== undefined)
      throw badParam(`You can only set ${param} if collection_method is send_invoice.`, param);
    return { collection_method: method, due_date: null };
  }
  if (date !== undefined && date <= store.now())
    throw badParam('due_date must be in the future.', 'due_date');
  const due = date ?? (days === undefined ? before.due_date : before.created + days * daySeconds);
  if (due === null)
    throw missingParam(
      'days_until_due',
      'If collection_method is send_invoice, you must set days_until_due or due_date.',
    );
  checkEmail(store, before.customer);
  return { collection_method: 'send_invoice', due_date: due };
}

/** Invoices are sent by e-mail. */
export function checkEmail(store: Store, customerId: string | null): void {
  if ((livingCustomer(store, customerId)?.email ?? null) === null)
    throw badParam(
      'Missing email. In order to create invoices that are sent to the customer, the customer must have a valid email.',
    );
}
