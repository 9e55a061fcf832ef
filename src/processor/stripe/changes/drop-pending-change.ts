import type { ChangeableSubscription } from '../../port/subscription-changes.ts';
import { voidInvoice } from '../objects/void-invoice.ts';
import type { AdapterContext } from '../wire/adapter-context.ts';
import { releaseSchedule } from './planned-changes.ts';
import { restoreVoided } from './restore-voided.ts';

/**
 * Drops the change that waits for its payment, and releases the schedule. If another process died after it had voided
 * the invoice of a change, this restores what the invoice has taken. True if any of this was necessary. Then the
 * subscription that the caller has read is stale, and the dropped change may even have been paid and applied meanwhile.
 * The calls have their own processor keys, so that a repeated request repeats them.
 */
export async function dropPendingChange(
  context: AdapterContext,
  found: ChangeableSubscription,
  idempotencyKey: string,
  which: 'unpaid' | 'all' = 'all',
): Promise<boolean> {
  const { changeInvoiceId, unrestoredInvoiceId, processorPlanningId } = found;
  const isPlanned = which === 'all' && processorPlanningId !== null;
  if (changeInvoiceId !== null) await voidChangeInvoice(context, changeInvoiceId, `${idempotencyKey}-drop`);
  else if (unrestoredInvoiceId !== null) await restoreVoided(context, unrestoredInvoiceId);
  if (isPlanned) await releaseSchedule(context, found, idempotencyKey);
  return changeInvoiceId !== null || unrestoredInvoiceId !== null || isPlanned;
}

/**
 * Voids the invoice of a change, and restores what it has taken. If the invoice was paid meanwhile, the change has been
 * applied.
 */
export async function voidChangeInvoice(
  context: AdapterContext,
  processorInvoiceId: string,
  idempotencyKey: string,
): Promise<'void' | 'paid'> {
  const ended = await voidInvoice(context, processorInvoiceId, idempotencyKey);
  if (ended === 'void') await restoreVoided(context, processorInvoiceId);
  return ended;
}
