import type { Payment } from '#core/model/payment.ts';
import type { TimeZone } from '#core/platform/time-zone.ts';
import {
  amountOf,
  asShown,
  type Contribution,
  type CountedKind,
  countAndAmountOf,
  countOf,
  type Total,
} from '#engine/overview/counted-kind.ts';
import { type PaymentView, paymentView } from './payment-fields.ts';
import type { PaymentStore } from './payment-store.ts';

/** The statuses of a dispute in which the processor has taken the money back. An inquiry takes no money. */
const withdrawnStatuses = ['needs_response', 'under_review', 'lost'] as const;

/** Payments of all sources count, by the day on which they were created, as they are now. */
export const paymentTotals: Readonly<Record<string, Total>> = {
  volume: amountOf(
    'payments',
    'The amount received by the payments that were created in these days: the sum of `amountReceived`, before refunds. ' +
      'Rows: `GET /api/v1/payments?source=all` with `currency`, `createdAfter` and `createdBefore`.',
    4_900,
  ),
  payments: countOf(
    'payments',
    'The number of payments that were created in these days, whatever their status. Rows: those of `volume`.',
    2,
  ),
  succeededPayments: countOf(
    'payments.succeeded',
    'How many of them have the status `succeeded` now. Rows: with `status=succeeded`.',
    1,
  ),
  failedPayments: countAndAmountOf(
    'payments.failed',
    'Those whose last attempt to pay failed, and which have not succeeded since; `amount` is the sum of their `amount`. ' +
      'Rows: with `failed=true`.',
    { count: 1, amount: 2_900 },
  ),
  refundedPayments: countAndAmountOf(
    'payments.refunded',
    'Those that were refunded, in full or in part, at any time; `amount` is the sum of their `amountRefunded`. ' +
      'Rows: with `refunded=true`.',
  ),
  disputedPayments: countAndAmountOf(
    'payments.disputed',
    'Those that were disputed at any time; `amount` is the sum of the amounts of their newest disputes in the ' +
      'currency of the payment. Rows: with `disputed=true`.',
  ),
};

export function countedPayments(
  store: Pick<PaymentStore, 'listAfter'>,
): CountedKind<Payment, PaymentView, PaymentView> {
  return {
    type: 'payment',
    fields: [
      'amount',
      'currency',
      'status',
      'amountReceived',
      'amountRefunded',
      'failure',
      'dispute',
      'createdAt',
    ],
    complete: asShown,
    contributionsOf: ofPayment,
    listAfter: (db, last, limit) => store.listAfter(db, last?.id ?? null, limit),
    viewOf: paymentView,
  };
}

function ofPayment(view: PaymentView, zone: TimeZone): readonly Contribution[] {
  const at = { day: zone.dayOfIso(view.createdAt), currency: view.currency };
  const add = (metric: string, amount: number) => ({ ...at, metric, count: 1, amount: BigInt(amount) });
  const disputed = view.dispute?.amount ?? 0;
  return [
    add('payments', view.amountReceived),
    ...(view.status === 'succeeded' ? [add('payments.succeeded', view.amountReceived)] : []),
    ...(view.failure === null ? [] : [add('payments.failed', view.amount)]),
    ...(view.amountRefunded === 0 ? [] : [add('payments.refunded', view.amountRefunded)]),
    ...(view.dispute === null ? [] : ofDispute(view.dispute).map((metric) => add(metric, disputed))),
  ];
}

function ofDispute({ status }: NonNullable<PaymentView['dispute']>): readonly string[] {
  const isWithdrawn = withdrawnStatuses.some((one) => one === status);
  return ['payments.disputed', ...(isWithdrawn ? ['payments.withdrawn'] : [])];
}
