import type { Payment, PaymentQuery } from '../../../../client/src/index.ts';
import { paymentSources, paymentStatuses } from '../../../../src/model/payment.ts';
import { pageOf } from '../../links.ts';
import type { Column } from '../../parts/data-table.tsx';
import {
  createdFilters,
  currencyFilter,
  customerFilter,
  type Filter,
  subscriptionFilter,
} from '../../parts/filters.tsx';
import { ListPage } from '../../parts/list-page.tsx';
import { Status } from '../../parts/status.tsx';
import { Money, none, Time } from '../../parts/values.tsx';
import { till } from '../../session.ts';
import { cardText } from './card-text.ts';

const filters: readonly Filter[] = [
  {
    kind: 'choice',
    name: 'status',
    label: 'Status',
    options: paymentStatuses,
  },
  {
    kind: 'choice',
    name: 'source',
    label: 'Source',
    options: paymentSources,
    otherwise: 'One-time payments',
  },
  currencyFilter,
  ...createdFilters,
  { kind: 'flag', name: 'failed', label: 'Failed' },
  { kind: 'flag', name: 'refunded', label: 'Refunded' },
  { kind: 'flag', name: 'disputed', label: 'Disputed' },
  customerFilter,
  subscriptionFilter,
];

export const paymentColumns: readonly Column<Payment>[] = [
  {
    header: 'Amount',
    cell: (payment) => (
      <a href={pageOf('payment', payment.id)}>
        <Money amount={payment.amount} currency={payment.currency} />
      </a>
    ),
  },
  { header: 'Status', cell: ({ status }) => <Status value={status} /> },
  { header: 'Description', cell: ({ description }) => description ?? none, isMinor: true },
  { header: 'Payment method', cell: ({ paymentMethod }) => cardText(paymentMethod) ?? none, isMinor: true },
  { header: 'Created', cell: ({ createdAt }) => <Time value={createdAt} /> },
];

export function PaymentsPage() {
  return (
    <ListPage
      title="Payments"
      noun="payment"
      list={(query: PaymentQuery, options) => till().payments.list(query, options)}
      exportPath="/api/v1/payments"
      columns={paymentColumns}
      keyOf={({ id }) => id}
      filters={filters}
      reloadOn={({ objectType }) => objectType === 'payment'}
    />
  );
}
