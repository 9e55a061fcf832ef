import { notReached } from '../../port/attempt.ts';
import type { AdapterContext } from '../wire/adapter-context.ts';
import { done, missing, refused } from '../wire/attempt.ts';
import { readCharge } from './invoice-charge.ts';

/** Voids an invoice. The processor refuses if it was paid meanwhile. Fails if it is still open. */
export async function voidInvoice(
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
