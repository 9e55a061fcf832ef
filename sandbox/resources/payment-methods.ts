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
import type { Operation } from '../wire/operation.ts';
import { applyMetadata, oneOf, required, text } from '../wire/params.ts';
import { badParam } from '../wire/wire-error.ts';
import { Resource } from './resource.ts';

const paymentMethods = new Resource('payment_methods', (store) => store.paymentMethods);

export const paymentMethodOperations: readonly Operation[] = [
  paymentMethods.operation(
    'create',
    'POST',
    { ...paymentMethodParams, type: required(oneOf('card')) },
    ({ store }, params) => createPaymentMethod(store, params),
    { forBrowsers: true },
  ),
  paymentMethods.retrieve(),
  paymentMethods.operation('update', 'POST *', changeParams, (call, params) => {
    const before = paymentMethods.existing(call);
    if (before.customer === null)
      throw badParam('You must save this PaymentMethod to a customer before you can update it.');
    const after = call.store.change(call.store.paymentMethods, before, {
      ...paymentMethodChanges(call.store, before, params),
      metadata: applyMetadata(before.metadata ?? {}, params.metadata),
    });
    call.store.emitUpdated('payment_method.updated', before, after);
    return after;
  }),
  paymentMethods.operation(
    'attach',
    'POST */attach',
    { customer: required(text()) },
    ({ store, id }, params) => {
      const method = usablePaymentMethod(store, id, store.paymentMethods.get(id)?.customer ?? null, 'id');
      return attachChecked(store, method, params.customer, 'customer');
    },
  ),
  paymentMethods.operation('detach', 'POST */detach', {}, (call) => {
    const method = paymentMethods.existing(call);
    if (method.customer === null)
      throw badParam('The PaymentMethod is not attached to a customer, so it cannot be detached.');
    return detach(call.store, method);
  }),
  paymentMethods.listWithoutCreated(
    { customer: text(), type: oneOf('card') },
    {
      check: (store, { customer }) => {
        if (customer !== undefined) existingCustomer(store, customer);
      },
      within: ({ customer }) => ({ customer }),
    },
  ),
];
