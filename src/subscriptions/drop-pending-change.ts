import type { OperationWrite } from '../idempotency/operation.ts';
import type { Processor } from '../processor/processor.ts';
import { notReached } from '../processor/refused-write.ts';
import type { ChangeableSubscription } from '../processor/subscription-change-calls.ts';

/**
 * Drops the change that the subscription waits for. True if there was one: then the subscription as it was read is out of
 * date. The calls have keys of their own, so that a repeated request repeats them.
 */
export async function dropPendingChange(
  { subscriptionChanges }: Pick<Processor, 'subscriptionChanges'>,
  { pendingUpdate }: ChangeableSubscription,
  { idempotencyKey }: Pick<OperationWrite, 'idempotencyKey'>,
): Promise<boolean> {
  if (pendingUpdate === null) return false;
  const { processorInvoiceId } = pendingUpdate;
  if (processorInvoiceId !== null)
    await voidChangeInvoice({ subscriptionChanges }, processorInvoiceId, `${idempotencyKey}-drop`);
  return true;
}

/** Voids the invoice of a change. It may have been paid meanwhile, which has made the change. */
export async function voidChangeInvoice(
  { subscriptionChanges }: Pick<Processor, 'subscriptionChanges'>,
  processorInvoiceId: string,
  idempotencyKey: string,
): Promise<'void' | 'paid'> {
  const attempt = await subscriptionChanges.voidInvoice({ processorInvoiceId, idempotencyKey });
  if (attempt.outcome === 'done') return 'void';
  const charge = await subscriptionChanges.readCharge(processorInvoiceId);
  if (charge?.status === 'void' || charge?.status === 'paid') return charge.status;
  throw notReached(attempt, 'invoice', charge?.status ?? 'missing');
}
