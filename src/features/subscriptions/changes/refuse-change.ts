import { Failure } from '#core/errors.ts';
import { isInLastPeriod, type SubscriptionFacts, type SubscriptionStatus } from '#core/model/subscription.ts';
import type { SubscriptionToPay } from '#processor/port/invoice-payment.ts';
import type { Processor } from '#processor/port/processor.ts';
import type { ChangeableSubscription } from '#processor/port/subscription-changes.ts';
import { invoiceToPay } from '../paying/invoice-to-pay.ts';
import { readToPay } from '../paying/pay-invoice.ts';
import type { ChangeTarget } from './change-terms.ts';
import type { ChangeNow, TermsChange } from './subscription-patch.ts';

type ReadCalls = Pick<Processor, 'subscriptions' | 'invoices'>;

/**
 * Fails if the state of the subscription forbids a change of plan or quantity. A change and its preview both call it,
 * so that a preview is refused exactly when its change is.
 */
export async function refuseChange(
  processor: ReadCalls,
  found: ChangeableSubscription,
  change: TermsChange,
  target: ChangeTarget,
): Promise<void> {
  if (change.kind === 'now') return refuseWhilePaymentDue(processor, found, change, target);
  refuseIfEnding(found.subscription, target);
  if (found.isPaused && !target.isUnchanged)
    throw new Failure(
      'processor_rejected',
      'The subscription is paused, so its period does not end. Resume it first with POST ' +
        '/api/v1/subscriptions/{id}/pay, or send when: now.',
      { effect: 'none' },
    );
}

/** Fails if no other period follows the current one. */
function refuseIfEnding(facts: SubscriptionFacts, { item }: ChangeTarget): void {
  if (isInLastPeriod(facts, item))
    throw new Failure(
      'subscription_ending',
      'The subscription ends with the current period. Set cancelAtPeriodEnd to false before you plan a change.',
    );
}

/** The statuses of a subscription whose latest invoice is not paid. */
const unpaid: readonly SubscriptionStatus[] = ['past_due', 'unpaid'];

/** The invoice of the period is among the newest ones. Few other invoices have more lines than the list shows. */
const readsMax = 5;

/**
 * Fails if no paid invoice covers the period that has begun, and the change would bill or credit a part of it. The
 * status follows the latest invoice, and a credit can pay that invoice: the subscription would become active although
 * the period is not paid. See decision 0016.
 */
async function refuseWhilePaymentDue(
  calls: ReadCalls,
  found: ChangeableSubscription,
  change: ChangeNow,
  target: ChangeTarget,
): Promise<void> {
  if (!unpaid.includes(found.subscription.status) || !isBilledOrCredited(change, target)) return;
  const current = await readToPay(calls, found.subscription);
  if (await isPaidUntil(calls, current, target.item.currentPeriodEnd)) return;
  throw new Failure(
    'payment_due',
    'No paid invoice covers the current period, and this change would bill or credit it. ' +
      waysOut(found, change, target, current),
  );
}

function isBilledOrCredited(
  { proration }: ChangeNow,
  { isUnchanged, changesPeriod, isCheaper }: ChangeTarget,
): boolean {
  if (isUnchanged) return false;
  return changesPeriod || proration === 'invoice' || (proration === 'nextInvoice' && isCheaper);
}

/**
 * Whether a paid invoice bills the period that ends at this time. An invoice that only bills a change does not count.
 */
async function isPaidUntil(
  { invoices }: ReadCalls,
  current: SubscriptionToPay,
  periodEnd: Date,
): Promise<boolean> {
  const paid = current.invoices.filter(({ status }) => status === 'paid');
  const covers = (coversUntil: Date | null | undefined) => coversUntil != null && coversUntil >= periodEnd;
  if (paid.some(({ facts }) => covers(facts?.coversUntil))) return true;
  // The list does not show all lines of these invoices.
  const unclear = paid.filter(({ facts }) => facts?.coversUntil === undefined);
  for (const { processorInvoiceId } of unclear.slice(0, readsMax))
    if (covers((await invoices.read(processorInvoiceId))?.coversUntil)) return true;
  return false;
}

/** What the caller can do instead. */
function waysOut(
  { subscription, isPaused }: ChangeableSubscription,
  { proration }: ChangeNow,
  { item, changesPeriod, isCheaper }: ChangeTarget,
  current: SubscriptionToPay,
): string {
  const sends = [
    ...(proration === 'invoice' && !changesPeriod && !isCheaper ? ['proration: nextInvoice'] : []),
    ...(changesPeriod ? [] : ['proration: none']),
    ...(isPaused || isInLastPeriod(subscription, item) ? [] : ['when: periodEnd']),
  ];
  const isPayable = invoiceToPay(current) !== null;
  const ways = [
    ...(isPayable ? ['pay the invoice first with POST /api/v1/subscriptions/{id}/pay'] : []),
    ...(sends.length === 0 ? [] : [`send ${sends.join(' or ')}`]),
  ];
  const [first, ...others] = ways;
  if (first === undefined) return 'The change is possible once a later period is paid.';
  return `${[first.charAt(0).toUpperCase() + first.slice(1), ...others].join(', or ')}.`;
}
