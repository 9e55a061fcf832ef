import { invoiceStatuses } from '#core/model/invoice.ts';
import type { Declined } from '../../port/invoice-payment.ts';
import type { AdapterContext } from '../wire/adapter-context.ts';
import { clientSecretOf, nullIfMissing } from '../wire/responses.ts';
import { ifReadable, WireObject } from '../wire/wire-object.ts';
import { failureOf } from './map-payment.ts';

/** The outcome of the charge of an invoice. */
export interface InvoiceCharge {
  readonly status: (typeof invoiceStatuses)[number];
  /** When the invoice was created, by the processor's clock. 1970 if the processor does not show it. */
  readonly createdAt: Date;
  /** Why the last attempt to pay it failed. Null if it did not fail, or if the customer only needs to authenticate. */
  readonly declined: Declined | null;
  /** Null once nothing is left to confirm. */
  readonly clientSecret: string | null;
}

export function readCharge(
  { stripe, call }: AdapterContext,
  processorInvoiceId: string,
): Promise<InvoiceCharge | null> {
  return call.read('invoices.read', {
    send: (options) =>
      stripe.invoices.retrieve(
        processorInvoiceId,
        { expand: ['payments.data.payment.payment_intent'] },
        options,
      ),
    take: mapCharge,
    refused: nullIfMissing,
  });
}

/** Maps an invoice with `payments.data.payment.payment_intent` expanded. The newest payment counts. */
function mapCharge(value: unknown): InvoiceCharge {
  const invoice = WireObject.parse(value, 'invoice').expectKind('invoice');
  const intents = (ifReadable(() => invoice.list('payments')) ?? []).flatMap((payment) => {
    const intent = payment.optional('object', 'payment')?.optional('object', 'payment_intent');
    return intent == null ? [] : [{ intent, createdAt: payment.createdAt(new Date(0)) }];
  });
  const [newest] = intents.toSorted((a, b) => b.createdAt.getTime() - a.createdAt.getTime());
  const status = invoice.oneOf('status', invoiceStatuses);
  return {
    status,
    createdAt: invoice.createdAt(new Date(0)),
    declined: newest === undefined ? null : declinedOf(newest.intent),
    clientSecret: newest === undefined || status !== 'open' ? null : clientSecretOf(newest.intent),
  };
}

/** Statuses of a payment intent whose last attempt is over. Voiding its invoice cancels it. */
const failed: readonly string[] = ['requires_payment_method', 'canceled'];

function declinedOf(intent: WireObject): Declined | null {
  if (!failed.includes(intent.text('status'))) return null;
  const failure = failureOf(intent);
  // The bank requires the customer to act. The customer can still authenticate with the same card.
  if (failure === null || failure.code === 'authentication_required') return null;
  const { declineCode, message } = failure;
  return {
    ...{ outcome: 'declined', mustAuthenticate: false, declineCode },
    message: message ?? 'The payment was declined.',
  };
}
