import { Failure } from '../../errors.ts';
import type { OperationWrite } from '../../idempotency/operation.ts';
import type { InvoiceMirror } from '../../invoices/invoice-mirror.ts';
import type { InvoiceFacts } from '../../model/invoice.ts';
import { explainMethodRefusal, requireMethodOf } from '../../processor/explain-method-refusal.ts';
import type { Declined } from '../../processor/port/invoice-payment.ts';
import type { Processor } from '../../processor/port/processor.ts';
import { notReached } from '../../processor/refused-write.ts';
import type { UnpaidInvoice } from './invoice-to-pay.ts';

interface PayInvoiceParts {
  readonly processor: Processor;
  readonly invoices: InvoiceMirror;
}

/** What pays an invoice. */
export interface Payer {
  /** The processor's id. The default one if absent. */
  readonly paymentMethodId?: string | undefined;
  readonly processorCustomerId: string;
}

/** Null once the invoice is paid, or its payment is under way. A draft is finalized first, and stays open if it is declined. */
export async function payInvoice(
  parts: PayInvoiceParts,
  {
    processorInvoiceId,
    status,
  }: Pick<UnpaidInvoice, 'processorInvoiceId'> & { readonly status: string | null },
  payer: Payer,
  write: OperationWrite,
): Promise<Declined | null> {
  const { processor } = parts;
  const { invoices, paymentMethods } = processor;
  const { paymentMethodId } = payer;
  const idempotencyKey = `${write.idempotencyKey}-${processorInvoiceId}`;
  const method = paymentMethodId === undefined ? {} : { paymentMethodId };
  try {
    if (status === 'draft') {
      await requireOwnMethod(processor, payer);
      await finalizeInvoice(processor, processorInvoiceId, `${idempotencyKey}-finalize`);
    }
    const attempt = await invoices.pay({ processorInvoiceId, ...method, idempotencyKey });
    if (attempt.outcome === 'declined') return attempt;
    if (attempt.isPaid) {
      if (!write.isRepeated) await recordPaid(parts, attempt.invoice);
      return null;
    }
    const lastTry = await invoices.findLastTry(processorInvoiceId);
    if (lastTry === null) throw notPaid();
    return lastTry === 'processing' ? null : lastTry;
  } catch (error) {
    if (!(error instanceof Failure)) throw error;
    const { replayed = false } = error.extras;
    const isOldFailure = replayed && error.code === 'processor_unavailable';
    if (!replayed && error.code !== 'processor_rejected') throw error;
    const invoice = await invoices.read(processorInvoiceId);
    if (invoice?.status === 'paid') {
      await recordPaid(parts, invoice);
      return null;
    }
    const lastTry = isOldFailure ? await invoices.findLastTry(processorInvoiceId) : null;
    if (lastTry !== null) return lastTry === 'processing' ? null : lastTry;
    // No attempt was made under this processor key. The request continues under the next one.
    if (replayed) throw error;
    throw await explainMethodRefusal(paymentMethods, error, { ...payer, id: paymentMethodId });
  }
}

/** Makes a draft payable. Another request, or the processor itself, may have done so meanwhile. */
export async function finalizeInvoice(
  { invoices }: Pick<Processor, 'invoices'>,
  processorInvoiceId: string,
  idempotencyKey: string,
): Promise<void> {
  const attempt = await invoices.finalize({ processorInvoiceId, idempotencyKey });
  if (attempt.outcome === 'done') return;
  const invoice = await invoices.read(processorInvoiceId);
  if (invoice === null || invoice.status === 'draft') throw notReached(attempt, 'invoice', 'draft');
}

/** Fails if the payment method that the request names does not belong to the customer. */
export async function requireOwnMethod(
  { paymentMethods }: Pick<Processor, 'paymentMethods'>,
  { paymentMethodId, processorCustomerId }: Payer,
): Promise<void> {
  if (paymentMethodId !== undefined)
    await requireMethodOf(paymentMethods, paymentMethodId, processorCustomerId);
}

/** In its own transaction, because the locks of the claim and of the subscription come first in others. */
async function recordPaid({ invoices }: PayInvoiceParts, facts: InvoiceFacts | null): Promise<void> {
  // A response that lacks the links would make an invoice without them. Its webhook has them.
  if (facts?.processorCustomerId == null || facts.processorSubscriptionId === null) return;
  await invoices.record([facts]);
}

/** The processor accepted the request, but made no attempt to pay. */
function notPaid(): Failure {
  return new Failure(
    'processor_bad_answer',
    'The processor accepted the request, but the invoice is open. Retry later.',
    { effect: 'unknown' },
  );
}
