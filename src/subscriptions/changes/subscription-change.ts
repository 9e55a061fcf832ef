import type { RecordedFailure } from '../../idempotency/claim.ts';
import type { Subscription, SubscriptionFacts } from '../../model/subscription.ts';
import type { SubscriptionPatch } from './subscription-patch.ts';

export interface ChangedSubscription {
  readonly subscription: Subscription;
  /** What the change leaves to confirm, passed on to the caller and never stored. Null if there is nothing. */
  readonly clientSecret: string | null;
}

/** What a change made of the subscription. */
export interface MadeChange {
  /** The processor's subscription after the change. */
  readonly facts: SubscriptionFacts;
  /** The row before the request. */
  readonly subscription: Subscription;
  readonly clientSecret: string | null;
  /** The change was billed and declined. */
  readonly failure?: RecordedFailure;
}

/** Whether the subscription waits for the payment of this change. When a request is repeated, another one may wait. */
export function isWaiting(
  change: SubscriptionPatch,
  { planId, quantity, pendingChange }: Pick<Subscription, 'planId' | 'quantity' | 'pendingChange'>,
): boolean {
  if (change.kind !== 'now' || pendingChange === null || pendingChange.at !== null) return false;
  const wanted = { planId, quantity, ...change };
  return pendingChange.planId === wanted.planId && pendingChange.quantity === wanted.quantity;
}
