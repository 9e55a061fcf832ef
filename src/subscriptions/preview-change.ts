import { notReached } from '../processor/refused-write.ts';
import type {
  ChangeableSubscription,
  ChangePreview,
  PreviewLine,
} from '../processor/subscription-change-calls.ts';
import { itemChange, plansOfChange, readChangeable, type Target, targetOf } from './change-terms.ts';
import { refuseTakenGroup } from './reserve-group.ts';
import type { Subscription } from './subscription.ts';
import type { ChangeParts } from './subscription-change.ts';
import type { TermsChange } from './subscription-patch.ts';

/** The invoice that will contain a change. */
export interface PreviewedChange {
  readonly amountDue: number;
  readonly currency: string;
  readonly billedNow: boolean;
  /** With this time, the change costs what the preview says. Null if the change prorates nothing. */
  readonly prorationDate: Date | null;
  readonly lines: readonly PreviewLine[];
}

/** Previews a change with the parameters that the change itself would have, after the same checks. */
export async function previewChange(
  parts: ChangeParts,
  subscription: Subscription,
  change: TermsChange,
): Promise<PreviewedChange> {
  const { database, processor } = parts;
  const plans = await plansOfChange(parts.plans, subscription, change);
  const { wanted } = plans;
  if (wanted !== null && wanted.id !== subscription.planId) {
    const { customerId, id: subscriptionId } = subscription;
    await database.transaction((tx) =>
      refuseTakenGroup(tx, parts, { customerId, subscriptionId, planId: wanted.id }),
    );
  }
  const found = await readChangeable(processor, subscription);
  const target = targetOf(found, change, plans);
  const order = itemChange(change, target, subscription);
  const attempt = await processor.subscriptionChanges.preview(
    // A change to the present plan and quantity bills nothing, whatever it says about proration.
    target.isPresent ? { ...order, proration: 'none' } : order,
  );
  if (attempt.outcome !== 'done') throw notReached(attempt, 'subscription', 'unchanged');
  const preview = attempt.value;
  return {
    amountDue: preview?.amountDue ?? 0,
    currency: found.currency,
    billedNow: isBilledNow(change, target, found, preview),
    prorationDate: prorationDateOf(change, found, preview),
    lines: preview?.lines ?? [],
  };
}

/** What starts a period is billed now. With `invoice` so is a proration: its invoice does not renew the subscription. */
function isBilledNow(
  change: TermsChange,
  { startsPeriod, isPresent }: Target,
  { subscription }: ChangeableSubscription,
  preview: ChangePreview | null,
): boolean {
  if (change.kind === 'periodEnd' || isPresent || preview === null) return false;
  if (startsPeriod) return true;
  const { currentPeriodEnd } = subscription.items[0];
  const renews = preview.lines.some((line) => !line.proration && line.periodStart >= currentPeriodEnd);
  return change.proration === 'invoice' && !renews;
}

/** The time that the preview used, else one that the processor accepts: it must be within the current period. */
function prorationDateOf(
  change: TermsChange,
  { subscription }: ChangeableSubscription,
  preview: ChangePreview | null,
): Date | null {
  if (change.kind === 'periodEnd' || change.proration === 'none') return null;
  if (change.prorationDate !== undefined) return new Date(change.prorationDate);
  if (preview?.prorationDate != null) return preview.prorationDate;
  const { currentPeriodStart, currentPeriodEnd } = subscription.items[0];
  const now = preview?.now ?? subscription.asOf.latest;
  const ms = Math.max(currentPeriodStart.getTime(), Math.min(now.getTime(), currentPeriodEnd.getTime()));
  return new Date(ms);
}
