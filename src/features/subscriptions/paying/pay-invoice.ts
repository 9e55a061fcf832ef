import { Failure } from '#core/errors.ts';
import type { InvoiceFacts } from '#core/model/invoice.ts';
import type { SubscriptionFacts } from '#core/model/subscription.ts';
import { lostClaimAgeMs, type RecordedFailure } from '#engine/idempotency/claim.ts';
import type { OperationWrite } from '#engine/idempotency/operation.ts';
import { explainMethodRefusal, requireMethodOf } from '#processor/explain-method-refusal.ts';
import { objectMissing } from '#processor/port/attempt.ts';
import type { Declined, SubscriptionToPay } from '#processor/port/invoice-payment.ts';
import type { Processor } from '#processor/port/processor.ts';
import type { InvoiceMirror } from '../../invoices/invoice-mirror.ts';
import type { SubscriptionContext } from '../subscription-creation.ts';

/** The payment method and the customer that pay an invoice. */
export interface Payer {
  /** The processor's id. If absent, the default payment method. */
  readonly paymentMethodId?: string | undefined;
  readonly processorCustomerId: string;
}

/** Null if the invoice is paid, or its payment is in progress. */
export async function payInvoice(
  { processor, invoices }: Pick<SubscriptionContext, 'processor' | 'invoices'>,
  { processorInvoiceId, status }: { readonly processorInvoiceId: string; readonly status: string | null },
  payer: Payer,
  { idempotencyKey }: OperationWrite,
): Promise<Declined | null> {
  const isDraft = status === 'draft';
  if (isDraft) await requireOwnMethod(processor, payer);
  const result = await processor.invoices
    .pay({ processorInvoiceId, isDraft, ...methodOf(payer), idempotencyKey })
    .catch(async (error: unknown) => {
      // No attempt happened under this processor key. The request continues under the next one.
      if (error instanceof Failure && error.extras.replayed === true) throw error;
      const method = { ...payer, id: payer.paymentMethodId };
      throw await explainMethodRefusal(processor.paymentMethods, error, method);
    });
  if (result === 'processing') return null;
  if (result.outcome === 'declined') return result;
  await recordPaid(invoices, result.invoice);
  return null;
}

/** The unpaid amount of a subscription, as the processor shows it. */
export async function readToPay(
  { subscriptions }: Pick<Processor, 'subscriptions'>,
  { processorSubscriptionId }: Pick<SubscriptionFacts, 'processorSubscriptionId'>,
): Promise<SubscriptionToPay> {
  const current = await subscriptions.readToPay(processorSubscriptionId);
  if (current === null) throw objectMissing('subscription');
  return current;
}

/** More than a subscription pays in a day. */
const paidMax = 10;

/**
 * The outcome of an earlier request with the same idempotency key, whose claim is lost. Without this check, this
 * request would pay another invoice. Null if there was no earlier request.
 */
export async function findLostPayment(
  { invoices }: Processor,
  payer: Pick<Payer, 'paymentMethodId'>,
  current: SubscriptionToPay,
  { hasKey, target, idempotencyKey }: OperationWrite,
): Promise<'paid' | Declined | null> {
  // A request that has recorded its invoice continues with it.
  if (!hasKey || target !== null) return null;
  for (const processorInvoiceId of newlyPaid(current).slice(0, paidMax)) {
    const earlier = await invoices.findPayment({ processorInvoiceId, ...methodOf(payer), idempotencyKey });
    if (earlier !== null) return earlier;
  }
  return null;
}

/** The invoices that were paid recently, by the processor's clock. */
function newlyPaid({ invoices, subscription: { asOf } }: SubscriptionToPay): readonly string[] {
  const since = asOf.earliest.getTime() - lostClaimAgeMs;
  return invoices
    .filter(({ paidAt }) => paidAt !== null && paidAt.getTime() >= since)
    .map(({ processorInvoiceId }) => processorInvoiceId);
}

/** Fails if the payment method that the request names does not belong to the customer. */
export async function requireOwnMethod(
  { paymentMethods }: Pick<Processor, 'paymentMethods'>,
  { paymentMethodId, processorCustomerId }: Payer,
): Promise<void> {
  if (paymentMethodId !== undefined)
    await requireMethodOf(paymentMethods, paymentMethodId, processorCustomerId);
}

const authenticate =
  'The customer must authenticate this payment. Get the client secret and confirm with it in the frontend.';

/** The failure of a request whose charge was declined. */
export function declineFailure({ mustAuthenticate, declineCode, message }: Declined): RecordedFailure {
  return mustAuthenticate
    ? { code: 'authentication_required', detail: authenticate, declineCode }
    : { code: 'payment_declined', detail: message || 'The payment was declined.', declineCode };
}

function methodOf({ paymentMethodId }: Pick<Payer, 'paymentMethodId'>): { paymentMethodId?: string } {
  return paymentMethodId === undefined ? {} : { paymentMethodId };
}

/** In a separate transaction, because other transactions lock the claim and the subscription first. */
async function recordPaid(invoices: InvoiceMirror, facts: InvoiceFacts | null): Promise<void> {
  // A response without its links would create a row without them. The webhook has them.
  if (facts?.processorCustomerId == null || facts.processorSubscriptionId === null) return;
  await invoices.record([facts]);
}
