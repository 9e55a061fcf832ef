import type { Refund, RefundQuery } from '@till/client';
import { refundStatuses } from '../../../../src/core/model/refund.ts';
import { words } from '../../format/words.ts';
import { pageOf } from '../../links.ts';
import { customerColumn } from '../../parts/customer-link.tsx';
import type { Column } from '../../parts/data-table.tsx';
import { createdFilters, currencyFilter, type Filter, includeCustomer } from '../../parts/filters.tsx';
import { ListPage } from '../../parts/list-page.tsx';
import { Status } from '../../parts/status.tsx';
import { Money, none, Time } from '../../parts/values.tsx';
import { till } from '../../session.ts';

const filters: readonly Filter[] = [
  { kind: 'choice', name: 'status', label: 'Status', options: refundStatuses },
  currencyFilter,
  ...createdFilters,
];

const columns: readonly Column<Refund>[] = [
  {
    header: 'Amount',
    cell: ({ paymentId, amount, currency }) => (
      <a href={pageOf('payment', paymentId)}>
        <Money amount={amount} currency={currency} />
      </a>
    ),
  },
  { header: 'Status', cell: ({ status }) => <Status value={status} /> },
  customerColumn<Refund>(),
  { header: 'Reason', cell: ({ reason }) => (reason === null ? none : words(reason)), isMinor: true },
  { header: 'Created', sort: 'createdAt', cell: ({ createdAt }) => <Time value={createdAt} /> },
];

/** The refunds of all payments. Each is part of its payment's page. */
export function RefundsPage() {
  return (
    <ListPage
      title="Refunds"
      noun="refund"
      list={(query: RefundQuery, options) => till().refunds.list(query, options)}
      exportPath="/api/v1/refunds"
      columns={columns}
      keyOf={({ id }) => id}
      filters={filters}
      fixed={includeCustomer}
      reloadOn={({ objectType }) => objectType === 'refund'}
    />
  );
}
