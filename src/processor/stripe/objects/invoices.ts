import type { InvoiceCalls } from '../../processor.ts';
import type { AdapterContext } from '../wire/adapter-context.ts';
import { isMissing } from '../wire/attempt.ts';
import { fetchPages, mapPages } from '../wire/listing.ts';
import { WireObject } from '../wire/wire-object.ts';
import { createInvoicePaymentCalls } from './invoice-payment.ts';
import { coversUntilOf, isFirstInvoice, mapInvoice, mapInvoicePayment } from './map-invoice.ts';

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
      const found = await call('invoices.read', {
        kind: 'read',
        send: (options) => stripe.invoices.retrieve(processorInvoiceId, {}, options),
        take: (response, asOf) => ({
          invoice: mapInvoice(response, asOf),
          isFirst: isFirstInvoice(response),
        }),
        refused: (refusal) => (isMissing(refusal) ? null : undefined),
      });
      if (found === null) return null;
      const { invoice, isFirst } = found;
      if (invoice.coversUntil !== undefined) return invoice;
      const lines = await readLines(processorInvoiceId);
      return { ...invoice, coversUntil: coversUntilOf(lines, { isFirst }) ?? null };
    },

    ...createInvoicePaymentCalls(context),

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
