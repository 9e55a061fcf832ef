import type { InvoiceQuery } from '@till/client';
import { invoiceStatuses } from '../../../../src/core/model/invoice.ts';
import {
  createdFilters,
  customerFilter,
  type Filter,
  includeCustomer,
  subscriptionFilter,
} from '../../parts/filters.tsx';
import { ListPage } from '../../parts/list-page.tsx';
import { till } from '../../session.ts';
import { invoiceListColumns } from './invoice-columns.tsx';

const filters: readonly Filter[] = [
  { kind: 'choice', name: 'status', label: 'Status', options: invoiceStatuses },
  { kind: 'text', name: 'number', label: 'Number' },
  ...createdFilters,
  customerFilter,
  subscriptionFilter,
];

export function InvoicesPage() {
  return (
    <ListPage
      title="Invoices"
      noun="invoice"
      list={(query: InvoiceQuery, options) => till().invoices.list(query, options)}
      exportPath="/api/v1/invoices"
      columns={invoiceListColumns}
      keyOf={({ id }) => id}
      filters={filters}
      fixed={includeCustomer}
      reloadOn={({ objectType }) => objectType === 'invoice'}
    />
  );
}
