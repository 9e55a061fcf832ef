import { monthlyAmount } from '#core/model/monthly-amount.ts';
import type { Plan } from '#core/model/plan.ts';
import type { Subscription } from '#core/model/subscription.ts';
import type { Queryable } from '#core/platform/postgres.ts';
import type { Contribution, CountedKind } from '#engine/overview/counted-kind.ts';
import { type SubscriptionView, subscriptionView } from './subscription-fields.ts';
import type { SubscriptionStore } from './subscription-store.ts';

/** The statuses of a subscription that the overview counts. */
const countedStatuses = ['active', 'trialing', 'past_due', 'unpaid'] as const;
type CountedStatus = (typeof countedStatuses)[number];

/** The statuses whose subscriptions are revenue. */
const recurringStatuses = ['active', 'past_due'] as const;
export type RecurringStatus = (typeof recurringStatuses)[number];

export type PricedPlan = Pick<Plan, 'amount' | 'currency' | 'interval' | 'intervalCount'>;

/** A subscription as the API shows it, and the plans whose prices it charges. */
interface PricedSubscription {
  readonly view: SubscriptionView;
  readonly plan: PricedPlan;
  /** The plans of its `addOns`, in the same order. */
  readonly addOnPlans: readonly PricedPlan[];
}

/** The stores whose rows a count of all subscriptions reads. */
export interface CountedStores {
  readonly subscriptions: Pick<SubscriptionStore, 'listByCustomer'>;
  readonly plans: {
    find(db: Queryable, ids: readonly string[]): Promise<readonly (PricedPlan & { readonly id: string })[]>;
  };
  readonly invoices: {
    /** Which of these subscriptions have a paid invoice over more than zero, by the processor's ids. */
    findPaidSubscriptions(db: Queryable, keys: readonly string[]): Promise<readonly string[]>;
  };
}

export function countedSubscriptions({
  subscriptions,
  plans,
  invoices,
}: CountedStores): CountedKind<Subscription, SubscriptionView, PricedSubscription> {
  return {
    type: 'subscription',
    fields: ['planId', 'quantity', 'addOns', 'status'],
    // The price of a plan never changes.
    complete: async (db, views) => {
      const ids = [...new Set(views.flatMap(planIdsOf))];
      const found = ids.length === 0 ? [] : await plans.find(db, ids);
      const prices = new Map(found.map((plan) => [plan.id, plan]));
      return views.map((view) => priced(view, prices));
    },
    contributionsOf: ofSubscription,
    listAfter: (db, last, limit) => subscriptions.listByCustomer(db, last, limit),
    viewOf: (row) => subscriptionView(row, false),
    recurring: {
      ownerOf: ({ view, plan }) => ({
        id: view.id,
        customerId: view.customerId,
        currency: plan.currency,
      }),
      monthlyAmountsOf,
      currenciesOf: ({ plan, addOnPlans }) => [plan, ...addOnPlans].map(({ currency }) => currency),
      turnsOf: (before, after) => turnsOf(before?.view.status ?? null, after.view.status),
      findPaid: async (db, rows) => {
        const ended = rows.filter(({ status }) => status === 'unpaid' || status === 'canceled');
        const keys = ended.map((row) => row.processorSubscriptionId);
        const paid = new Set(await invoices.findPaidSubscriptions(db, keys));
        return new Set(ended.filter((row) => paid.has(row.processorSubscriptionId)));
      },
    },
  };
}

function planIdsOf({ planId, addOns }: SubscriptionView): readonly string[] {
  return [planId, ...addOns.map((one) => one.planId)];
}

function priced(view: SubscriptionView, prices: ReadonlyMap<string, PricedPlan>): PricedSubscription {
  const addOnPlans = view.addOns.map(({ planId }) => pricedPlan(planId, prices));
  return { view, plan: pricedPlan(view.planId, prices), addOnPlans };
}

