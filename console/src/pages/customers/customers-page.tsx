import { useState } from 'preact/hooks';
import type { Customer, CustomerQuery } from '../../../../client/src/index.ts';
import { pageOf } from '../../links.ts';
import type { Column } from '../../parts/data-table.tsx';
import { createdFilters, type Filter } from '../../parts/filters.tsx';
import { ListPage } from '../../parts/list-page.tsx';
import { none, Time } from '../../parts/values.tsx';
import { can, till } from '../../session.ts';
import { CreateCustomer } from './create-customer.tsx';
import { customerName } from './customer-name.ts';

const filters: readonly Filter[] = [
  { kind: 'text', name: 'email', label: 'E-mail' },
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
  { header: 'Created', cell: ({ createdAt }) => <Time value={createdAt} />, isMinor: true },
];

export function CustomersPage() {
  const [isCreating, setCreating] = useState(false);
  return (
    <>
      <ListPage
        title="Customers"
        noun="customer"
        actions={
          can('write') && (
            <button type="button" class="primary" onClick={() => setCreating(true)}>
              Create customer
            </button>
          )
        }
        list={(query: CustomerQuery, options) => till().customers.list(query, options)}
        exportPath="/api/v1/customers"
        columns={columns}
        keyOf={({ id }) => id}
        filters={filters}
        reloadOn={({ objectType }) => objectType === 'customer'}
      />
      {isCreating && <CreateCustomer onClose={() => setCreating(false)} />}
    </>
  );
}
