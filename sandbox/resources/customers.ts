import { cancelSubscription } from '../billing/subscription-change.ts';
import { newId } from '../ids.ts';
import { address } from '../payments/address.ts';
import { existingCustomer } from '../payments/customer.ts';
import { attachChecked, detach, usablePaymentMethod } from '../payments/payment-method.ts';
import type { Store } from '../state/store.ts';
import type { Customer } from '../wire/objects.ts';
import { createdParam, cursorOf, listOf, listParams, type Operation, operation } from '../wire/operation.ts';
import {
  applyMetadata,
  array,
  clearable,
  metadata,
  object,
  oneOf,
  type Parsed,
  text,
} from '../wire/params.ts';
import { badParam, missing } from '../wire/wire-error.ts';
import { searchOperation } from './search.ts';

/** The processor's own bounds. */
const emailLengthMax = 512;
const nameLengthMax = 256;
const phoneLengthMax = 20;
const localesMax = 10;

const changeable = {
  address: clearable(address),
  description: clearable(text()),
  email: clearable(text(emailLengthMax)),
  invoice_settings: object({ default_payment_method: clearable(text()) }),
  metadata,
  name: clearable(text(nameLengthMax)),
  phone: clearable(text(phoneLengthMax)),
  preferred_locales: array(text(), localesMax),
  tax_exempt: clearable(oneOf('exempt', 'none', 'reverse')),
};

export const customerOperations: readonly Operation[] = [
  operation(
    { name: 'customers.create', method: 'POST', path: 'customers' },
    { ...changeable, payment_method: text() },
    ({ store }, params) => {
      const blank = newCustomer(store);
      const made: Customer = { ...blank, ...changesOf(blank, params) };
      store.put(store.customers, made);
      const { payment_method: methodId, invoice_settings: settings } = params;
      const method =
        methodId === undefined
          ? null
          : attachChecked(store, usablePaymentMethod(store, methodId, null), made.id, 'customer');
      const defaultId = settings?.default_payment_method ?? null;
      // A customer that is only being made has no other payment method than the one it comes with.
      if (defaultId !== null && defaultId !== methodId)
        throw missing('PaymentMethod', defaultId, defaultParam);
      const customer: Customer =
        defaultId === null || method === null ? made : { ...made, ...withDefault(made, method.id) };
      store.put(store.customers, customer);
      store.emit('customer.created', customer);
      return customer;
    },
  ),
  operation(
    { name: 'customers.retrieve', method: 'GET', path: 'customers/*' },
    {},
    ({ store, ids: [id = ''] }) => {
      const customer = store.customers.get(id);
      if (customer === undefined) throw missing('customer', id);
      return customer;
    },
  ),
  operation(
    { name: 'customers.update', method: 'POST', path: 'customers/*' },
    changeable,
    ({ store, ids: [id = ''] }, params) => {
      const before = existingCustomer(store, id, 'id');
      const methodId = params.invoice_settings?.default_payment_method;
      if (methodId != null && store.paymentMethods.get(methodId)?.customer !== id)
        throw missing('PaymentMethod', methodId, defaultParam);
      const changes = changesOf(before, params);
      const customer = store.change(store.customers, before, {
        ...changes,
        ...(methodId === undefined ? {} : withDefault(before, methodId)),
      });
      store.emitUpdated('customer.updated', before, customer);
      return customer;
    },
  ),
  operation(
    { name: 'customers.delete', method: 'DELETE', path: 'customers/*' },
    {},
    ({ store, ids: [id = ''] }) => {
      const customer = existingCustomer(store, id, 'id');
      for (const subscription of store.subscriptions.allWithin('customer', id))
        if (subscription.ended_at === null) cancelSubscription(store, subscription, 'cancellation_requested');
      for (const method of store.paymentMethods.allWithin('customer', id)) detach(store, method);
      store.emit('customer.deleted', customer);
      return store.put(store.customers, { id, object: 'customer', deleted: true });
    },
  ),
  operation(
    { name: 'customers.list', method: 'GET', path: 'customers' },
    { ...listParams, ...createdParam, email: text(emailLengthMax) },
    ({ store }, params) =>
      listOf(
        '/v1/customers',
        store.customers.list({
          ...cursorOf(params, (id) => store.customers.get(id) !== undefined),
          created: params.created,
          within: params.email === undefined ? undefined : { index: 'email', key: params.email },
          where: (customer) => !customer.deleted,
        }),
      ),
  ),
  operation(
    { name: 'customers.list_payment_methods', method: 'GET', path: 'customers/*/payment_methods' },
    { ...listParams, type: oneOf('card') },
    ({ store, ids: [id = ''] }, params) => {
      existingCustomer(store, id, 'id');
      return listOf(
        `/v1/customers/${id}/payment_methods`,
        store.paymentMethods.list({
          ...cursorOf(params, (cursor) => store.paymentMethods.get(cursor) !== undefined),
          within: { index: 'customer', key: id },
        }),
      );
    },
  ),
  searchOperation('customers', (store) => store.customers),
];

const defaultParam = 'invoice_settings[default_payment_method]';

function withDefault(customer: Customer, methodId: string | null): Pick<Customer, 'invoice_settings'> {
  return { invoice_settings: { ...customer.invoice_settings, default_payment_method: methodId } };
}

function newCustomer(store: Store): Customer {
  return {
    id: newId('cus_', 14),
    object: 'customer',
    address: null,
    balance: 0,
    created: store.now(),
    currency: null,
    customer_account: null,
    default_source: null,
    delinquent: false,
    description: null,
    discount: null,
    email: null,
    invoice_prefix: newId('', 8).toUpperCase(),
    invoice_settings: {
      custom_fields: null,
      default_payment_method: null,
      footer: null,
      rendering_options: null,
    },
    livemode: false,
    metadata: {},
    name: null,
    next_invoice_sequence: 1,
    phone: null,
    preferred_locales: [],
    shipping: null,
    tax_exempt: 'none',
    test_clock: null,
  };
}

function changesOf(before: Customer, params: Parsed<typeof changeable>): Partial<Customer> {
  if (params.email != null && !/^[^\s@]+@[^\s@]+$/.test(params.email))
    throw badParam(`Invalid email address: ${params.email}`, 'email', 'email_invalid');
  return {
    ...(params.address === undefined ? {} : { address: params.address }),
    ...(params.description === undefined ? {} : { description: params.description }),
    ...(params.email === undefined ? {} : { email: params.email }),
    ...(params.name === undefined ? {} : { name: params.name }),
    ...(params.phone === undefined ? {} : { phone: params.phone }),
    ...(params.preferred_locales === undefined ? {} : { preferred_locales: [...params.preferred_locales] }),
    ...(params.tax_exempt === undefined ? {} : { tax_exempt: params.tax_exempt ?? 'none' }),
    ...(params.metadata === undefined ? {} : { metadata: applyMetadata(before.metadata, params.metadata) }),
  };
}
