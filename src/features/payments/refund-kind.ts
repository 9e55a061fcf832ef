import type { Refund } from '#core/model/refund.ts';
import { idsOf, objectKind } from '#engine/events/outbox/object-kind.ts';
import { type RefundView, refundView } from './refund-fields.ts';

export const refundEvents = {
  objectType: 'refund',
  shownBy: 'GET /payments/{id}/refunds',
  meanings: {
    'refund.created':
      'A refund was created, in Till or at the processor. A release of an amount that was not captured has no event.',
    'refund.updated': 'The status or another value of a refund changed.',
    'refund.failed': 'A refund failed. The amount counts as paid again.',
  },
} as const;

type RefundEventType = keyof typeof refundEvents.meanings;

/** A reservation is not a refund yet, and a release returns money that was never received. */
export const refundKind = objectKind({
  events: refundEvents,
  table: 'refunds',
  show: (row: Refund) => ({
    id: row.id,
    customerId: row.customerId,
    view: refundView(row),
    isVisible: row.processorRefundId !== null && row.kind === 'refund',
    ids: idsOf(row.id, row.processorRefundId),
  }),
  typeOf: refundEventType,
});

export function refundEventType(before: RefundView, after: RefundView): RefundEventType {
  return before.status !== 'failed' && after.status === 'failed' ? 'refund.failed' : 'refund.updated';
}
