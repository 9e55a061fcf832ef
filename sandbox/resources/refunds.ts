import { createRefund } from '../payments/refund.ts';
import type { Store } from '../state/store.ts';
import type { Charge, Refund } from '../wire/objects.ts';
import {
  type Call,
  createdParam,
  cursorOf,
  listOf,
  listParams,
  type Operation,
  operation,
} from '../wire/operation.ts';
import { applyMetadata, integer, metadata, oneOf, text } from '../wire/params.ts';
import { badParam, missing, wrongState } from '../wire/wire-error.ts';

export const refundOperations: readonly Operation[] = [
  operation(
    { name: 'refunds.create', method: 'POST', path: 'refunds' },
    {
      amount: integer(1),
      charge: text(),
      payment_intent: text(),
      metadata,
      reason: oneOf('duplicate', 'fraudulent', 'requested_by_customer'),
    },
    ({ store }, params) =>
      createRefund(store, chargeToRefund(store, params), {
        amount: params.amount,
        reason: params.reason ?? null,
        metadata: applyMetadata({}, params.metadata),
      }),
  ),
  operation({ name: 'refunds.retrieve', method: 'GET', path: 'refunds/*' }, {}, existing),
  operation({ name: 'refunds.update', method: 'POST', path: 'refunds/*' }, { metadata }, (call, params) => {
    const before = existing(call);
    const after = call.store.change(call.store.refunds, before, {
      metadata: applyMetadata(before.metadata ?? {}, params.metadata),
    });
    call.store.emitUpdated('refund.updated', before, after);
    return after;
  }),
  operation({ name: 'refunds.cancel', method: 'POST', path: 'refunds/*/cancel' }, {}, (call) => {
    existing(call);
    // Only refunds that wait for the customer can be canceled, and cards never make one of those.
    throw wrongState('Only a refund that requires action can be canceled.', 'resource_missing');
  }),
  operation(
    { name: 'refunds.list', method: 'GET', path: 'refunds' },
    { ...listParams, ...createdParam, charge: text(), payment_intent: text() },
    ({ store }, params) => {
      const { charge, payment_intent } = params;
      const within =
        charge !== undefined
          ? { index: 'charge', key: charge }
          : payment_intent !== undefined
            ? { index: 'payment_intent', key: payment_intent }
            : undefined;
      return listOf(
        '/v1/refunds',
        store.refunds.list({
          ...cursorOf(params, (id) => store.refunds.get(id) !== undefined),
          created: params.created,
          within,
          where: (refund) => payment_intent === undefined || refund.payment_intent === payment_intent,
        }),
      );
    },
  ),
];

function existing({ store, ids: [id = ''] }: Call): Refund {
  const refund = store.refunds.get(id);
  if (refund === undefined) throw missing('refund', id);
  return refund;
}

function chargeToRefund(
  store: Store,
  params: { readonly charge: string | undefined; readonly payment_intent: string | undefined },
): Charge {
  if (params.charge !== undefined) {
    const charge = store.charges.get(params.charge);
    if (charge === undefined) throw missing('charge', params.charge, 'charge');
    if (params.payment_intent !== undefined && charge.payment_intent !== params.payment_intent)
      throw badParam(`Charge ${charge.id} does not belong to ${params.payment_intent}.`, 'payment_intent');
    return charge;
  }
  if (params.payment_intent === undefined)
    throw badParam('A refund needs a payment_intent or a charge.', undefined, 'parameter_missing');
  const intent = store.paymentIntents.get(params.payment_intent);
  if (intent === undefined) throw missing('payment_intent', params.payment_intent, 'payment_intent');
  const charge = intent.latest_charge === null ? undefined : store.charges.get(intent.latest_charge);
  if (charge === undefined || !charge.paid)
    throw wrongState(`The PaymentIntent ${intent.id} has no successful charge that could be refunded.`);
  return charge;
}
