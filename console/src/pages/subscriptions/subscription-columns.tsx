import type { Plan, Subscription } from '../../../../client/src/index.ts';
import { planOf } from '../../api/use-plans.ts';
import { priceOf } from '../../format/interval.ts';
import { pageOf } from '../../links.ts';
import type { Column } from '../../parts/data-table.tsx';
import { Status } from '../../parts/status.tsx';
import { none, Time } from '../../parts/values.tsx';
import { hasEnded, termsText } from './terms.ts';

/** The columns of subscriptions. The plans give them their names and prices. */
export function subscriptionColumns(plans: readonly Plan[] | undefined): readonly Column<Subscription>[] {
  return [
    {
      header: 'Plan',
      cell: ({ id, planId, quantity }) => (
        <a href={pageOf('subscription', id)}>{termsText(planOf(plans, planId), quantity)}</a>
      ),
    },
    {
      header: 'Price',
      isMinor: true,
      cell: ({ planId, quantity }) => {
        const plan = planOf(plans, planId);
        return plan === undefined ? none : <span class="number">{priceOf(plan, quantity)}</span>;
      },
    },
    { header: 'Status', cell: ({ status }) => <Status value={status} /> },
    { header: 'Entitled', cell: ({ entitled }) => (entitled ? 'Yes' : 'No'), isMinor: true },
    { header: 'Next', cell: (subscription) => <Next subscription={subscription} /> },
    { header: 'Created', cell: ({ createdAt }) => <Time value={createdAt} />, isMinor: true },
  ];
}

/** When the subscription renews or ends. */
function Next({ subscription }: { readonly subscription: Subscription }) {
  const { endedAt, cancelAt, currentPeriodEnd } = subscription;
  if (hasEnded(subscription))
    return endedAt === null ? (
      none
    ) : (
      <>
        Ended <Time value={endedAt} dayOnly />
      </>
    );
  const at = cancelAt ?? currentPeriodEnd;
  if (at === null) return none;
  return (
    <>
      {cancelAt === null ? 'Renews' : 'Ends'} <Time value={at} dayOnly />
    </>
  );
}
