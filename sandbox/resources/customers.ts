import { changeCustomerDiscount } from '../billing/discount.ts';
import { cancelSubscription } from '../billing/subscription-change.ts';
import { newId } from '../ids.ts';
import { address, type Shipping, shipping } from '../payments/address.ts';
import { existingCustomer, ofCustomer } from '../payments/customer.ts';
import { attachChecked, createSource, detach, usablePaymentMethod } from '../payments/payment-method.ts';
import type { Store } from '../state/store.ts';
import { nulls } from '../wire/nulls.ts';
import type { Customer } from '../wire/objects.ts';
import type { Call } from '../wire/operation.ts';
import * as p from '../wire/params.ts';
import { badParam, missing } from '../wire/wire-error.ts';
import { customerDiscount, oldDiscountParams } from './discount-params.ts';
import { invoiceParams } from './invoice-params.ts';
import { customerList } from './listing.ts';
import { Resource } from './resource.ts';
import { createTaxId, taxIdParams } from './tax-ids.ts';
import { checkTaxLocation } from './tax-rates.ts';
import { checkAttachable } from './test-clocks.ts';

/** The processor's own limits. */
const emailLengthMax = 512;
const nameLengthMax = 256;
const phoneLengthMax = 20;
const localesMax = 10;
const taxIdsMax = 5;

const invoicePrefix: p.Parser<string> = (node, path) => {
  const prefix = p.text()(node, path);
  if (!/^[A-Z0-9]{3,12}$/.test(prefix))
    throw badParam('An invoice prefix has 3 to 12 uppercase letters or digits.', path);
  return prefix;
};

const changeable = {
  ...oldDiscountParams,
  address: p.clearable(address),
  balance: p.integer(-Number.MAX_SAFE_INTEGER),
  description: p.clearable(p.text()),
  email: p.clearable(p.text(emailLengthMax)),
  invoice_prefix: invoicePrefix,
  invoice_settings: p.object({
    custom_fields: invoiceParams.custom_fields,
    default_payment_method: p.clearable(p.text()),
    footer: invoiceParams.footer,
  }),
  metadata: p.metadata,
  name: p.clearable(p.text(nameLengthMax)),
  phone: p.clearable(p.text(phoneLengthMax)),
  preferred_locales: p.array(p.text(), localesMax),
  shipping: p.clearable(shipping),
  source: p.text(),
  tax: p.object({
    ip_address: p.clearable(p.text()),
    validate_location: p.oneOf('auto', 'deferred', 'immediately'),
  }),
  tax_exempt: p.clearable(p.oneOf('exempt', 'none', 'reverse')),
};

const customers = new Resource('customers', (store) => store.customers);

export const customerOperations = [
  customers.create(
    {
      ...changeable,
      payment_method: p.text(),
      tax_id_data: p.array(p.object(taxIdParams), taxIdsMax),
      test_clock: p.text(),
    },
    (call, params) => {
      const { store } = call;
      checkAttachable(store, params.test_clock);
      const blank = newCustomer(store, params.test_clock ?? null);
      const created: Customer = { ...blank, ...changesOf(blank, params) };
      store.put(store.customers, created);
      const { payment_method: methodId, invoice_settings: settings } = params;
      const method =
        methodId === undefined
          ? null
          : attachChecked(store, usablePaymentMethod(store, methodId, null), created.id, 'customer');
      const defaultId = settings?.default_payment_method ?? null;
      // A new customer's only payment method is the one in this request.
      if (defaultId !== null && defaultId !== methodId)
        throw missing('PaymentMethod', defaultId, defaultParam);
      const customer: Customer = {
        ...created,
        ...(defaultId === null || method === null ? {} : withDefault(created, method.id)),
        ...sourceFrom(store, created.id, params),
      };
      store.put(store.customers, customer);
      store.emit('customer.created', customer);
      for (const taxId of params.tax_id_data ?? []) createTaxId(store, customer.id, taxId);
      return settled(call, customer, params);
    },
  ),
  customers.retrieve(),
  customers.operation('update', 'POST *', changeable, (call, params) => {
    const { store, id } = call;
    const before = existingCustomer(store, id, 'id');
    const methodId = params.invoice_settings?.default_payment_method;
    if (methodId != null && store.paymentMethods.get(methodId)?.customer !== id)
      throw missing('PaymentMethod', methodId, defaultParam);
    const changes = changesOf(before, params);
    const customer: Customer = {
      ...before,
      ...changes,
      ...(methodId === undefined ? {} : withDefault({ ...before, ...changes }, methodId)),
      ...sourceFrom(store, id, params),
    };
    store.put(store.customers, customer);
    store.emitUpdated('customer.updated', before, customer);
    return settled(call, customer, params);
  }),
  customers.operation('delete', 'DELETE *', {}, ({ store, id }) => {
    const customer = existingCustomer(store, id, 'id');
    for (const subscription of store.subscriptions.allWithin('customer', id))
      if (subscription.ended_at === null) cancelSubscription(store, subscription, 'cancellation_requested');
    for (const method of store.paymentMethods.allWithin('customer', id)) detach(store, method);
    for (const item of store.invoiceItems.allWithin('pending', id)) store.remove(store.invoiceItems, item.id);
    store.emit('customer.deleted', customer);
    return store.put(store.customers, { id, object: 'customer', deleted: true });
  }),
  customers.operation('delete_discount', 'DELETE */discount', {}, ({ store, id }) => {
    const customer = existingCustomer(store, id, 'id');
    const { discount } = customer;
    if (discount == null) throw missing('discount', id);
    changeCustomerDiscount(store, customer, null);
    const { end: _, ...rest } = discount;
    return { ...rest, deleted: true };
  }),
  customers.list(
    { email: p.text(emailLengthMax), test_clock: p.text() },
    {
      check: (store, { test_clock: id }) => {
        if (id !== undefined) store.testClocks.existing(id, 'test_clock');
      },
      // Customers of a test clock are listed only by their clock.
      where: (customer, { test_clock: id }) =>
        !customer.deleted && (customer.test_clock === null || customer.test_clock === id),
    },
  ),
  customerList(
    'subscriptions',
    (store) => store.subscriptions,
    {},
    ({ ended_at }) => ended_at === null,
  ),
  customerList('payment_methods', (store) => store.paymentMethods, { type: p.oneOf('card') }),
  customers.operation('retrieve_payment_method', 'GET */payment_methods/*', {}, (call) =>
    ofCustomer(call, call.store.paymentMethods),
  ),
  customers.search(),
];

