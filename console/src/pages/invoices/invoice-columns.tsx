import type { Invoice } from '@till/client';
import { pageOf } from '../../links.ts';
import { customerColumn } from '../../parts/customer-link.tsx';
import type { Column } from '../../parts/data-table.tsx';
import { Status } from '../../parts/status.tsx';
import { Money, Time } from '../../parts/values.tsx';

const amount = (header: string, name: 'amountDue' | 'amountPaid' | 'amountRemaining'): Column<Invoice> => ({
  header,
  isNumber: true,
  isMinor: name !== 'amountDue',
  ...(name === 'amountDue' ? { sort: name } : {}),
  cell: (invoice) => <Money amount={invoice[name]} currency={invoice.currency} />,
});

export const invoiceColumns: readonly Column<Invoice>[] = [
  { header: 'Number', cell: ({ id, number }) => <a href={pageOf('invoice', id)}>{number ?? 'No number'}</a> },
  { header: 'Status', cell: ({ status }) => <Status value={status} /> },
  amount('Due', 'amountDue'),
  amount('Paid', 'amountPaid'),
  amount('Remaining', 'amountRemaining'),
  {
    header: 'Created',
    sort: 'createdAt',
    cell: ({ createdAt }) => <Time value={createdAt} />,
    isMinor: true,
  },
];

/** The column with the customer, for lists of all customers. */
export const invoiceListColumns = invoiceColumns.toSpliced(2, 0, customerColumn());
