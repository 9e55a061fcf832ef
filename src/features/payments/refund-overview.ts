import type { Refund } from '#core/model/refund.ts';
import type { TimeZone } from '#core/platform/time-zone.ts';
import {
  asShown,
  type Contribution,
  type CountedKind,
  countAndAmountOf,
  type Total,
} from '#engine/overview/counted-kind.ts';
import { type RefundView, refundView } from './refund-fields.ts';
import type { RefundStore } from './refund-store.ts';

export const refundTotals: Readonly<Record<string, Total>> = {
  refunds: countAndAmountOf(
    'refunds.succeeded',
    'The refunds that were created in these days and have the status `succeeded`, of payments of any age. ' +
      'Rows: `GET /api/v1/refunds?status=succeeded` with `currency`, `createdAfter` and `createdBefore`.',
  ),
  pendingRefunds: countAndAmountOf(
    'refunds.pending',
    'The same with the status `pending`. Rows: with `status=pending`.',
  ),
  failedRefunds: countAndAmountOf(
    'refunds.failed',
    'The same with the status `failed`. Rows: with `status=failed`.',
  ),
};

export function countedRefunds(
  store: Pick<RefundStore, 'listAfter'>,
): CountedKind<Refund, RefundView, RefundView> {
  return {
    type: 'refund',
    fields: ['amount', 'currency', 'status', 'createdAt'],
    complete: asShown,
    contributionsOf: ofRefund,
    listAfter: (db, last, limit) => store.listAfter(db, last?.id ?? null, limit),
    // A reservation is not a refund yet.
    viewOf: (row) => (row.processorRefundId === null ? undefined : refundView(row)),
  };
}

function ofRefund(
  { createdAt, currency, status, amount, kind }: RefundView,
  zone: TimeZone,
): readonly Contribution[] {
  if (kind === 'release') return [];
  const day = zone.dayOfIso(createdAt);
  return [{ day, currency, metric: `refunds.${status}`, count: 1, amount: BigInt(amount) }];
}