/** A subscription refers to its plans, and plans are never deleted. */
function pricedPlan(planId: string, prices: ReadonlyMap<string, PricedPlan>): PricedPlan {
  const plan = prices.get(planId);
  if (plan === undefined) throw new Error(`the plan of a subscription is missing: ${planId}`);
  return plan;
}

/** Each add-on counts in its own currency and interval: one that was added in the dashboard may have others. */
function ofSubscription({
  view: { status, quantity, addOns },
  plan,
  addOnPlans,
}: PricedSubscription): readonly Contribution[] {
  if (!isCounted(status)) return [];
  const { currency } = plan;
  const counted = { day: null, currency, metric: `subscriptions.${status}`, count: 1, amount: 0n };
  if (!isRecurring(status)) return [counted];
  const recurring = (of: PricedPlan, units: number) => ({
    ...{ day: null, currency: of.currency, metric: recurringMetric({ ...of, status }), count: 1 },
    amount: BigInt(of.amount) * BigInt(units),
  });
  return [
    ...[counted, recurring(plan, quantity)],
    ...addOnPlans.map((of, index) => recurring(of, addOns[index]?.quantity ?? 0)),
  ];
}

/**
 * The sum that subscriptions with the same interval charge per interval. The sums of different intervals are added only
 * when they are shown, because a month is not a whole number of weeks.
 */
interface RecurringGroup {
  readonly status: RecurringStatus;
  readonly interval: Plan['interval'];
  readonly intervalCount: number;
}

function recurringMetric({ status, interval, intervalCount }: RecurringGroup): string {
  return `recurring.${status}.${interval}.${intervalCount}`;
}

/** Reads the metric of a group. Undefined for any other metric. */
export function parseRecurring(metric: string): RecurringGroup | undefined {
  const [kind, status, interval, intervalCount] = metric.split('.');
  if (kind !== 'recurring') return undefined;
  return {
    // Written by `recurringMetric`.
    status: status as RecurringStatus,
    interval: interval as Plan['interval'],
    intervalCount: Number(intervalCount),
  };
}

/**
 * The monthly amount of a subscription, rounded to the smallest unit of each currency, so that sums of subscriptions
 * are exact. Its plans can only differ in their currency if one was added in the dashboard.
 */
function monthlyAmountsOf({
  view: { status, quantity, addOns },
  plan,
  addOnPlans,
}: PricedSubscription): readonly (readonly [currency: string, amount: bigint])[] {
  if (!isRecurring(status)) return [];
  const sumOf = ({ amount, currency, interval, intervalCount }: PricedPlan, units: number) => ({
    ...{ currency, interval, intervalCount },
    amount: BigInt(amount) * BigInt(units),
  });
  // Most subscriptions have one plan.
  if (addOnPlans.length === 0) return [[plan.currency, monthlyAmount([sumOf(plan, quantity)])]];
  const sums = [
    sumOf(plan, quantity),
    ...addOnPlans.map((one, index) => sumOf(one, addOns[index]?.quantity ?? 0)),
  ];
  return [...Map.groupBy(sums, ({ currency }) => currency)].map(([currency, some]) => [
    currency,
    monthlyAmount(some),
  ]);
}

/** How a change of status affects the numbers of trials and of failed renewals. */
export function turnsOf(before: string | null, after: string): readonly string[] {
  if (before === after) return [];
  return [
    ...(after === 'trialing' ? ['trials.started'] : []),
    ...(before === 'trialing' ? [isRecurring(after) ? 'trials.converted' : 'trials.expired'] : []),
    ...(after === 'past_due' ? ['recovery.failed'] : []),
    ...(before === 'past_due' ? [isPaying(after) ? 'recovery.recovered' : 'recovery.lost'] : []),
  ];
}

function isPaying(status: string): boolean {
  return status === 'active' || status === 'trialing';
}

function isCounted(status: string): status is CountedStatus {
  return countedStatuses.some((one) => one === status);
}

function isRecurring(status: string): status is RecurringStatus {
  return recurringStatuses.some((one) => one === status);
}
