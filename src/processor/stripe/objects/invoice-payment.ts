import { Failure } from '#core/errors.ts';
import type { InvoiceFacts } from '#core/model/invoice.ts';
import { notReached } from '../../port/attempt.ts';
import { UnmappableError } from '../../port/event-facts.ts';
import type { Declined, InvoicePaymentCalls, NewInvoicePayment } from '../../port/invoice-payment.ts';
import type { InvoiceCalls } from '../../port/processor.ts';
import type { AdapterContext } from '../wire/adapter-context.ts';
import {
  declined,
  declineOf,
  done,
  isReplayed,
  missingOrWrongState,
  nullIfMissing,
} from '../wire/responses.ts';
import { ifReadable, WireObject } from '../wire/wire-object.ts';
import { readCharge } from './invoice-charge.ts';
import { mapInvoice } from './map-invoice.ts';
import { failureOf } from './map-payment.ts';
import { voidInvoice } from './void-invoice.ts';

/** An invoice is paid with one payment intent, unless it is split by hand. */
const paymentsMax = 10;

export function createInvoicePaymentCalls(
  context: AdapterContext,
  read: InvoiceCalls['read'],
): InvoicePaymentCalls {
  const finalize: InvoicePaymentCalls['finalize'] = async ({ processorInvoiceId, idempotencyKey }) => {
    const attempt = await sendFinalize(context, processorInvoiceId, idempotencyKey);
    if (attempt.outcome === 'done') return;
    const invoice = await read(processorInvoiceId);
    if (invoice === null || invoice.status === 'draft') throw notReached(attempt, 'invoice', 'draft');
  };
  const findLastAttempt = (processorInvoiceId: string) => readLastAttempt(context, processorInvoiceId);
  return {
    finalize,

    void: ({ processorInvoiceId, idempotencyKey }) =>
      voidInvoice(context, processorInvoiceId, idempotencyKey),

    pay: async ({ isDraft, ...order }) => {
      const { processorInvoiceId } = order;
      try {
        if (isDraft) await finalize({ processorInvoiceId, idempotencyKey: `${keyOf(order)}-finalize` });
        const attempt = await sendPayment(context, order);
        if (attempt.outcome === 'declined') return attempt;
        if (attempt.isPaid) return { outcome: 'paid', invoice: attempt.invoice };
        const lastAttempt = await findLastAttempt(processorInvoiceId);
        // The processor accepted the request, but did not attempt to pay.
        if (lastAttempt === null) throw notReached({ outcome: 'done', value: null }, 'invoice', 'open');
        return lastAttempt;
      } catch (error) {
        if (!(error instanceof Failure)) throw error;
        const { replayed = false } = error.extras;
        if (!replayed && error.code !== 'processor_rejected') throw error;
        const invoice = await read(processorInvoiceId);
        if (invoice?.status === 'paid') return { outcome: 'paid', invoice };
        const isOldFailure = replayed && error.code === 'processor_unavailable';
        const lastAttempt = isOldFailure ? await findLastAttempt(processorInvoiceId) : null;
        if (lastAttempt !== null) return lastAttempt;
        throw error;
      }
    },

    findPayment: async (order) => {
      try {
        const attempt = await sendPayment(context, order);
        if (attempt.outcome === 'declined') return attempt;
        return attempt.isReplayed ? 'paid' : null;
      } catch (error) {
        // Another request paid the invoice. This may be a new or a repeated response.
        if (error instanceof Failure && error.code === 'processor_rejected') return null;
        throw error;
      }
    },

    findLastAttempt,

    readClientSecret: async (processorInvoiceId) =>
      (await readCharge(context, processorInvoiceId))?.clientSecret ?? null,
  };
}

function keyOf({ idempotencyKey, processorInvoiceId }: NewInvoicePayment): string {
  return `${idempotencyKey}-${processorInvoiceId}`;
}

function sendFinalize({ stripe, call }: AdapterContext, processorInvoiceId: string, idempotencyKey: string) {
  return call.write('invoices.finalize', {
    idempotencyKey,
    send: (options) =>
      stripe.invoices.finalizeInvoice(
        processorInvoiceId,
        // Otherwise the processor would later charge the invoice by itself, even after the customer has paid another
        // way.
        { auto_advance: false },
        options,
      ),
    take: () => done(null),
    refused: missingOrWrongState,
  });
}

/** An invoice after an attempt to pay it. It may still be open, because some payment methods take days. */
interface AttemptedPayment {
  readonly outcome: 'done';
  readonly isPaid: boolean;
  readonly isReplayed: boolean;
  readonly invoice: InvoiceFacts | null;
}

function sendPayment(
  { stripe, call }: AdapterContext,
  order: NewInvoicePayment,
): Promise<AttemptedPayment | Declined> {
  const { processorInvoiceId, paymentMethodId } = order;
  return call.write<AttemptedPayment | Declined>('invoices.pay', {
    idempotencyKey: keyOf(order),
    send: (options) =>
      stripe.invoices.pay(
        processorInvoiceId,
        paymentMethodId === undefined ? {} : { payment_method: paymentMethodId },
        options,
      ),
    take: (response, asOf) => {
      const invoice = WireObject.parse(response, 'invoice').expectKind('invoice');
      if (invoice.id() !== processorInvoiceId)
        throw new UnmappableError('invoice.id is the id of another invoice');
      const isOld = isReplayed(response);
      const shown = isOld ? null : ifReadable(() => mapInvoice(response, asOf));
      return {
        outcome: 'done',
        isPaid: invoice.text('status') === 'paid',
        isReplayed: isOld,
        invoice: shown,
      };
    },
    refused: declined,
  });
}

function readLastAttempt({ stripe, call }: AdapterContext, processorInvoiceId: string) {
  return call.read('invoice_payments.list', {
    send: (options) =>
      stripe.invoicePayments.list(
        { invoice: processorInvoiceId, limit: paymentsMax, expand: ['data.payment.payment_intent'] },
        options,
      ),
    take: (response) => {
      const payments = WireObject.parse(response, 'list').objects('data');
      return payments.map(lastAttemptOf).find((lastAttempt) => lastAttempt !== null) ?? null;
    },
    refused: nullIfMissing,
  });
}

function lastAttemptOf(invoicePayment: WireObject): Declined | 'processing' | null {
  const intent = invoicePayment.optional('object', 'payment')?.optional('object', 'payment_intent') ?? null;
  const status = intent?.optionalText('status');
  if (intent === null || status === 'processing') return intent && 'processing';
  if (status === 'requires_action')
    return declineOf({ code: 'authentication_required', declineCode: null, message: '' });
  const failure = failureOf(intent);
  return failure && declineOf({ ...failure, message: failure.message ?? '' });
}
