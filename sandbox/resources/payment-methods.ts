import { existingCustomer } from '../payments/customer.ts';
import {
  attachChecked,
  createPaymentMethod,
  detach,
  paymentMethodParams,
  usablePaymentMethod,
} from '../payments/payment-method.ts';
import type { PaymentMethod } from '../wire/objects.ts';
import { type Call, cursorOf, listOf, listParams, type Operation, operation } from '../wire/operation.ts';
import { applyMetadata, metadata, oneOf, required, text } from '../wire/params.ts';
import { badParam, missing } from '../wire/wire-error.ts';

export const paymentMethodOperations: readonly Operation[] = [
  operation(
    { name: 'payment_methods.create', method: 'POST', path: 'payment_methods', forBrowsers: true },
    { ...paymentMethodParams, type: required(oneOf('card')) },
    ({ store }, params) => createPaymentMethod(store, params),
  ),
  operation({ name: 'payment_methods.retrieve', method: 'GET', path: 'payment_methods/*' }, {}, existing),
  operation(
    { name: 'payment_methods.update', method: 'POST', path: 'payment_methods/*' },
    { metadata },
    (call, params) => {
      const before = existing(call);
      const after = call.store.change(call.store.paymentMethods, before, {
        metadata: applyMetadata(before.metadata ?? {}, params.metadata),
      });
      call.store.emitUpdated('payment_method.updated', before, after);
      return after;
    },
  ),
  operation(
    { name: 'payment_methods.attach', method: 'POST', path: 'payment_methods/*/attach' },
    { customer: required(text()) },
    ({ store, ids: [id = ''] }, params) => {
      const method = usablePaymentMethod(store, id, store.paymentMethods.get(id)?.customer ?? null, 'id');
      return attachChecked(store, method, params.customer, 'customer');
    },
  ),
  operation(
    { name: 'payment_methods.detach', method: 'POST', path: 'payment_methods/*/detach' },
    {},
    (call) => {
      const method = existing(call);
      if (method.customer === null)
        throw badParam('The PaymentMethod is attached to nobody, so it cannot be detached.');
      return detach(call.store, method);
    },
  ),
  operation(
    { name: 'payment_methods.list', method: 'GET', path: 'payment_methods' },
    { ...listParams, customer: text(), type: oneOf('card') },
    ({ store }, params) => {
      if (params.customer !== undefined) existingCustomer(store, params.customer);
      return listOf(
        '/v1/payment_methods',
        store.paymentMethods.list({
          ...cursorOf(params, (id) => store.paymentMethods.get(id) !== undefined),
          within: params.customer === undefined ? undefined : { index: 'customer', key: params.customer },
        }),
      );
    },
  ),
];

function existing({ store, ids: [id = ''] }: Call): PaymentMethod {
  const method = store.paymentMethods.get(id);
  if (method === undefined) throw missing('PaymentMethod', id);
  return method;
}
