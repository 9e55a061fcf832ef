import type { SubscriptionStatus } from './subscription.ts';
import type { PastPeriod, PeriodTerms } from './usage-window.ts';

/** A change of a subscription, as it is recorded. */
export interface SubscriptionChange {
  /** What the subscription was. */
  readonly before: {
    readonly status: SubscriptionStatus;
    readonly start: Date | null;
    readonly end: Date | null;
    readonly terms: PeriodTerms;
    /** The end of the grace period that entitled the customer. */
    readonly graceEndsAt: Date | null;
  };
  /** What it became. A grace period that ended by itself leaves it as it was. */
  readonly after: {
    readonly status: SubscriptionStatus;
    readonly start: Date | null;
    readonly endedAt: Date | null;
    readonly hasOtherTerms: boolean;
  };
  /** When it changed, by the processor's clock. */
  readonly at: Date;
}

/** The periods that the changes of a subscription ended, ordered by `until`. If that is equal, by the changes. */
export function pastPeriodsOf(changes: readonly SubscriptionChange[]): readonly PastPeriod[] {
  return changes
    .flatMap((change) => [endedPeriod(change), endWithoutAccess(change)])
    .filter((period) => period !== undefined)
    .toSorted((a, b) => a.until.getTime() - b.until.getTime());
}

/** The period before the change, if the subscription entitled its customer then and something of that has ended. */
function endedPeriod(change: SubscriptionChange): PastPeriod | undefined {
  const { before, after, at } = change;
  const { start, end, terms } = before;
  const graceEndsAt = graceOf(change);
  if (start === null || end === null || !(isPaid(before.status) || graceEndsAt !== null)) return undefined;
  const next = after.start !== null && start < after.start ? after.start : null;
  const isOver = graceEndsAt !== null && graceEndsAt <= at && after.status === before.status;
  const isLost = !isPaid(after.status) && after.status !== before.status;
  if (next === null && !isLost && !isOver && !after.hasOtherTerms) return undefined;
  const changedAt = isLost ? earlier(end, after.endedAt ?? at) : at;
  return {
    start,
    end: earlier(end, next),
    until: earlier(next ?? changedAt, graceEndsAt),
    terms,
  };
}

/**
 * A subscription that is canceled after a time without access. Without this, late usage of that time would count in its
 * last period: only a subscription that entitled its customer until it ended has that window until then. The period
 * begins when it ends, so no window contains the time after the period before it: that of the last access.
 *
 * A grace period that lasted until the end gave access. A subscription that expires without a first payment needs no
 * such period, as its status says the same.
 */
function endWithoutAccess(change: SubscriptionChange): PastPeriod | undefined {
  const { before, after } = change;
  const { endedAt } = after;
  if (after.status !== 'canceled' || before.status === 'canceled' || endedAt === null) return undefined;
  const graceEndsAt = graceOf(change);
  if (isPaid(before.status) || (graceEndsAt !== null && graceEndsAt >= endedAt)) return undefined;
  return { start: endedAt, end: endedAt, until: endedAt, terms: before.terms };
}

/** Only a subscription that is past due has a grace period. */
function graceOf({ before }: SubscriptionChange): Date | null {
  return before.status === 'past_due' ? before.graceEndsAt : null;
}

/** Whether the status alone entitles the customer, without a grace period. */
function isPaid(status: SubscriptionStatus): boolean {
  return status === 'active' || status === 'trialing';
}

function earlier(time: Date, other: Date | null): Date {
  return other !== null && other < time ? other : time;
}
