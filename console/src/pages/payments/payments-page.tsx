import type { Payment, PaymentQuery } from '@till/client';
import { paymentStatuses } from '../../../../src/core/model/payment.ts';
import { cardText } from '../../format/card.ts';
import { pageOf } from '../../links.ts';
import { customerColumn } from '../../parts/customer-link.tsx';
import type { Column } from '../../parts/data-table.tsx';
import {
  choiceFilter,
  createdFilters,
  currencyFilter,
  customerFilter,
  type Filter,
  includeCustomer,
  invoiceFilter,
  subscriptionFilter,
} from '../../parts/filters.tsx';
import { ListPage } from '../../parts/list-page.tsx';
import { PaymentStatus } from '../../parts/status.tsx';
import { Money, none, Time } from '../../parts/values.tsx';
import { till } from '../../session.ts';
import { toPaymentQuery } from './payment-query.ts';

/** The statuses of disputes that need a response, as the filter takes them. */
export const needsResponse = 'needs_response,warning_needs_response';

const sources = { one_time: 'One-time payments', subscription: 'Payments of subscriptions' };
const refunds = {
  none: 'Not refunded',
  partial: 'Partly refunded',
  full: 'Fully refunded',
  true: 'Partly or fully refunded',
};
const disputes = {
  [needsResponse]: 'Needs a response',
  'under_review,warning_under_review': 'Under review',
  won: 'Won',
  lost: 'Lost',
  warning_closed: 'Inquiry closed',
};

const filters: readonly Filter[] = [
  { kind: 'choice', name: 'status', label: 'Status', options: paymentStatuses },
  choiceFilter('source', 'Kind of payment', sources, 'All'),
  choiceFilter('refunded', 'Refunds', refunds),
  currencyFilter,
  { kind: 'text', name: 'amountMin', label: 'Amount from' },
  { kind: 'text', name: 'amountMax', label: 'Amount to' },
  ...createdFilters,
  { kind: 'flag', name: 'failed', label: 'Failed' },
  { kind: 'text', name: 'failureCode', label: 'Reason of the failure', isLowerCase: true },
  { kind: 'flag', name: 'disputed', label: 'Disputed' },
  choiceFilter('disputeStatus', 'Dispute', disputes),
  customerFilter,
  subscriptionFilter,
  invoiceFilter,
];

export const paymentColumns: readonly Column<Payment>[] = [
  {
    header: 'Amount',
    sort: 'amount',
    cell: (payment) => (
      <a href={pageOf('payment', payment.id)}>
        <Money amount={payment.amount} currency={payment.currency} />
      </a>
    ),
  },
  { header: 'Status', cell: (payment) => <PaymentStatus of={payment} /> },
  { header: 'Description', cell: ({ description }) => description ?? none, isMinor: true },
  { header: 'Payment method', cell: ({ paymentMethod }) => cardText(paymentMethod) ?? none, isMinor: true },
  { header: 'Created', sort: 'createdAt', cell: ({ createdAt }) => <Time value={createdAt} /> },
];

/** With the customer, for lists of all customers. */
const listColumns = paymentColumns.toSpliced(2, 0, customerColumn());

export function PaymentsPage() {
  return (
    <ListPage
      title="Payments"
      noun="payment"
      list={(query: PaymentQuery, options) => till().payments.list(query, options)}
      exportPath="/api/v1/payments"
      columns={listColumns}
      keyOf={({ id }) => id}
      filters={filters}
      toQuery={toPaymentQuery}
      fixed={includeCustomer}
      reloadOn={({ objectType }) => objectType === 'payment'}
    />
  );
}
