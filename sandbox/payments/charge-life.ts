import type { Store } from '../state/store.ts';
import type { Charge } from '../wire/objects.ts';
import { isUnsettled, settleCharge } from './balance-transaction.ts';
import { createDispute, willBeDisputed } from './dispute.ts';
import { cancelPaymentIntent } from './payment-intent.ts';

/** When the charge changes without a request, or null. */
export function chargeDueAt(charge: Charge): number | null {
  if (isUnsettled(charge) || willBeDisputed(charge)) return charge.created;
  return charge.captured ? null : (charge.payment_method_details?.card?.capture_before ?? null);
}

export function chargeFallsDue(store: Store, charge: Charge): void {
  if (!charge.captured) {
    expire(store, charge);
    return;
  }
  const settled = settleCharge(store, charge);
  if (willBeDisputed(settled)) createDispute(store, settled);
}

/** Releases an authorization that was not captured in time. */
function expire(store: Store, charge: Charge): void {
  const intent = store.paymentIntents.get(charge.payment_intent);
  if (intent?.status !== 'requires_capture') return;
  store.emit('charge.expired', charge);
  cancelPaymentIntent(store, intent, 'automatic');
}
