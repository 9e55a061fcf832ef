import type { Invoice } from '../../../../client/src/index.ts';
import { pageOf } from '../../links.ts';
import type { Column } from '../../parts/data-table.tsx';
import { Status } from '../../parts/status.tsx';
import { Money, none, ShortId, Time } from '../../parts/values.tsx';

const amount = (header: string, name: 'amountDue' | 'amountPaid' | 'amountRemaining'): Column<Invoice> => ({
  header,
  isNumber: true,
  isMinor: name !== 'amountDue',
  cell: (invoice) => <Money amount={invoice[name]} currency={invoice.currency} />,
});

export const invoiceColumns: readonly Column<Invoice>[] = [
  { header: 'Number', cell: ({ id, number }) => <a href={pageOf('invoice', id)}>{number ?? 'No number'}</a> },
  { header: 'Status', cell: ({ status }) => <Status value={status} /> },
  amount('Due', 'amountDue'),
  amount('Paid', 'amountPaid'),
  amount('Remaining', 'amountRemaining'),
  { header: 'Created', cell: ({ createdAt }) => <Time value={createdAt} />, isMinor: true },
];

/** The column with the customer, for lists of all customers. */
export const invoiceListColumns: readonly Column<Invoice>[] = [
  ...invoiceColumns.slice(0, 2),
  {
    header: 'Customer',
    isMinor: true,
    cell: ({ customerId }) =>
      customerId === null ? (
        none
      ) : (
        <a href={pageOf('customer', customerId)}>
          <ShortId value={customerId} />
        </a>
      ),
  },
  ...invoiceColumns.slice(2),
];
