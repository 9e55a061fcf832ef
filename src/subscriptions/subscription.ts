import { Failure } from '../errors.ts';
import type { DatedRow, OwnFacts } from '../mirrors/facts.ts';
import {
  isMetadataChangeIgnored,
  type Metadata,
  type MetadataChange,
  needsMetadata,
  type OwnedMetadata,
  takeMetadata,
} from '../mirrors/metadata.ts';
import { type Origin, type Taken, type TransitionTable, takeValues } from '../mirrors/transition.ts';

/** The customer is entitled while the status is `active` or `trialing`. */
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

export interface Subscription extends DatedRow {
  readonly processorSubscriptionId: string;
  readonly customerId: string;
  readonly planId: string;
  readonly status: SubscriptionStatus;
  readonly currentPeriodStart: Date | null;
  readonly currentPeriodEnd: Date | null;
  readonly trialEnd: Date | null;
  readonly metadata: OwnedMetadata;
}

export interface SubscriptionFacts extends OwnFacts {
  readonly processorSubscriptionId: string;
  /** Null if a response omits it. */
  readonly processorCustomerId: string | null;
  /**
   * Oldest first. Till creates subscriptions with one item, but more can be added on the processor's dashboard. Items
   * beyond the first page of the processor's list are not read.
   */
  readonly items: readonly [SubscriptionItemFacts, ...SubscriptionItemFacts[]];
  readonly status: SubscriptionStatus;
  readonly trialEnd: Date | null;
  /** Null if it is unknown: older releases stored events without metadata. */
  readonly metadata: Metadata | null;
}

/** A price that a subscription bills, with its current period. */
export interface SubscriptionItemFacts {
  readonly processorPriceId: string;
  /** Till's id of the plan, from the metadata of the price. Null if the price is not a Till plan. */
  readonly planLocalId: string | null;
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

/** Returns the id of the Till plan with this price, if there is one. */
export type PlanIdOf = (processorPriceId: string) => string | undefined;

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

/** Decides whether the facts change the row, and returns the row with the facts applied. */
export function takeSubscriptionFacts(
  subscription: Subscription,
  facts: SubscriptionFacts,
  planIdOf: PlanIdOf,
  origin: Origin,
  now: Date,
): Taken<Subscription> {
  const { processorPriceId, currentPeriodStart, currentPeriodEnd } = followedItem(facts, planIdOf);
  const values = {
    // A price that is not a Till plan does not change the plan.
    planId: planIdOf(processorPriceId) ?? subscription.planId,
    status: facts.status,
    currentPeriodStart,
    currentPeriodEnd,
    trialEnd: facts.trialEnd,
    metadata: takeMetadata(subscription.metadata, facts),
  };
  const rule = subscriptionTransitions[subscription.status][facts.status];
  const taken = takeValues(subscription, values, { rule, origin, asOf: facts.asOf, now });
  const isIncomplete = subscription.metadata !== null && needsMetadata(facts, origin, taken.verdict);
  return isIncomplete ? { ...taken, verdict: 'refresh' } : taken;
}

/** A change of a subscription. An absent field stays. */
export interface SubscriptionChange {
  readonly metadata?: MetadataChange;
}

/** Whether the processor's response to an update still shows an old value. */
export function isSubscriptionChangeIgnored(
  before: Subscription,
  { metadata = {} }: SubscriptionChange,
  after: SubscriptionFacts,
): boolean {
  return after.metadata !== null && isMetadataChangeIgnored(before.metadata ?? {}, metadata, after.metadata);
}

/** Both statuses are final. */
export function hasEnded(status: SubscriptionStatus): boolean {
  return status === 'canceled' || status === 'incomplete_expired';
}

export function foundSubscription(subscription: Subscription | undefined): Subscription {
  if (subscription === undefined)
    throw new Failure('not_found', 'No subscription has this id. Check the id.');
  return subscription;
}
