import { Failure } from '../../errors.ts';
import { isInLastPeriod, type SubscriptionFacts } from '../../model/subscription.ts';
import type { Processor } from '../../processor/port/processor.ts';
import type { ChangeableSubscription } from '../../processor/port/subscription-change-calls.ts';
import type { Target } from './change-terms.ts';
import { refuseWhilePaymentDue } from './payment-due.ts';
import type { TermsChange } from './subscription-patch.ts';

/**
 * Fails if the state of the subscription forbids a change of plan or quantity. A change and its preview both call it, so
 * that a preview is refused exactly when its change is.
 */
export async function refuseChange(
  processor: Pick<Processor, 'subscriptions' | 'invoices'>,
  found: ChangeableSubscription,
  change: TermsChange,
  target: Target,
): Promise<void> {
  if (change.kind === 'now') return refuseWhilePaymentDue(processor, found, change, target);
  refuseIfEnding(found.subscription);
  if (found.isPaused && !target.isPresent)
    throw new Failure(
      'processor_rejected',
      'The subscription is paused, so its period does not end. Resume it first with POST ' +
        '/api/v1/subscriptions/{id}/pay, or send when: now.',
      { effect: 'none' },
    );
}

/** Fails if no period follows in which the change could apply. */
function refuseIfEnding(facts: SubscriptionFacts): void {
  if (isInLastPeriod(facts))
    throw new Failure(
      'subscription_ending',
      'The subscription ends with the current period. Set cancelAtPeriodEnd to false before you plan a change.',
    );
}
