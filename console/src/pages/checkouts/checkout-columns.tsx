import type { Checkout } from '@till/client';
import { fieldLabel, words } from '../../format/words.ts';
import { pageOf } from '../../links.ts';
import { customerColumn } from '../../parts/customer-link.tsx';
import type { Column } from '../../parts/data-table.tsx';
import { Status } from '../../parts/status.tsx';
import { Money, none, Time } from '../../parts/values.tsx';

export const checkoutColumns: readonly Column<Checkout>[] = [
  { header: 'Mode', cell: ({ id, mode }) => <a href={pageOf('checkout', id)}>{words(mode)}</a> },
  { header: 'Status', cell: ({ status }) => <Status value={status} /> },
  { header: 'Payment', cell: (checkout) => <PaymentStatus checkout={checkout} />, isMinor: true },
  { header: 'Amount', cell: (checkout) => <Amount checkout={checkout} />, isNumber: true },
  { header: 'Created', cell: ({ createdAt }) => <Time value={createdAt} />, isMinor: true },
];

/** With the customer, for the list of all checkouts. */
export const checkoutListColumns = checkoutColumns.toSpliced(1, 0, customerColumn());

/** An open checkout that is not paid needs no attention. */
export function PaymentStatus({ checkout: { status, paymentStatus } }: { readonly checkout: Checkout }) {
  const unpaid = status === 'completed' && paymentStatus === 'unpaid' ? 'warn' : 'done';
  return <Status value={fieldLabel(paymentStatus)} tone={paymentStatus === 'paid' ? 'good' : unpaid} />;
}

export function Amount({ checkout: { amount, currency } }: { readonly checkout: Checkout }) {
  return amount === null || currency === null ? none : <Money amount={amount} currency={currency} />;
}
