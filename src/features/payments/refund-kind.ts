import type { Refund } from '#core/model/refund.ts';
import type { EventType } from '#engine/events/event.ts';
import { idsOf, objectKind } from '#engine/events/outbox/object-kind.ts';
import { type RefundView, refundView } from './refund-view.ts';

/** A reservation is not a refund yet, and a release returns money that was never received. */
export const refundKind = objectKind({
  type: 'refund',
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

export function refundEventType(before: RefundView, after: RefundView): EventType {
  return before.status !== 'failed' && after.status === 'failed' ? 'refund.failed' : 'refund.updated';
}
