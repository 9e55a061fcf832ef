import { notReached } from '../../port/attempt.ts';
import type { ChangeableSubscription } from '../../port/subscription-changes.ts';
import { readCharge } from '../objects/invoice-charge.ts';
import type { AdapterContext } from '../wire/adapter-context.ts';
import { done, missing, refused } from '../wire/attempt.ts';
import { releaseSchedule } from './planned-changes.ts';
import { restoreWaitingItems } from './waiting-items.ts';

/**
 * Drops the change that waits for its payment, and releases the schedule. True if there was either of them. Then the
 * subscription as it was read is stale, and the dropped change may even have been paid and applied meanwhile. The calls
 * have their own processor keys, so that a repeated request repeats them.
 */
export async function dropPendingChange(
  context: AdapterContext,
  found: ChangeableSubscription,
  idempotencyKey: string,
  which: 'unpaid' | 'all' = 'all',
): Promise<boolean> {
  const { changeInvoiceId, processorPlanningId } = found;
  const isPlanned = which === 'all' && processorPlanningId !== null;
  if (changeInvoiceId !== null) await voidChangeInvoice(context, changeInvoiceId, `${idempotencyKey}-drop`);
  if (isPlanned) await releaseSchedule(context, found, idempotencyKey);
  return changeInvoiceId !== null || isPlanned;
}

/**
 * Voids the invoice of a change, and restores the invoice items of earlier changes that it had billed. If the invoice
 * was paid meanwhile, the change has been applied.
 */
export async function voidChangeInvoice(
  context: AdapterContext,
  processorInvoiceId: string,
  idempotencyKey: string,
): Promise<'void' | 'paid'> {
  const ended = await endInvoice(context, processorInvoiceId, idempotencyKey);
  if (ended === 'void') await restoreWaitingItems(context, processorInvoiceId);
  return ended;
}

async function endInvoice(
  context: AdapterContext,
  processorInvoiceId: string,
  idempotencyKey: string,
): Promise<'void' | 'paid'> {
  const { stripe, call } = context;
  const attempt = await call('invoices.void', {
    kind: 'write',
    send: (options) => stripe.invoices.voidInvoice(processorInvoiceId, {}, { ...options, idempotencyKey }),
    take: () => done(null),
    // The call carries none of the caller's values, so any other refusal is about the invoice's state.
    refused: (refusal) => missing(refusal) ?? refused('wrong_state', refusal),
  });
  if (attempt.outcome === 'done') return 'void';
  const charge = await readCharge(context, processorInvoiceId);
  if (charge?.status === 'void' || charge?.status === 'paid') return charge.status;
  throw notReached(attempt, 'invoice', charge?.status ?? 'missing');
}
