import type { OperationWrite } from '../../idempotency/operation.ts';
import type { Processor } from '../../processor/port/processor.ts';
import type { ChangeableSubscription } from '../../processor/port/subscription-change-calls.ts';
import { notReached } from '../../processor/refused-write.ts';
import { restoreWaitingItems } from './waiting-items.ts';

type Calls = VoidCalls & Pick<Processor, 'schedules'>;
type VoidCalls = Pick<Processor, 'subscriptionChanges' | 'invoiceItems'>;
type Write = Pick<OperationWrite, 'idempotencyKey'>;

/**
 * Drops the change that the subscription waits for, and ends its schedule. True if there was one of both: then the
 * subscription as it was read is out of date. The calls have keys of their own, so that a repeated request repeats them.
 */
export async function dropPendingChange(
  calls: Calls,
  found: ChangeableSubscription,
  write: Write,
): Promise<boolean> {
  await dropPendingUpdate(calls, found, write);
  if (found.processorScheduleId !== null)
    await releaseSchedule(calls, found, found.processorScheduleId, write);
  return found.pendingUpdate !== null || found.processorScheduleId !== null;
}

/** Drops a change that waits for its payment. */
export async function dropPendingUpdate(
  calls: Calls,
  { pendingUpdate }: ChangeableSubscription,
  { idempotencyKey }: Write,
): Promise<void> {
  const invoiceId = pendingUpdate?.processorInvoiceId ?? null;
  if (invoiceId !== null) await voidChangeInvoice(calls, invoiceId, `${idempotencyKey}-drop`);
}

/** Ends a schedule. Another request may have done so meanwhile, or its last phase may have ended. */
async function releaseSchedule(
  { schedules, subscriptionChanges }: Calls,
  { subscription: { processorSubscriptionId } }: ChangeableSubscription,
  processorScheduleId: string,
  { idempotencyKey }: Write,
): Promise<void> {
  const attempt = await schedules.release({
    processorScheduleId,
    idempotencyKey: `${idempotencyKey}-release`,
  });
  if (attempt.outcome === 'done') return;
  const present = await subscriptionChanges.read(processorSubscriptionId);
  if (present?.processorScheduleId === processorScheduleId)
    throw notReached(attempt, 'subscription', 'unchanged');
}

/**
 * Voids the invoice of a change, and makes the items wait again that it had taken from earlier changes. It may have been
 * paid meanwhile, which has made the change.
 */
export async function voidChangeInvoice(
  calls: VoidCalls,
  processorInvoiceId: string,
  idempotencyKey: string,
): Promise<'void' | 'paid'> {
  const ended = await endInvoice(calls, processorInvoiceId, idempotencyKey);
  if (ended === 'void') await restoreWaitingItems(calls, processorInvoiceId);
  return ended;
}

async function endInvoice(
  { subscriptionChanges }: VoidCalls,
  processorInvoiceId: string,
  idempotencyKey: string,
): Promise<'void' | 'paid'> {
  const attempt = await subscriptionChanges.voidInvoice({ processorInvoiceId, idempotencyKey });
  if (attempt.outcome === 'done') return 'void';
  const charge = await subscriptionChanges.readCharge(processorInvoiceId);
  if (charge?.status === 'void' || charge?.status === 'paid') return charge.status;
  throw notReached(attempt, 'invoice', charge?.status ?? 'missing');
}
