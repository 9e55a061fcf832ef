import type { Payment } from '#core/model/payment.ts';
import type { Refund } from '#core/model/refund.ts';
import { type Found, nothing } from '#engine/search/search.ts';
import { byAmounts, byIds, byKey, byLast4, type SearchSource } from '#engine/search/search-source.ts';
import type { PaymentStore } from './payment-store.ts';
import type { RefundStore } from './refund-store.ts';

export function paymentSources(store: PaymentStore): readonly SearchSource[] {
  return [
    byIds(store, showPayment),
    byKey((...by) => store.findByChargeId(...by), showPayment),
    byLast4((...by) => store.findByLast4(...by), showPayment),
    byAmounts((...by) => store.findByAmounts(...by), showPayment),
  ];
}

export function refundSources(store: RefundStore): readonly SearchSource[] {
  return [byIds(store, showRefund)];
}

function showPayment(row: Payment): Found {
  const { id, customerId, status, amount, currency, createdAt } = row;
  const label = row.processorPaymentIntentId;
  const shown = { objectType: 'payment', objectId: id, customerId, label };
  const personalLabel = row.description;
  return { ...nothing, ...shown, personalLabel, status, amount, currency, createdAt };
}

/** A refund that the processor has not confirmed yet is a reservation, which the API does not show. */
function showRefund(row: Refund): Found | undefined {
  const { id, customerId, paymentId, status, amount, currency, createdAt, processorRefundId } = row;
  if (processorRefundId === null) return undefined;
  const shown = {
    objectType: 'refund',
    objectId: id,
    customerId,
    paymentId,
    label: processorRefundId,
  };
  return { ...nothing, ...shown, status, amount, currency, createdAt };
}
