import type { Plan } from '#core/model/plan.ts';
import type { Subscription } from '#core/model/subscription.ts';
import { notReached } from '#processor/port/attempt.ts';
import type {
  ChangeableSubscription,
  ChangePreview,
  PreviewLine,
} from '#processor/port/subscription-changes.ts';
import { refuseTakenGroup } from '../reserve-group.ts';
import type { SubscriptionParts } from '../subscription-creation.ts';
import { type ChangeTarget, itemsChange, planIdsOf, plansOfChange, readTarget } from './change-terms.ts';
import { refuseChange } from './refuse-change.ts';
import type { TermsChange } from './subscription-patch.ts';

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
  parts: SubscriptionParts,
  subscription: Subscription,
  change: TermsChange,
): Promise<PreviewedChange> {
  const { database, processor } = parts;
  const plans = await plansOfChange(parts.plans, subscription, change);
  const { wanted } = plans;
  if (wanted !== null && wanted.id !== subscription.planId) {
    const { customerId, id: subscriptionId } = subscription;
    const joining = { customerId, subscriptionId, planId: wanted.id };
    await database.transaction((tx) => refuseTakenGroup(tx, parts, joining));
  }
  const found = await processor.subscriptionChanges.read(subscription.processorSubscriptionId);
  const target = await readTarget(parts, found, change, plans);
  await refuseChange(processor, found, change, target);
  const preview = await readPreview(parts, found, change, target, subscription);
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
  { processor, plans }: SubscriptionParts,
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
  parts: SubscriptionParts,
  found: ChangeableSubscription,
  change: TermsChange,
  target: ChangeTarget,
  subscription: Subscription,
): Promise<void> {
  const { changeInvoiceId, processorPlanningId } = found;
  const drops = changeInvoiceId !== null || (change.kind === 'now' && processorPlanningId !== null);
  const adds = target.changes.some(({ processorItemId }) => processorItemId === null);
  if (drops && adds) await readPreview(parts, found, change, target, subscription);
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
export function periodEndOf(
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
