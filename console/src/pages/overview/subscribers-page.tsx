import type { OverviewSubscriber, OverviewSubscriberQuery } from '@till/client';
import { customerColumn } from '../../parts/customer-link.tsx';
import type { Column } from '../../parts/data-table.tsx';
import { currencyFilter, includeCustomer } from '../../parts/filters.tsx';
import { ListPage } from '../../parts/list-page.tsx';
import { Money } from '../../parts/values.tsx';
import { till } from '../../session.ts';

const columns: readonly Column<OverviewSubscriber>[] = [
  customerColumn<OverviewSubscriber>(),
  {
    header: 'Monthly amount',
    isNumber: true,
    cell: ({ monthlyAmount, currency }) => <Money amount={monthlyAmount} currency={currency} />,
  },
];

/** The customers who pay for subscriptions now: the rows of the number of subscribers and of monthly revenue. */
export function SubscribersPage() {
  return (
    <ListPage
      title="Subscribers"
      noun="subscriber"
      list={(query: OverviewSubscriberQuery, options) => till().overviewSubscribers(query, options)}
      columns={columns}
      keyOf={({ customerId }) => customerId}
      filters={[currencyFilter]}
      fixed={includeCustomer}
      reloadOn={({ objectType }) => objectType === 'subscription'}
    />
  );
}
