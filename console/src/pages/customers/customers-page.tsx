import type { Customer, CustomerQuery } from '@till/client';
import { pageOf } from '../../links.ts';
import { CreateButton } from '../../parts/create-button.tsx';
import { customerName } from '../../parts/customer-link.tsx';
import type { Column } from '../../parts/data-table.tsx';
import { createdFilters, type Filter } from '../../parts/filters.tsx';
import { ListPage, type ListQuery } from '../../parts/list-page.tsx';
import { none, Time } from '../../parts/values.tsx';
import { till } from '../../session.ts';
import { CreateCustomer } from './create-customer.tsx';

const filters: readonly Filter[] = [
  { kind: 'text', name: 'q', label: 'Name or e-mail' },
  { kind: 'text', name: 'externalId', label: 'External id' },
  ...createdFilters,
];

const columns: readonly Column<Customer>[] = [
  {
    header: 'Customer',
    cell: (customer) => <a href={pageOf('customer', customer.id)}>{customerName(customer)}</a>,
  },
  { header: 'E-mail', cell: ({ email }) => (email === '' ? none : email) },
  {
    header: 'External id',
    cell: ({ externalId }) => (externalId === null ? none : <code>{externalId}</code>),
    isMinor: true,
  },
  {
    header: 'Created',
    sort: 'createdAt',
    cell: ({ createdAt }) => <Time value={createdAt} />,
    isMinor: true,
  },
];

/** The API finds parts of names and e-mails from three characters on. */
const partLengthMin = 3;

function toQuery(values: Readonly<Record<string, string>>): ListQuery {
  const { q, ...others } = values;
  if (q === undefined || [...q].length >= partLengthMin) return { query: values };
  return { query: others, hint: `Type at least ${partLengthMin} characters of the name or the e-mail.` };
}

export function CustomersPage() {
  return (
    <ListPage
      title="Customers"
      noun="customer"
      actions={<CreateButton label="Create customer" Dialog={CreateCustomer} />}
      list={(query: CustomerQuery, options) => till().customers.list(query, options)}
      exportPath="/api/v1/customers"
      columns={columns}
      keyOf={({ id }) => id}
      filters={filters}
      toQuery={toQuery}
      reloadOn={({ objectType }) => objectType === 'customer'}
    />
  );
}
