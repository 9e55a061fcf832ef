import { Failure } from '../errors.ts';
import type { DatedRow, OwnFacts } from './facts.ts';
import {
  isMetadataChangeIgnored,
  type Metadata,
  type MetadataChange,
  needsMetadata,
  type OwnedMetadata,
  takeMetadata,
} from './metadata.ts';
import type { PriceObstacle } from './price-obstacle.ts';
import {
  type PlanIdOf,
  type SubscriptionTermFacts,
  type SubscriptionTerms,
  termsOf,
} from './subscription-terms.ts';
import { type Origin, type Taken, type TransitionTable, takeValues } from './transition.ts';

/** `entitlement.ts` decides which of them entitle the customer. */
export const subscriptionStatuses = [
  'incomplete',
  'incomplete_expired',
  'trialing',
  'active',
  'past_due',
  'unpaid',
  'canceled',
] as const;

export type SubscriptionStatus = (typeof subscriptionStatuses)[number];

/** What a subscription's facts and its row have in common. */
interface SubscriptionValues {
  readonly status: SubscriptionStatus;
  readonly trialEnd: Date | null;
  /** In facts: the processor's flag. In a row: whether it ends with its current period, by the flag or by a date. */
  readonly cancelAtPeriodEnd: boolean;
  /** When the subscription will be canceled. */
  readonly cancelAt: Date | null;
  /** When the cancellation was requested. */
  readonly canceledAt: Date | null;
  readonly endedAt: Date | null;
  readonly processorLatestInvoiceId: string | null;
  /** The processor's id. Null if the customer's default is used. */
  readonly defaultPaymentMethodId: string | null;
}

export interface Subscription extends DatedRow, SubscriptionValues, SubscriptionTerms {
  readonly processorSubscriptionId: string;
  readonly customerId: string;
  readonly planId: string;
  readonly quantity: number;
  readonly currentPeriodStart: Date | null;
  readonly currentPeriodEnd: Date | null;
  /** Null until the webhook of the invoice has arrived. */
  readonly latestInvoiceId: string | null;
  /**
   * The end of the period that the latest paid invoice bills. Only known while the status is `past_due`: then the
   * current period is not paid.
   */
  readonly paidUntil: Date | null;
  readonly metadata: OwnedMetadata;
}

export interface SubscriptionFacts extends OwnFacts, SubscriptionValues, SubscriptionTermFacts {
  readonly processorSubscriptionId: string;
  /** Null if a response omits it. */
  readonly processorCustomerId: string | null;
  /**
   * Oldest first. Till creates subscriptions with one item, but more can be added on the processor's dashboard. Items
   * beyond the first page of the processor's list are not read.
   */
  readonly items: readonly [SubscriptionItemFacts, ...SubscriptionItemFacts[]];
  /** Null if the event or the response does not show it. */
  readonly metadata: Metadata | null;
}

/** An event that changes a subscription, but does not contain it: about its schedule or its discount. */
export interface ChangedSubscriptionFacts {
  readonly processorSubscriptionId: string;
}

/** The customer can no longer pay with this payment method. Subscriptions that charged it may have lost it. */
export interface DetachedMethodFacts {
  readonly processorCustomerId: string;
  readonly paymentMethodId: string;
}

/** A price that a subscription bills, with its current period. */
export interface SubscriptionItemFacts {
  readonly processorPriceId: string;
  /** Till's id of the plan, from the metadata of the price. Null if the price is not a Till plan. */
  readonly planLocalId: string | null;
  /** Why the price cannot be a Till plan. Absent if it can, or if the price is not shown. */
  readonly obstacle?: PriceObstacle;
  readonly quantity: number;
  readonly currentPeriodStart: Date;
  readonly currentPeriodEnd: Date;
}

const open = {
  incomplete: 'if newer',
  trialing: 'if newer',
  active: 'if newer',
  past_due: 'if newer',
  unpaid: 'if newer',
  incomplete_expired: 'always',
  canceled: 'always',
} as const;

const final = {
  incomplete: 'never',
  trialing: 'never',
  active: 'never',
  past_due: 'never',
  unpaid: 'never',
  incomplete_expired: 'never',
  canceled: 'never',
} as const;

/** From the current status (rows) to the new one (columns). */
const subscriptionTransitions: TransitionTable<SubscriptionStatus> = {
  incomplete: open,
  trialing: open,
  active: open,
  past_due: open,
  unpaid: open,
  incomplete_expired: { ...final, incomplete_expired: 'if newer' },
  canceled: { ...final, canceled: 'if newer' },
};

/**
 * The item whose plan and period the subscription shows: the oldest whose price is a Till plan, else the oldest. It
 * depends only on the facts and not on the row, so that the order of events does not matter.
 */
export function followedItem(
  { items }: Pick<SubscriptionFacts, 'items'>,
  planIdOf: PlanIdOf,
): SubscriptionItemFacts {
  return items.find(({ processorPriceId }) => planIdOf(processorPriceId) !== undefined) ?? items[0];
}

