import { Failure } from '../../errors.ts';
import { lostClaimAgeMs } from '../../idempotency/claim.ts';
import type { OperationWrite } from '../../idempotency/operation.ts';
import type { Declined, NewInvoicePayment, SubscriptionToPay } from '../../processor/port/invoice-payment.ts';
import type { Processor } from '../../processor/port/processor.ts';

/** More than a subscription pays in a day. */
const paidMax = 10;

/**
 * What became of an earlier request with the same key, whose claim is lost. Otherwise this request would pay another
 * invoice. To pay a paid invoice again under the same key of the processor charges nothing: the processor repeats its
 * response to the earlier call, or refuses the call if there was none. Null if there was no earlier request.
 */
export async function findLostPayment(
  { invoices }: Pick<Processor, 'invoices'>,
  { paymentMethodId }: { readonly paymentMethodId?: string },
  present: SubscriptionToPay,
  { hasKey, target, idempotencyKey }: OperationWrite,
): Promise<'paid' | Declined | null> {
  // A request that has chosen its invoice goes on with that.
  if (!hasKey || target !== null) return null;
  for (const processorInvoiceId of newlyPaid(present).slice(0, paidMax)) {
    const method = paymentMethodId === undefined ? {} : { paymentMethodId };
    const order = {
      processorInvoiceId,
      ...method,
      idempotencyKey: `${idempotencyKey}-${processorInvoiceId}`,
    };
    const earlier = await repeat(invoices, order);
    if (earlier !== null) return earlier;
  }
  return null;
}

/** By the processor's clock. */
function newlyPaid({ invoices, subscription: { asOf } }: SubscriptionToPay): readonly string[] {
  const since = asOf.earliest.getTime() - lostClaimAgeMs;
  return invoices
    .filter(({ paidAt }) => paidAt !== null && paidAt.getTime() >= since)
    .map(({ processorInvoiceId }) => processorInvoiceId);
}

async function repeat(
  invoices: Processor['invoices'],
  order: NewInvoicePayment,
): Promise<'paid' | Declined | null> {
  try {
    const attempt = await invoices.pay(order);
    if (attempt.outcome === 'declined') return attempt;
    return attempt.isReplayed ? 'paid' : null;
  } catch (error) {
    if (!(error instanceof Failure)) throw error;
    // The invoice was paid by another request, whether the processor says so now or repeats it.
    if (error.code !== 'processor_rejected') throw error;
    return null;
  }
}
