import type { RefundService } from '../../payments/refund-service.ts';
import { defineFamily } from './event-family.ts';

/** refund.created, updated, failed; charge.refund.updated; and charge.refunded where it lists the refunds */
export function refundEvents(refunds: RefundService) {
  return defineFamily({
    pick: (event) => {
      if (event.resource === 'refund') return [event.refund];
      return event.resource === 'charge' && event.refunds !== 'unread' ? event.refunds : undefined;
    },
    keyOf: ({ processorRefundId }) => processorRefundId,
    apply: (tx, facts) => refunds.apply(tx, facts, 'events'),
    refresh: (key) => refunds.refresh(key),
  });
}

/** charge.refunded in its newer shape, which says that something was refunded but not what: they are refreshed. */
export function chargeEvents(refunds: RefundService) {
  return defineFamily({
    pick: (event) => (event.resource === 'charge' ? [event.processorPaymentIntentId] : undefined),
    keyOf: (processorPaymentIntentId) => processorPaymentIntentId ?? '',
    apply: async (tx, facts) => {
      const ids = facts.map((id) => id ?? '');
      const ours = await refunds.findOurPayments(tx, ids);
      return {
        changed: [],
        ignored: ids.filter((id) => !ours.has(id)),
        unsettled: ids.filter((id) => ours.has(id)),
      };
    },
    refresh: (key) => refunds.refreshOfPayment(key),
  });
}