const defaultParam = 'invoice_settings[default_payment_method]';

function withDefault(customer: Customer, methodId: string | null): Pick<Customer, 'invoice_settings'> {
  return { invoice_settings: { ...customer.invoice_settings, default_payment_method: methodId } };
}

/** The older way to give a card to a customer: a token that becomes the default source. */
function sourceFrom(
  store: Store,
  customerId: string,
  { source }: p.Parsed<typeof changeable>,
): Partial<Customer> {
  if (source === undefined) return {};
  return {
    default_source: attachChecked(store, createSource(store, source, 'source'), customerId, 'customer').id,
  };
}

export function newCustomer(store: Store, testClock: string | null): Customer {
  return {
    ...store.blank(store.customers, 'customer'),
    ...nulls(
      'address currency customer_account default_source description discount email name phone shipping',
    ),
    balance: 0,
    delinquent: false,
    invoice_prefix: newId('', 8).toUpperCase(),
    invoice_settings: nulls('custom_fields default_payment_method footer rendering_options'),
    metadata: {},
    next_invoice_sequence: 1,
    preferred_locales: [],
    tax_exempt: 'none',
    test_clock: testClock,
  };
}

function changesOf(before: Customer, params: p.Parsed<typeof changeable>): Partial<Customer> {
  if (params.email != null && !/^[^\s@]+@[^\s@]+$/.test(params.email))
    throw badParam(`Invalid email address: ${params.email}`, 'email', 'email_invalid');
  const { address, balance, description, email, invoice_prefix, name, phone, shipping } = params;
  const { preferred_locales: locales, invoice_settings: settings } = params;
  const { custom_fields: fields, footer } = settings ?? {};
  return {
    ...p.present({ address, balance, description, email, invoice_prefix, name, phone }),
    invoice_settings: {
      ...before.invoice_settings,
      ...p.present({ footer }),
      ...(fields !== undefined && { custom_fields: fields && [...fields] }),
    },
    ...(locales !== undefined && { preferred_locales: [...locales] }),
    ...(shipping !== undefined && { shipping: customerShipping(shipping) }),
    ...(params.tax_exempt !== undefined && { tax_exempt: params.tax_exempt ?? 'none' }),
    metadata: p.applyMetadata(before.metadata, params.metadata),
  };
}

/** Applies what is not a field of the customer: the discount, and the check of the location. */
function settled(call: Call, customer: Customer, params: p.Parsed<typeof changeable>): Customer {
  const discount = customerDiscount(call, params);
  if (params.tax?.validate_location === 'immediately') checkTaxLocation(call.store, customer.id);
  return discount === undefined ? customer : changeCustomerDiscount(call.store, customer, discount);
}

/** A customer's shipping details have no carrier, which belongs to an order. */
function customerShipping(given: Shipping | null): Customer['shipping'] {
  return given === null ? null : { address: given.address, name: given.name, phone: given.phone };
}
