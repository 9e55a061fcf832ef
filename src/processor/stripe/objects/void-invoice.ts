import { notReached } from '../../port/attempt.ts';
import type { AdapterContext } from '../wire/adapter-context.ts';
import { done, missingOrWrongState } from '../wire/responses.ts';
import { readCharge } from './invoice-charge.ts';

/** Voids an invoice. The processor refuses if it was paid meanwhile. Fails if it is still open. */
export async function voidInvoice(
  context: AdapterContext,
  processorInvoiceId: string,
  idempotencyKey: string,
): Promise<'void' | 'paid'> {
  const { stripe, call } = context;
  const attempt = await call.write('invoices.void', {
    idempotencyKey,
    send: (options) => stripe.invoices.voidInvoice(processorInvoiceId, {}, options),
    take: () => done(null),
    refused: missingOrWrongState,
  });
  if (attempt.outcome === 'done') return 'void';
  const charge = await readCharge(context, processorInvoiceId);
  if (charge?.status === 'void' || charge?.status === 'paid') return charge.status;
  throw notReached(attempt, 'invoice', charge?.status ?? 'missing');
}
