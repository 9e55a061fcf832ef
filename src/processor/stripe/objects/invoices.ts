import type { InvoiceFacts } from '../../../invoices/invoice.ts';
import type { Declined, Done, InvoiceCalls } from '../../processor.ts';
import { redactText } from '../events/redact-secrets.ts';
import type { AdapterContext } from '../wire/adapter-context.ts';
import { declined, declineOf, isMissing } from '../wire/attempt.ts';
import { fetchPages, mapPages } from '../wire/listing.ts';
import { ifReadable, WireObject } from '../wire/wire-object.ts';
import { coversUntilOf, mapInvoice, mapInvoicePayment } from './map-invoice.ts';

/** A thousand lines: an invoice has at most 250 of its own, and some more for changes within the period. */
const linePagesMax = 10;

export function createInvoiceCalls(context: AdapterContext): InvoiceCalls {
  const { stripe, call } = context;
  /** An invoice contains only its first ten lines. They no longer change once it is paid. */
  const readLines = async (processorInvoiceId: string): Promise<readonly WireObject[]> => {
    const pages = fetchPages(
      context,
      'invoices.list_lines',
      (page, options) => stripe.invoices.listLineItems(processorInvoiceId, page, options),
      linePagesMax,
      (line) => WireObject.parse(line, 'line'),
    );
    return (await Array.fromAsync(pages)).flat();
  };
  return {
    read: async (processorInvoiceId) => {
      const invoice = await call('invoices.read', {
        kind: 'read',
        send: (options) => stripe.invoices.retrieve(processorInvoiceId, {}, options),
        take: mapInvoice,
        refused: (refusal) => (isMissing(refusal) ? null : undefined),
      });
      if (invoice === null || invoice.coversUntil !== undefined) return invoice;
      return { ...invoice, coversUntil: coversUntilOf(await readLines(processorInvoiceId)) ?? null };
    },

    ...createPayment(context),

    // A payment intent pays one invoice at most.
    findOfPayment: (processorPaymentIntentId) =>
      call('invoice_payments.list', {
        kind: 'read',
        send: (options) =>
          stripe.invoicePayments.list(
            { payment: { type: 'payment_intent', payment_intent: processorPaymentIntentId }, limit: 1 },
            options,
          ),
        take: (response) => {
          const [first] = WireObject.parse(response, 'list').array('data');
          return first === undefined ? null : mapInvoicePayment(first).processorInvoiceId;
        },
        refused: (refusal) => (isMissing(refusal) ? null : undefined),
      }),

    list: ({ processorCustomerId, processorSubscriptionId }) => {
      const filter = {
        ...(processorCustomerId === undefined ? {} : { customer: processorCustomerId }),
        ...(processorSubscriptionId === undefined ? {} : { subscription: processorSubscriptionId }),
      };
      return mapPages(
        context,
        'invoices.list',
        (page, options) => stripe.invoices.list({ ...filter, ...page }, options),
        mapInvoice,
      );
    },
  };
}

/** An invoice is paid with one payment intent, unless somebody splits it by hand. */
const paymentsMax = 10;
const messageLengthMax = 500;

function createPayment({ stripe, call }: AdapterContext): Pick<InvoiceCalls, 'pay' | 'findDecline'> {
  return {
    pay: ({ processorInvoiceId, paymentMethodId, idempotencyKey }) =>
      call<Done<InvoiceFacts> | Declined>('invoices.pay', {
        kind: 'write',
        send: (options) =>
          stripe.invoices.pay(
            processorInvoiceId,
            paymentMethodId === undefined ? {} : { payment_method: paymentMethodId },
            { ...options, idempotencyKey },
          ),
        take: (response, asOf) => ({ outcome: 'done', value: mapInvoice(response, asOf) }),
        refused: declined,
      }),

    findDecline: (processorInvoiceId) =>
      call('invoice_payments.list', {
        kind: 'read',
        send: (options) =>
          stripe.invoicePayments.list(
            { invoice: processorInvoiceId, limit: paymentsMax, expand: ['data.payment.payment_intent'] },
            options,
          ),
        take: (response) => {
          const payments = WireObject.parse(response, 'list').objects('data');
          return payments.map(declineOfPayment).find((decline) => decline !== null) ?? null;
        },
        refused: (refusal) => (isMissing(refusal) ? null : undefined),
      }),
  };
}

/** Null if the last try to pay did not fail, or there was none. */
function declineOfPayment(invoicePayment: WireObject): Declined | null {
  const intent = ifReadable(() => invoicePayment.object('payment').object('payment_intent'));
  if (intent === null) return null;
  const isWaiting = intent.optionalText('status') === 'requires_action';
  const error = ifReadable(() => intent.object('last_payment_error'));
  if (error === null && !isWaiting) return null;
  return declineOf({
    code: isWaiting ? 'authentication_required' : (error?.optionalText('code') ?? null),
    declineCode: error?.optionalText('decline_code') ?? null,
    message: redactText(error?.optionalText('message') ?? '').slice(0, messageLengthMax),
  });
}
