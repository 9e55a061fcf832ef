import type { AsOf } from '#core/model/facts.ts';
import type { ListingStart, Pages } from '../../port/pages.ts';
import type { InvoiceCalls, PaymentOfInvoice } from '../../port/processor.ts';
import type { AdapterContext } from '../wire/adapter-context.ts';
import { fetchFrom, mapPages } from '../wire/listing.ts';
import { nullIfMissing } from '../wire/responses.ts';
import { WireObject } from '../wire/wire-object.ts';
import { listLines, readLines } from './invoice-lines.ts';
import { createInvoicePaymentCalls } from './invoice-payment.ts';
import { coversUntilOf, isFirstInvoice, mapInvoice, mapInvoicePayment } from './map-invoice.ts';
import { mapPaymentResponse } from './map-payment.ts';

export function createInvoiceCalls(context: AdapterContext): InvoiceCalls {
  const { stripe, call } = context;
  const read: InvoiceCalls['read'] = async (processorInvoiceId) => {
    const found = await call.read('invoices.read', {
      send: (options) => stripe.invoices.retrieve(processorInvoiceId, {}, options),
      take: (response, asOf) => ({
        invoice: mapInvoice(response, asOf),
        isFirst: isFirstInvoice(response),
      }),
      refused: nullIfMissing,
    });
    if (found === null) return null;
    const { invoice, isFirst } = found;
    if (invoice.coversUntil !== undefined) return invoice;
    // The lines no longer change once the invoice is paid.
    const lines = await readLines(context, processorInvoiceId);
    return { ...invoice, coversUntil: coversUntilOf(lines, { isFirst }) ?? null };
  };
  return {
    read,

    ...createInvoicePaymentCalls(context, read),

    // A payment intent pays one invoice at most.
    findOfPayment: (processorPaymentIntentId) =>
      call.read('invoice_payments.list', {
        send: (options) =>
          stripe.invoicePayments.list(
            { payment: { type: 'payment_intent', payment_intent: processorPaymentIntentId }, limit: 1 },
            options,
          ),
        take: (response) => {
          const [first] = WireObject.parse(response, 'list').array('data');
          return first === undefined ? null : mapInvoicePayment(first).processorInvoiceId;
        },
        refused: nullIfMissing,
      }),

    list: ({ processorCustomerId, processorSubscriptionId, ...place }) => {
      const filter = {
        ...(processorCustomerId === undefined ? {} : { customer: processorCustomerId }),
        ...(processorSubscriptionId === undefined ? {} : { subscription: processorSubscriptionId }),
      };
      return mapPages(context, 'invoices.list', fetchFrom(stripe.invoices, filter), mapInvoice, place);
    },

    listPayments: (place) => listPayments(context, place),

    listLines: (page) => listLines(context, page),
  };
}

/** The latest charge of a payment intent says how it was paid. */
const withPayment = ['data.payment.payment_intent.latest_charge'];

async function* listPayments(
  context: AdapterContext,
  place: ListingStart | undefined,
): Pages<PaymentOfInvoice> {
  const pages = mapPages(
    context,
    'invoice_payments.list',
    fetchFrom(context.stripe.invoicePayments, { expand: withPayment }),
    mapPaymentOfInvoice,
    place,
  );
  for await (const page of pages) yield { ...page, items: page.items.flat() };
}

function mapPaymentOfInvoice(value: unknown, asOf: AsOf): readonly PaymentOfInvoice[] {
  const { processorInvoiceId, processorPaymentIntentId } = mapInvoicePayment(value);
  if (processorPaymentIntentId === null) return [];
  const payment = WireObject.parse(value, 'invoice_payment').object('payment').raw('payment_intent');
  return [{ processorInvoiceId, payment: mapPaymentResponse(payment, asOf) }];
}
