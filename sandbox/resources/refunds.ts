import { createRefund } from '../payments/refund.ts';
import type { Store } from '../state/store.ts';
import { existing } from '../wire/existing.ts';
import type { Charge } from '../wire/objects.ts';
import type { Operation } from '../wire/operation.ts';
import { applyMetadata, integer, metadata, oneOf, text } from '../wire/params.ts';
import { badParam, wrongState } from '../wire/wire-error.ts';
import { Resource } from './resource.ts';

const refunds = new Resource('refunds', (store) => store.refunds);

export const refundOperations: readonly Operation[] = [
  refunds.operation(
    'create',
    'POST',
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
  refunds.retrieve(),
  refunds.operation('update', 'POST *', { metadata }, (call, params) => {
    const before = refunds.existing(call);
    const after = call.store.change(call.store.refunds, before, {
      metadata: applyMetadata(before.metadata ?? {}, params.metadata),
    });
    call.store.emitUpdated('refund.updated', before, after);
    call.store.emitUpdated('charge.refund.updated', before, after);
    return after;
  }),
  refunds.operation('cancel', 'POST */cancel', {}, (call) => {
    refunds.existing(call);
    // Only a refund that requires action can be canceled, and a refund to a card never does.
    throw wrongState('Only a refund that requires action can be canceled.', 'resource_missing');
  }),
  refunds.list(
    { charge: text(), payment_intent: text() },
    {
      within: ({ charge, payment_intent }) => ({ charge, payment_intent }),
    },
  ),
];

function chargeToRefund(
  store: Store,
  params: { readonly charge: string | undefined; readonly payment_intent: string | undefined },
): Charge {
  if (params.charge !== undefined) {
    const charge = existing(store.charges, params.charge, 'charge');
    if (params.payment_intent !== undefined && charge.payment_intent !== params.payment_intent)
      throw badParam(`Charge ${charge.id} does not belong to ${params.payment_intent}.`, 'payment_intent');
    return charge;
  }
  if (params.payment_intent === undefined)
    throw badParam('A refund needs a payment_intent or a charge.', undefined, 'parameter_missing');
  const intent = existing(store.paymentIntents, params.payment_intent, 'payment_intent');
  const charge = intent.latest_charge === null ? undefined : store.charges.get(intent.latest_charge);
  if (charge === undefined || !charge.paid)
    throw wrongState(`The PaymentIntent ${intent.id} has no successful charge to refund.`);
  return charge;
}
