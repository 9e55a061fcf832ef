import type { Plan } from '#core/model/plan.ts';
import type { TimeZone } from '#core/platform/time-zone.ts';
import type { PaymentView } from '#features/payments/payment-fields.ts';
import type { RefundView } from '#features/payments/refund-fields.ts';
import type { SubscriptionView } from '#features/subscriptions/subscription-fields.ts';

/** The statuses of a subscription that the overview counts. */
const countedStatuses = ['active', 'trialing', 'past_due', 'unpaid'] as const;
type CountedStatus = (typeof countedStatuses)[number];

/** The statuses whose subscriptions are revenue. */
const recurringStatuses = ['active', 'past_due'] as const;
export type RecurringStatus = (typeof recurringStatuses)[number];

/** The statuses of a dispute in which the processor has taken the money back. An inquiry takes no money. */
const withdrawnStatuses = ['needs_response', 'under_review', 'lost'] as const;

export type PricedPlan = Pick<Plan, 'amount' | 'currency' | 'interval' | 'intervalCount'>;

/** The contribution of an object to one number of the overview. */
export interface Contribution {
  /** The day of the number. Null for a current value. */
  readonly day: string | null;
  readonly currency: string;
  readonly metric: string;
  readonly count: number;
  /** In the smallest unit of the currency. */
  readonly amount: bigint;
}

/** An object whose changes the overview counts, as the API shows it. */
export type CountedObject =
  | { readonly type: 'payment'; readonly view: PaymentView }
  | { readonly type: 'refund'; readonly view: RefundView }
  | {
      readonly type: 'subscription';
      readonly view: SubscriptionView;
      readonly plan: PricedPlan;
      /** The plans of its `addOns`, in the same order. */
      readonly addOnPlans: readonly PricedPlan[];
    };

export type CountedSubscription = CountedObject & { readonly type: 'subscription' };

export const countedTypes = ['payment', 'refund', 'subscription'] as const;

/** The contributions of an object to the overview, whether its events are counted or its row. */
export function contributionsOf(object: CountedObject, zone: TimeZone): readonly Contribution[] {
  if (object.type === 'payment') return ofPayment(object.view, zone);
  if (object.type === 'refund') return ofRefund(object.view, zone);
  return ofSubscription(object);
}

/** The fields of each view that determine its contributions. A change of any other field changes no number. */
export const countedFields: Readonly<Record<CountedObject['type'], readonly string[]>> = {
  payment: [
    'amount',
    'currency',
    'status',
    'amountReceived',
    'amountRefunded',
    'failure',
    'dispute',
    'createdAt',
  ],
  refund: ['amount', 'currency', 'status', 'createdAt'],
  subscription: ['planId', 'quantity', 'addOns', 'status'],
};

function ofPayment(view: PaymentView, zone: TimeZone): readonly Contribution[] {
  const at = { day: zone.dayOfIso(view.createdAt), currency: view.currency };
  const add = (metric: string, amount: number) => ({ ...at, metric, count: 1, amount: BigInt(amount) });
  const disputed = view.dispute?.amount ?? 0;
  return [
    add('payments', view.amountReceived),
    ...(view.status === 'succeeded' ? [add('payments.succeeded', view.amountReceived)] : []),
    ...(view.failure === null ? [] : [add('payments.failed', view.amount)]),
    ...(view.amountRefunded === 0 ? [] : [add('payments.refunded', view.amountRefunded)]),
    ...(view.dispute === null ? [] : ofDispute(view.dispute).map((metric) => add(metric, disputed))),
  ];
}

function ofDispute({ status }: NonNullable<PaymentView['dispute']>): readonly string[] {
  const isWithdrawn = withdrawnStatuses.some((one) => one === status);
  return ['payments.disputed', ...(isWithdrawn ? ['payments.withdrawn'] : [])];
}

function ofRefund(
  { createdAt, currency, status, amount, kind }: RefundView,
  zone: TimeZone,
): readonly Contribution[] {
  if (kind === 'release') return [];
  const day = zone.dayOfIso(createdAt);
  return [{ day, currency, metric: `refunds.${status}`, count: 1, amount: BigInt(amount) }];
}

/** Each add-on counts in its own currency and interval: one that was added in the dashboard may have others. */
function ofSubscription({
  view: { status, quantity, addOns },
  plan,
  addOnPlans,
}: CountedSubscription): readonly Contribution[] {
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

export function isRecurring(status: string): status is RecurringStatus {
  return recurringStatuses.some((one) => one === status);
}
