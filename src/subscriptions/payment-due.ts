import { Failure } from '../errors.ts';
import type { Processor } from '../processor/processor.ts';
import { objectMissing } from '../processor/refused-write.ts';
import type { ChangeableSubscription } from '../processor/subscription-change-calls.ts';
import type { Target } from './change-terms.ts';
import type { SubscriptionStatus } from './subscription.ts';
import type { TermsChange } from './subscription-patch.ts';

/** The statuses of a subscription whose period is not paid. */
const unpaid: readonly SubscriptionStatus[] = ['past_due', 'unpaid'];

/**
 * Fails if an invoice of the subscription is due and the change would bill or credit a part of the unpaid period. The
 * status follows the latest invoice, and a credit can pay that: the subscription would be active again, and the period
 * would not be paid. See decision 0028.
 */
export async function refuseWhilePaymentDue(
  { subscriptions }: Pick<Processor, 'subscriptions'>,
  { subscription: { status, processorSubscriptionId } }: ChangeableSubscription,
  change: TermsChange,
  target: Target,
): Promise<void> {
  if (!unpaid.includes(status) || !isBilledOrCredited(change, target)) return;
  const present = await subscriptions.readToPay(processorSubscriptionId);
  if (present === null) throw objectMissing('subscription');
  // Otherwise there would be nothing to pay first, for example after the invoice was voided.
  if (present.openInvoiceIds.length === 0) return;
  const instead = target.startsPeriod ? 'when: periodEnd' : 'proration: none or when: periodEnd';
  throw new Failure(
    'payment_due',
    'An invoice of the subscription is not paid, and this change would bill or credit the unpaid period. Pay the ' +
      `invoice first with POST /api/v1/subscriptions/{id}/pay, or send ${instead}.`,
  );
}

function isBilledOrCredited(
  change: TermsChange,
  { isPresent, startsPeriod, isCheaper }: Pick<Target, 'isPresent' | 'startsPeriod' | 'isCheaper'>,
): boolean {
  if (change.kind === 'periodEnd' || isPresent) return false;
  if (startsPeriod || change.proration === 'invoice') return true;
  return change.proration === 'nextInvoice' && isCheaper;
}
