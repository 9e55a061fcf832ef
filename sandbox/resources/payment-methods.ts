import { existingCustomer } from '../payments/customer.ts';
import {
  attachChecked,
  changeParams,
  createPaymentMethod,
  detach,
  paymentMethodChanges,
  paymentMethodParams,
  usablePaymentMethod,
} from '../payments/payment-method.ts';
import * as p from '../wire/params.ts';
import { badParam } from '../wire/wire-error.ts';
import { Resource } from './resource.ts';

const paymentMethods = new Resource('payment_methods', (store) => store.paymentMethods);

export const paymentMethodOperations = [
  paymentMethods.create(
    { ...paymentMethodParams, type: p.required(p.oneOf('card')) },
    ({ store }, params) => createPaymentMethod(store, params),
    { forBrowsers: true },
  ),
  paymentMethods.retrieve(),
  paymentMethods.update(changeParams, ({ store }, before, params) => {
    if (before.customer === null)
      throw badParam('You must save this PaymentMethod to a customer before you can update it.');
    return store.update('payment_method.updated', store.paymentMethods, before, {
      ...paymentMethodChanges(store, before, params),
      metadata: p.applyMetadata(before.metadata ?? {}, params.metadata),
    });
  }),
  paymentMethods.operation(
    'attach',
    'POST */attach',
    { customer: p.required(p.text()) },
    ({ store, id }, params) => {
      const method = usablePaymentMethod(store, id, store.paymentMethods.get(id)?.customer ?? null, 'id');
      return attachChecked(store, method, params.customer, 'customer');
    },
  ),
  paymentMethods.action('detach', {}, ({ store }, method) => {
    if (method.customer === null)
      throw badParam('The PaymentMethod is not attached to a customer, so it cannot be detached.');
    return detach(store, method);
  }),
  paymentMethods.listWithoutCreated(
    { customer: p.text(), type: p.oneOf('card') },
    {
      check: (store, { customer }) => {
        if (customer !== undefined) existingCustomer(store, customer);
      },
    },
  ),
];
