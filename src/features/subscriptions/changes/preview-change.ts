import { Failure } from '#core/errors.ts';
import type { Plan } from '#core/model/plan.ts';
import {
  isInLastPeriod,
  type Subscription,
  type SubscriptionFacts,
  type SubscriptionStatus,
} from '#core/model/subscription.ts';
import { notReached } from '#processor/port/attempt.ts';
import type { SubscriptionToPay } from '#processor/port/invoice-payment.ts';
import type { Processor } from '#processor/port/processor.ts';
import type {
  ChangeableSubscription,
  ChangePreview,
  PreviewLine,
} from '#processor/port/subscription-changes.ts';
import { invoiceToPay } from '../paying/invoice-to-pay.ts';
import { readToPay } from '../paying/pay-invoice.ts';
import { refuseTakenGroup } from '../reserve-group.ts';
import type { SubscriptionContext } from '../subscription-creation.ts';
import { type ChangeTarget, itemsChange, planIdsOf, plansOfChange, readTarget } from './change-terms.ts';
import type { ChangeNow, TermsChange } from './subscription-patch.ts';

/** The invoice that will contain a change. */
export interface PreviewedChange {
  readonly amountDue: number;
  readonly currency: string;
  readonly billedNow: boolean;
  /** A change with this time costs what the preview shows. Null if the change prorates nothing. */
  readonly prorationDate: Date | null;
  readonly lines: readonly PreviewLine[];
}

/** Previews a change with the parameters that the change itself would have, after the same checks. */
export async function previewChange(
  context: SubscriptionContext,
  subscription: Subscription,
  change: TermsChange,
): Promise<PreviewedChange> {
  const { database, processor } = context;
  const plans = await plansOfChange(context.plans, subscription, change);
  const { wanted } = plans;
  if (wanted !== null && wanted.id !== subscription.planId) {
    const { customerId, id: subscriptionId } = subscription;
    const joining = { customerId, subscriptionId, planId: wanted.id };
    await database.transaction((tx) => refuseTakenGroup(tx, context, joining));
  }
  const found = await processor.subscriptionChanges.read(subscription.processorSubscriptionId);
  const target = await readTarget(context, found, change, plans);
  await refuseChange(processor, found, change, target);
  const preview = await readPreview(context, found, change, target, subscription);
  return {
    amountDue: preview?.amountDue ?? 0,
    currency: found.currency,
    billedNow: isBilledNow(change, target, preview),
    prorationDate: prorationDateOf(change, target, found, preview),
    lines: linesOf(change, target, wanted, preview),
  };
}

/** Reads the processor's preview of a change. Fails if the processor would refuse the change. */
async function readPreview(
  { processor, plans }: SubscriptionContext,
  found: ChangeableSubscription,
  change: TermsChange,
  target: ChangeTarget,
  subscription: Subscription,
): Promise<ChangePreview | null> {
  const order = { ...itemsChange(change, target, subscription), found };
  const { prorationDate: _, ...undated } = order;
  const attempt = await processor.subscriptionChanges
    // A change to the current plan and quantity bills nothing, whatever its `proration`, and its date has no effect.
    .preview(target.isUnchanged ? { ...undated, proration: 'none' } : order)
    .catch(async (error: unknown) => {
      throw await plans.explainRefusal(error, planIdsOf(change));
    });
  if (attempt.outcome !== 'done') throw notReached(attempt, 'subscription', 'unchanged');
  return attempt.value;
}

/**
 * Fails if the processor would refuse the number of items. Only for a change that first drops a pending one, because
 * the pending one must stay if the change is refused. It costs calls, so it is skipped for a change that adds no item.
 */
export async function refuseTooManyItems(
  context: SubscriptionContext,
  found: ChangeableSubscription,
  change: TermsChange,
  target: ChangeTarget,
  subscription: Subscription,
): Promise<void> {
  const { changeInvoiceId, processorPlanningId } = found;
  const drops = changeInvoiceId !== null || (change.kind === 'now' && processorPlanningId !== null);
  const adds = target.changes.some(({ processorItemId }) => processorItemId === null);
  if (drops && adds) await readPreview(context, found, change, target, subscription);
}

/**
 * The processor previews a change at the end of the period as if it happened now. The cost is the same. Only the period
 * of a line differs, if the new plan has another interval.
 */
function linesOf(
  change: TermsChange,
  { item: { currentPeriodEnd }, isOtherInterval }: ChangeTarget,
  wanted: Plan | null,
  preview: ChangePreview | null,
): readonly PreviewLine[] {
  const lines = preview?.lines ?? [];
  if (change.kind === 'now' || !isOtherInterval || wanted === null) return lines;
  return lines.map((line) =>
    line.proration || line.periodStart >= currentPeriodEnd
      ? line
      : { ...line, periodStart: currentPeriodEnd, periodEnd: periodEndOf(currentPeriodEnd, wanted) },
  );
}

const daysPerInterval = { day: 1, week: 7 } as const;
const monthsPerInterval = { month: 1, year: 12 } as const;

/** The end of a plan's period. In a month that is too short, the period ends on the last day. */
function periodEndOf(
  start: Date,
  { interval, intervalCount }: Pick<Plan, 'interval' | 'intervalCount'>,
): Date {
  const end = new Date(start);
  if (interval === 'day' || interval === 'week') {
    end.setUTCDate(end.getUTCDate() + daysPerInterval[interval] * intervalCount);
    return end;
  }
  end.setUTCMonth(end.getUTCMonth() + monthsPerInterval[interval] * intervalCount);
  // The day overflowed into the next month, so the period ends on the last day of the month before.
  if (end.getUTCDate() !== start.getUTCDate()) end.setUTCDate(0);
  return end;
}

/**
 * A change that starts a period is billed now. With `invoice`, a proration is billed now too, by an invoice that does
 * not renew the subscription.
 */
function isBilledNow(
  change: TermsChange,
  { item: { currentPeriodEnd }, startsPeriod, isUnchanged }: ChangeTarget,
  preview: ChangePreview | null,
): boolean {
  if (change.kind === 'periodEnd' || isUnchanged || preview === null) return false;
  if (startsPeriod) return true;
  const renews = preview.lines.some((line) => !line.proration && line.periodStart >= currentPeriodEnd);
  return change.proration === 'invoice' && !renews;
}

/** The time that the preview used, else one within the current period, because the processor accepts no other. */
function prorationDateOf(
  change: TermsChange,
  { item: { currentPeriodStart, currentPeriodEnd } }: ChangeTarget,
  { subscription }: ChangeableSubscription,
  preview: ChangePreview | null,
): Date | null {
  if (change.kind === 'periodEnd' || change.proration === 'none') return null;
  if (change.prorationDate !== undefined) return new Date(change.prorationDate);
  if (preview?.prorationDate != null) return preview.prorationDate;
  const now = preview?.now ?? subscription.asOf.latest;
  const ms = Math.max(currentPeriodStart.getTime(), Math.min(now.getTime(), currentPeriodEnd.getTime()));
  return new Date(ms);
}

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
