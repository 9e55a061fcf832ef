import type { Customer, CustomerSummary } from '@till/client';
import { useResource } from '../api/use-resource.ts';
import { pageOf } from '../links.ts';
import { till } from '../session.ts';
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

/** The same for an object whose customer is not included: it is read. */
export function CustomerById({ id }: { readonly id: string | null }) {
  const customer = useResource(
    (options) => till().customers.get(id ?? '', options),
    id === null ? null : [id],
  );
  if (id === null) return none;
  if (customer.value !== undefined) return <CustomerLink of={{ customer: summaryOf(customer.value) }} />;
  return <a href={pageOf('customer', id)}>{customer.failure === undefined ? id : 'Deleted customer'}</a>;
}

function summaryOf({ id, externalId, email, name }: Customer): CustomerSummary | null {
  return email === null ? null : { id, externalId, email, name };
}

/** What people call a customer. An e-mail can be missing if the customer was created at the processor. */
export function customerName({ name, email, processorCustomerId }: Customer): string {
  return name ?? (email === '' ? processorCustomerId : email);
}

/** The column for lists of all customers. */
export function customerColumn<Row extends Owned>(): Column<Row> {
  return { header: 'Customer', cell: (row) => <CustomerLink of={row} /> };
}
