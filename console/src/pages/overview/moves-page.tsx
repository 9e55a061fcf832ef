import type { OverviewMove, OverviewMoveQuery } from '@till/client';
import { moveNames } from '../../../../src/operators/overview/move.ts';
import { daysDefault } from '../../../../src/operators/overview/overview-range.ts';
import { fieldLabel, words } from '../../format/words.ts';
import { pageOf } from '../../links.ts';
import { customerColumn } from '../../parts/customer-link.tsx';
import type { Column } from '../../parts/data-table.tsx';
import { currencyFilter, type Filter, includeCustomer } from '../../parts/filters.tsx';
import { ListPage, type ListQuery } from '../../parts/list-page.tsx';
import { Money, none, Time } from '../../parts/values.tsx';
import { till } from '../../session.ts';

/** What the page shows without a choice. */
const first = 'new';
const others = moveNames.filter((name) => name !== first);
const textOf = (move: string) => fieldLabel(words(move));

const filters: readonly Filter[] = [
  { kind: 'choice', name: 'move', label: 'Change', options: others, textOf, otherwise: textOf(first) },
  currencyFilter,
  {
    kind: 'period',
    name: 'days',
    label: 'Days',
    ends: { kind: 'day', from: 'from', to: 'to' },
    otherwise: `Last ${daysDefault} days`,
  },
  { kind: 'day', name: 'from', label: 'From' },
  { kind: 'day', name: 'to', label: 'To' },
];

const columns: readonly Column<OverviewMove>[] = [
  {
    header: 'Subscription',
    cell: ({ subscriptionId, move }) => <a href={pageOf('subscription', subscriptionId)}>{textOf(move)}</a>,
  },
  customerColumn<OverviewMove>(),
  {
    header: 'Monthly amount',
    isNumber: true,
    cell: ({ amount, currency }) => (amount === null ? none : <Money amount={amount} currency={currency} />),
  },
  { header: 'Time', cell: ({ createdAt }) => <Time value={createdAt} /> },
];

/** The changes of subscriptions that a number of the overview adds up. */
export function MovesPage() {
  return (
    <ListPage
      title="Changes of subscriptions"
      noun="change"
      list={(query: OverviewMoveQuery, options) => till().overviewMoves(query, options)}
      columns={columns}
      keyOf={({ id }) => id}
      filters={filters}
      toQuery={toMoveQuery}
      fixed={includeCustomer}
      reloadOn={({ objectType }) => objectType === 'subscription'}
    />
  );
}

function toMoveQuery(values: Readonly<Record<string, string>>): ListQuery {
  return { query: { move: first, ...values } };
}
