import { existingCustomer } from '../payments/customer.ts';
import * as methods from '../payments/payment-method.ts';
import * as p from '../wire/params.ts';
import { badParam } from '../wire/wire-error.ts';
import { Resource } from './resource.ts';

const paymentMethods = new Resource('payment_methods', (store) => store.paymentMethods);

export const paymentMethodOperations = [
  paymentMethods.create(
    { ...methods.paymentMethodParams, type: p.required(p.oneOf('card')) },
    ({ store }, params) => methods.createPaymentMethod(store, params),
    { forBrowsers: true },
  ),
  paymentMethods.retrieve(),
  paymentMethods.update(methods.changeParams, ({ store }, before, params) => {
    if (before.customer === null)
      throw badParam('You must save this PaymentMethod to a customer before you can update it.');
    return store.update('payment_method.updated', store.paymentMethods, before, {
      ...methods.paymentMethodChanges(store, before, params),
      metadata: p.applyMetadata(before.metadata ?? {}, params.metadata),
    });
  }),
  paymentMethods.operation(
    'attach',
    'POST */attach',
    { customer: p.required(p.text()) },
    ({ store, id }, params) => {
      const method = methods.usablePaymentMethod(
        store,
        id,
        store.paymentMethods.get(id)?.customer ?? null,
        'id',
      );
      return methods.attachChecked(store, method, params.customer, 'customer');
    },
  ),
  paymentMethods.action('detach', {}, ({ store }, method) => {
    if (method.customer === null)
      throw badParam('The PaymentMethod is not attached to a customer, so it cannot be detached.');
    return methods.detach(store, method);
  }),
  paymentMethods.list(
    { customer: p.text(), type: p.oneOf('card') },
    {
      hasCreated: false,
      check: (store, { customer }) => {
        if (customer !== undefined) existingCustomer(store, customer);
      },
    },
  ),
];
