import type { CheckoutQuery } from '@till/client';
import { checkoutStatuses } from '../../../../src/core/model/checkout.ts';
import { createdFilters, customerFilter, type Filter, includeCustomer } from '../../parts/filters.tsx';
import { ListPage } from '../../parts/list-page.tsx';
import { till } from '../../session.ts';
import { CreateFor } from '../customers/create-for.tsx';
import { checkoutListColumns } from './checkout-columns.tsx';
import { CreateCheckout } from './create-checkout.tsx';

const filters: readonly Filter[] = [
  { kind: 'choice', name: 'status', label: 'Status', options: checkoutStatuses },
  ...createdFilters,
  customerFilter,
];

export function CheckoutsPage() {
  return (
    <ListPage
      title="Checkouts"
      noun="checkout"
      actions={<CreateFor noun="checkout" Dialog={CreateCheckout} />}
      list={(query: CheckoutQuery, options) => till().checkouts.list(query, options)}
      exportPath="/api/v1/checkouts"
      columns={checkoutListColumns}
      keyOf={({ id }) => id}
      filters={filters}
      fixed={includeCustomer}
      reloadOn={({ objectType }) => objectType === 'checkout'}
    />
  );
}
