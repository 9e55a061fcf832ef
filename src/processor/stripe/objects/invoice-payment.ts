import { UnmappableError } from '../../port/event-facts.ts';
import type { Declined, InvoicePaymentCalls, Tried } from '../../port/invoice-payment.ts';
import { redactText } from '../events/redact-secrets.ts';
import type { AdapterContext } from '../wire/adapter-context.ts';
import { isReplayed } from '../wire/answer-time.ts';
import { declined, declineOf, done, isMissing, missing, refused } from '../wire/attempt.ts';
import { ifReadable, WireObject } from '../wire/wire-object.ts';
import { mapInvoice } from './map-invoice.ts';

/** An invoice is paid with one payment intent, unless it is split by hand. */
const paymentsMax = 10;
/** Enough for the processor's longest messages. */
const messageLengthMax = 500;

export function createInvoicePaymentCalls({ stripe, call }: AdapterContext): InvoicePaymentCalls {
  return {
    finalize: ({ processorInvoiceId, idempotencyKey }) =>
      call('invoices.finalize', {
        kind: 'write',
        send: (options) =>
          stripe.invoices.finalizeInvoice(
            processorInvoiceId,
            // Otherwise the processor would charge the invoice by itself later, even after the customer has paid another way.
            { auto_advance: false },
            { ...options, idempotencyKey },
          ),
        take: () => done(null),
        // The call carries none of the caller's values, so any other refusal is about the invoice's state.
        refused: (refusal) => missing(refusal) ?? refused('wrong_state', refusal),
      }),

    pay: ({ processorInvoiceId, paymentMethodId, idempotencyKey }) =>
      call<Tried | Declined>('invoices.pay', {
        kind: 'write',
        send: (options) =>
          stripe.invoices.pay(
            processorInvoiceId,
            paymentMethodId === undefined ? {} : { payment_method: paymentMethodId },
            { ...options, idempotencyKey },
          ),
        take: (response, asOf) => {
          const invoice = WireObject.parse(response, 'invoice').expectKind('invoice');
          if (invoice.id() !== processorInvoiceId) throw new UnmappableError('invoice.id is that of another');
          const isPaid = invoice.text('status') === 'paid';
          const shown = ifReadable(() => mapInvoice(response, asOf));
          return { outcome: 'done', isPaid, isReplayed: isReplayed(response), invoice: shown };
        },
        refused: declined,
      }),

    findLastTry: (processorInvoiceId) =>
      call('invoice_payments.list', {
        kind: 'read',
        send: (options) =>
          stripe.invoicePayments.list(
            { invoice: processorInvoiceId, limit: paymentsMax, expand: ['data.payment.payment_intent'] },
            options,
          ),
        take: (response) => {
          const payments = WireObject.parse(response, 'list').objects('data');
          return payments.map(lastTryOf).find((lastTry) => lastTry !== null) ?? null;
        },
        refused: (refusal) => (isMissing(refusal) ? null : undefined),
      }),
  };
}

function lastTryOf(invoicePayment: WireObject): Declined | 'processing' | null {
  const intent = invoicePayment.optional('object', 'payment')?.optional('object', 'payment_intent') ?? null;
  const status = intent?.optionalText('status');
  if (intent === null || status === 'processing') return intent && 'processing';
  if (status === 'requires_action')
    return declineOf({ code: 'authentication_required', declineCode: null, message: '' });
  const error = intent.optional('object', 'last_payment_error');
  if (error === null) return null;
  return declineOf({
    code: error.optionalText('code'),
    declineCode: error.optionalText('decline_code'),
    message: redactText(error.optionalText('message') ?? '').slice(0, messageLengthMax),
  });
}
