import { createRefund } from '../payments/refund.ts';
import type { Store } from '../state/store.ts';
import type { Charge } from '../wire/objects.ts';
import * as p from '../wire/params.ts';
import { badParam, wrongState } from '../wire/wire-error.ts';
import { Resource } from './resource.ts';

const refunds = new Resource('refunds', (store) => store.refunds);

export const refundOperations = [
  refunds.create(
    {
      amount: p.integer(1),
      charge: p.text(),
      payment_intent: p.text(),
      metadata: p.metadata,
      reason: p.oneOf('duplicate', 'fraudulent', 'requested_by_customer'),
    },
    ({ store }, params) =>
      createRefund(store, chargeToRefund(store, params), {
        amount: params.amount,
        reason: params.reason ?? null,
        metadata: p.applyMetadata({}, params.metadata),
      }),
  ),
  refunds.retrieve(),
  refunds.update({ metadata: p.metadata }, ({ store }, before, params) => {
    const after = store.update('refund.updated', store.refunds, before, {
      metadata: p.applyMetadata(before.metadata ?? {}, params.metadata),
    });
    store.emitUpdated('charge.refund.updated', before, after);
    return after;
  }),
  refunds.action('cancel', {}, () => {
    // Only a refund that requires action can be canceled, and a refund to a card never does.
    throw wrongState('Only a refund that requires action can be canceled.', 'resource_missing');
  }),
  refunds.list(p.each(p.text(), 'charge payment_intent')),
];

function chargeToRefund(
  store: Store,
  params: { readonly charge: string | undefined; readonly payment_intent: string | undefined },
): Charge {
  if (params.charge !== undefined) {
    const charge = store.charges.existing(params.charge, 'charge');
    if (params.payment_intent !== undefined && charge.payment_intent !== params.payment_intent)
      throw badParam(`Charge ${charge.id} does not belong to ${params.payment_intent}.`, 'payment_intent');
    return charge;
  }
  if (params.payment_intent === undefined)
    throw badParam('A refund needs a payment_intent or a charge.', undefined, 'parameter_missing');
  const intent = store.paymentIntents.existing(params.payment_intent, 'payment_intent');
  const charge = store.charges.get(intent.latest_charge);
  if (charge === undefined || !charge.paid)
    throw wrongState(`The PaymentIntent ${intent.id} has no successful charge to refund.`);
  return charge;
}