/** The number of items whose price is a Till plan. */
export function countPlans({ items }: Pick<SubscriptionFacts, 'items'>, planIdOf: PlanIdOf): number {
  return items.filter(({ processorPriceId }) => planIdOf(processorPriceId) !== undefined).length;
}

/** Decides whether the facts change the row, and returns the row with the facts applied. */
export function takeSubscriptionFacts(
  subscription: Subscription,
  facts: SubscriptionFacts,
  planIdOf: PlanIdOf,
  origin: Origin,
  now: Date,
): Taken<Subscription> {
  const item = followedItem(facts, planIdOf);
  const values = {
    ...valuesOfSubscription(facts, item),
    ...termsOf(subscription, facts, planIdOf),
    // A price that is not a Till plan does not change the plan.
    planId: planIdOf(item.processorPriceId) ?? subscription.planId,
    metadata: takeMetadata(subscription.metadata, facts),
  };
  const rule = subscriptionTransitions[subscription.status][facts.status];
  const taken = takeValues(subscription, values, { rule, origin, asOf: facts.asOf, now });
  const isIncomplete = subscription.metadata !== null && needsMetadata(facts, origin, taken.verdict);
  return isIncomplete ? { ...taken, verdict: 'refresh' } : taken;
}

/** A change of a subscription that bills nothing. An absent field keeps its value. */
export interface SubscriptionChange {
  readonly metadata?: MetadataChange;
  readonly cancelAtPeriodEnd?: boolean;
  /** Clears the date at which it ends, and with it the end with its period. Never sent with `cancelAtPeriodEnd`. */
  readonly cancelAt?: null;
  /** The processor's id. */
  readonly paymentMethodId?: string;
}

/** Whether the processor's response to an update still shows an old value. */
export function isSubscriptionChangeIgnored(
  before: Pick<Subscription, 'metadata'> | Pick<SubscriptionFacts, 'metadata'>,
  { metadata = {}, cancelAtPeriodEnd, cancelAt, paymentMethodId }: SubscriptionChange,
  after: SubscriptionFacts,
): boolean {
  const isOther = <Value>(wanted: Value | undefined, shown: Value | null) =>
    wanted !== undefined && wanted !== shown;
  const isStillEnding = after.cancelAtPeriodEnd || after.cancelAt !== null;
  return (
    isOther(cancelAtPeriodEnd, after.cancelAtPeriodEnd) ||
    (cancelAt === null && isStillEnding) ||
    isOther(paymentMethodId, after.defaultPaymentMethodId) ||
    (after.metadata !== null && isMetadataChangeIgnored(before.metadata ?? {}, metadata, after.metadata))
  );
}

/** The values that a row takes from the facts unchanged, and from the item that it follows. */
export function valuesOfSubscription(
  facts: SubscriptionFacts,
  item: SubscriptionItemFacts,
): SubscriptionValues & Pick<Subscription, 'quantity' | 'currentPeriodStart' | 'currentPeriodEnd'> {
  return {
    quantity: item.quantity,
    currentPeriodStart: item.currentPeriodStart,
    currentPeriodEnd: item.currentPeriodEnd,
    status: facts.status,
    trialEnd: facts.trialEnd,
    cancelAtPeriodEnd: endsWithPeriod(facts, item),
    cancelAt: facts.cancelAt,
    canceledAt: facts.canceledAt,
    endedAt: facts.endedAt,
    processorLatestInvoiceId: facts.processorLatestInvoiceId,
    defaultPaymentMethodId: facts.defaultPaymentMethodId,
  };
}

/**
 * A subscription ends with its period if the processor shows a flag, or only a date, as its portal does. A date in a
 * later period counts once that period has begun.
 */
function endsWithPeriod(
  { status, cancelAtPeriodEnd, cancelAt }: SubscriptionFacts,
  { currentPeriodEnd }: SubscriptionItemFacts,
): boolean {
  if (cancelAtPeriodEnd) return true;
  return !hasEnded(status) && cancelAt?.getTime() === currentPeriodEnd.getTime();
}

/** Both statuses are final. */
export function hasEnded(status: SubscriptionStatus): boolean {
  return status === 'canceled' || status === 'incomplete_expired';
}

/** Whether no other period follows the current one. */
export function isInLastPeriod(facts: SubscriptionFacts): boolean {
  const { currentPeriodEnd } = followedItem(facts, () => undefined);
  return facts.cancelAtPeriodEnd || (facts.cancelAt !== null && facts.cancelAt <= currentPeriodEnd);
}

export function foundSubscription(subscription: Subscription | undefined): Subscription {
  if (subscription === undefined) throw subscriptionNotFound();
  return subscription;
}

export function subscriptionNotFound(): Failure {
  return new Failure('not_found', 'No subscription has this id. Check the id.');
}
