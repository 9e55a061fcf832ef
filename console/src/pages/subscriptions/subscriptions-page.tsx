import type { Plan, SubscriptionQuery } from '@till/client';
import { subscriptionStatuses } from '../../../../src/core/model/subscription.ts';
import { planOf, usePlans } from '../../api/use-plans.ts';
import {
  createdFilters,
  currencyFilter,
  customerFilter,
  type Filter,
  includeCustomer,
} from '../../parts/filters.tsx';
import { ListPage } from '../../parts/list-page.tsx';
import { till } from '../../session.ts';
import { CreateFor } from '../customers/create-for.tsx';
import { CreateSubscription } from './create-subscription.tsx';
import { subscriptionListColumns } from './subscription-columns.tsx';

export function SubscriptionsPage() {
  const plans = usePlans().value;
  return (
    <ListPage
      title="Subscriptions"
      noun="subscription"
      actions={<CreateFor noun="subscription" Dialog={CreateSubscription} />}
      list={(query: SubscriptionQuery, options) => till().subscriptions.list(query, options)}
      exportPath="/api/v1/subscriptions"
      columns={subscriptionListColumns(plans)}
      keyOf={({ id }) => id}
      filters={filtersOf(plans ?? [])}
      fixed={includeCustomer}
      reloadOn={({ objectType }) => objectType === 'subscription'}
    />
  );
}

function filtersOf(plans: readonly Plan[]): readonly Filter[] {
  return [
    { kind: 'choice', name: 'status', label: 'Status', options: subscriptionStatuses },
    {
      kind: 'choice',
      name: 'planId',
      label: 'Plan',
      options: plans.map(({ id }) => id),
      textOf: (id) => planText(planOf(plans, id)),
    },
    {
      kind: 'choice',
      name: 'addOnPlanId',
      label: 'Add-on',
      options: plans.filter(({ addOn }) => addOn).map(({ id }) => id),
      textOf: (id) => planText(planOf(plans, id)),
    },
    currencyFilter,
    ...createdFilters,
    customerFilter,
  ];
}

function planText(plan: Plan | undefined): string {
  return plan === undefined ? '' : `${plan.name}${plan.active ? '' : ' (archived)'}`;
}
