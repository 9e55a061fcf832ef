import type { CustomerSummary } from '../../../client/src/index.ts';
import { pageOf } from '../links.ts';
import type { Column } from './data-table.tsx';
import { none } from './values.tsx';

/** An object that belongs to a customer, as the API shows it with `include=customer`. */
interface Owned {
  readonly customerId?: string | null;
  readonly customer?: CustomerSummary | null;
}

/** Who it belongs to: the name and the e-mail, linked. */
export function CustomerLink({ of: { customerId, customer } }: { readonly of: Owned }) {
  if (customer) {
    const { id, name, email } = customer;
    return (
      <span class="person">
        <a href={pageOf('customer', id)}>{name ?? email}</a>
        {name !== null && <span class="quiet">{email}</span>}
      </span>
    );
  }
  if (customerId === null || customerId === undefined) return none;
  return <a href={pageOf('customer', customerId)}>Deleted customer</a>;
}

/** The column for lists of all customers. */
export function customerColumn<Row extends Owned>(): Column<Row> {
  return { header: 'Customer', cell: (row) => <CustomerLink of={row} /> };
}
