import type { Plan, Subscription } from '@till/client';
import { planOf } from '../../api/use-plans.ts';
import { priceOf } from '../../format/interval.ts';
import { plural } from '../../format/words.ts';
import { pageOf } from '../../links.ts';
import { customerColumn } from '../../parts/customer-link.tsx';
import type { Column } from '../../parts/data-table.tsx';
import { Status } from '../../parts/status.tsx';
import { none, Time } from '../../parts/values.tsx';
import { hasEnded, termsText } from './terms.ts';

/** The columns of subscriptions. The plans give them their names and prices. */
export function subscriptionColumns(plans: readonly Plan[] | undefined): readonly Column<Subscription>[] {
  return [
    {
      header: 'Plan',
      cell: (subscription) => (
        <a href={pageOf('subscription', subscription.id)}>{termsText(plans, subscription)}</a>
      ),
    },
    {
      header: 'Price',
      isMinor: true,
      cell: ({ planId, quantity, addOns }) => {
        const plan = planOf(plans, planId);
        if (plan === undefined) return none;
        const text = priceOf(plan, quantity);
        return (
          <span class="number">
            {addOns.length === 0 ? text : `${text} + ${plural(addOns.length, 'add-on')}`}
          </span>
        );
      },
    },
    { header: 'Status', cell: ({ status }) => <Status value={status} /> },
    { header: 'Entitled', cell: ({ entitled }) => (entitled ? 'Yes' : 'No'), isMinor: true },
    { header: 'Next', cell: (subscription) => <Next subscription={subscription} /> },
    {
      header: 'Created',
      sort: 'createdAt',
      cell: ({ createdAt }) => <Time value={createdAt} />,
      isMinor: true,
    },
  ];
}

/** With the customer, for lists of all customers. */
export function subscriptionListColumns(plans: readonly Plan[] | undefined): readonly Column<Subscription>[] {
  return subscriptionColumns(plans).toSpliced(1, 0, customerColumn());
}

/** When the subscription renews or ends, or its trial does. */
function Next({ subscription }: { readonly subscription: Subscription }) {
  const { status, endedAt, cancelAt, trialEnd, currentPeriodEnd } = subscription;
  if (hasEnded(subscription))
    return endedAt === null ? (
      none
    ) : (
      <>
        Ended <Time value={endedAt} dayOnly />
      </>
    );
  const isTrial = status === 'trialing' && cancelAt === null;
  const at = cancelAt ?? (isTrial ? (trialEnd ?? currentPeriodEnd) : currentPeriodEnd);
  if (at === null) return none;
  return (
    <>
      {isTrial ? 'Trial ends' : cancelAt === null ? 'Renews' : 'Ends'} <Time value={at} dayOnly />
    </>
  );
}
