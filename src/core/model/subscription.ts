import { Failure } from '../errors.ts';
import { type DatedRow, type Origin, type OwnFacts, ruleFor, type Taken, takeValues } from './facts.ts';
import {
  isMetadataChangeIgnored,
  type Metadata,
  type MetadataChange,
  needsMetadata,
  noMetadata,
  type OwnedMetadata,
  takeMetadata,
} from './metadata.ts';
import {
  followedItem,
  type ItemListFacts,
  type ItemValues,
  type PlanOf,
  type RecordedMain,
  type SubscriptionItemFacts,
  valuesOfItems,
} from './subscription-items.ts';
import { type SubscriptionTermFacts, type SubscriptionTerms, termsOf } from './subscription-terms.ts';

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

export interface Subscription extends DatedRow, SubscriptionValues, ItemValues, SubscriptionTerms {
  readonly processorSubscriptionId: string;
  /** Why it was canceled, in free text. Null if it is not canceled, and once the customer is deleted. */
  readonly cancellationReason: string | null;
  readonly customerId: string;
  /** Null until the webhook of the invoice has arrived. */
  readonly latestInvoiceId: string | null;
  /**
   * The end of the period that the latest paid invoice bills. Only known while the status is `past_due`: then the
   * current period is not paid.
   */
  readonly paidUntil: Date | null;
  readonly metadata: OwnedMetadata;
}

export interface SubscriptionFacts
  extends OwnFacts,
    SubscriptionValues,
    ItemListFacts,
    SubscriptionTermFacts {
  readonly processorSubscriptionId: string;
  /** Null if a response omits it. */
  readonly processorCustomerId: string | null;
  /** Null if the event or the response does not show it. */
  readonly metadata: Metadata | null;
  /** Null if there is none. Absent if the event or the response does not show it. */
  readonly cancellationReason?: string | null;
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

const finalStatuses: readonly SubscriptionStatus[] = ['incomplete_expired', 'canceled'];

/** Decides whether the facts change the row, and returns the row with the facts applied. */
export function takeSubscriptionFacts(
  subscription: Subscription,
  facts: SubscriptionFacts,
  planOf: PlanOf,
  origin: Origin,
  now: Date,
): Taken<Subscription> {
  const values = {
    ...valuesOfSubscription(facts, subscription, planOf),
    metadata: takeMetadata(subscription.metadata, facts),
    cancellationReason: takeReason(subscription, facts),
  };
  const rule = ruleFor(subscription.status, facts.status, finalStatuses);
  const taken = takeValues(subscription, values, { rule, origin, asOf: facts.asOf, now });
  const lacksMetadata = subscription.metadata !== null && needsMetadata(facts, origin, taken.verdict);
  const lacksItems = facts.hasMoreItems === true && taken.verdict === 'take';
  return lacksMetadata || lacksItems ? { ...taken, verdict: 'refresh' } : taken;
}

/**
 * The reason after the row took facts. A subscription that is not canceled has none, even if the processor still has
 * the comment of a cancellation that was taken back. A row that has lost its metadata has lost its reason too.
 */
export function takeReason(
  before: Pick<Subscription, 'metadata' | 'cancellationReason'>,
  {
    cancellationReason = before.cancellationReason,
    cancelAtPeriodEnd,
    cancelAt,
    canceledAt,
  }: SubscriptionFacts,
): string | null {
  const isCanceled = cancelAtPeriodEnd || cancelAt !== null || canceledAt !== null;
  return before.metadata === null || !isCanceled ? null : cancellationReason;
}

/** What a row without facts has. */
export const noReason = { metadata: noMetadata, cancellationReason: null };

/** A change of a subscription that bills nothing. An absent field keeps its value. */
export interface SubscriptionChange {
  readonly metadata?: MetadataChange;
  readonly cancelAtPeriodEnd?: boolean;
  /** Clears the date at which it ends, and with it the end with its period. Never sent with `cancelAtPeriodEnd`. */
  readonly cancelAt?: null;
  /** Null removes it. */
  readonly cancellationReason?: string | null;
  /** The processor's id. */
  readonly paymentMethodId?: string;
}

/** Whether the processor's response to an update still shows an old value. */
export function isSubscriptionChangeIgnored(
  before: Pick<Subscription, 'metadata'> | Pick<SubscriptionFacts, 'metadata'>,
  { metadata = {}, cancelAtPeriodEnd, cancelAt, cancellationReason, paymentMethodId }: SubscriptionChange,
  after: SubscriptionFacts,
): boolean {
  const isOther = <Value>(wanted: Value | undefined, shown: Value | null) =>
    wanted !== undefined && wanted !== shown;
  const isStillEnding = after.cancelAtPeriodEnd || after.cancelAt !== null;
  return (
    isOther(cancelAtPeriodEnd, after.cancelAtPeriodEnd) ||
    (cancelAt === null && isStillEnding) ||
    isOther(paymentMethodId, after.defaultPaymentMethodId) ||
    (typeof cancellationReason === 'string' && after.cancellationReason === null) ||
    (after.metadata !== null && isMetadataChangeIgnored(before.metadata ?? {}, metadata, after.metadata))
  );
}

/** The values that a row takes from the facts: those of the subscription, of its items, and its terms. */
export function valuesOfSubscription(
  facts: SubscriptionFacts,
  row: RecordedMain & Pick<Subscription, 'planId' | 'discount' | 'pendingChange'>,
  planOf: PlanOf,
) {
  const item = followedItem(facts, row, planOf);
  return {
    ...ownValues(facts),
    ...valuesOfItems(facts, row, planOf),
    cancelAtPeriodEnd: endsWithPeriod(facts, item),
    ...termsOf(row, facts, item, planOf),
  };
}

/** What the facts do not use otherwise is a value that the row takes as it is. */
function ownValues({
  processorSubscriptionId,
  localId,
  processorCustomerId,
  items,
  hasMoreItems,
  mainMark,
  discount,
  usedDiscount,
  pendingChange,
  metadata,
  cancellationReason,
  createdAt,
  asOf,
  ...values
}: SubscriptionFacts) {
  return values;
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

export function hasEnded(status: SubscriptionStatus): boolean {
  return finalStatuses.includes(status);
}

/** Fails if the subscription has nothing to cancel, or if the processor's pages cannot cancel it. */
export function refuseCancellation({
  status,
  cancelAtPeriodEnd,
  cancelAt,
  pendingChange: change,
}: Subscription): void {
  if (hasEnded(status))
    throw new Failure('subscription_ended', 'The subscription has ended. There is nothing to cancel.');
  if (cancelAtPeriodEnd || cancelAt !== null)
    throw new Failure('subscription_ending', 'The subscription ends already. There is nothing to cancel.');
  if (change !== null) throw pendingChange();
}

/** Applies even if the pending change keeps the plan. Changing back to the current plan drops such a change too. */
export function pendingChange(): Failure {
  return new Failure(
    'pending_change',
    'A change of the subscription is pending. Change back to the current plan before the portal cancels it.',
  );
}

/** Whether no other period follows the current one. */
export function isInLastPeriod(
  facts: SubscriptionFacts,
  { currentPeriodEnd }: Pick<SubscriptionItemFacts, 'currentPeriodEnd'>,
): boolean {
  return facts.cancelAtPeriodEnd || (facts.cancelAt !== null && facts.cancelAt <= currentPeriodEnd);
}
