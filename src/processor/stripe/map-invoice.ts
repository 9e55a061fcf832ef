import { invoiceStatuses } from '../../invoices/invoice.ts';
import type { InvoiceFacts } from '../processor-facts.ts';
import { newest, WireObject } from './wire-object.ts';

export function mapInvoice(value: unknown, eventTime?: Date): InvoiceFacts {
  const invoice = WireObject.parse(value, 'invoice').expectKind('invoice');
  const createdAt = invoice.moment('created');
  return {
    processorInvoiceId: invoice.text('id'),
    processorCustomerId: invoice.referenceOrNull('customer'),
    processorSubscriptionId: subscriptionOf(invoice),
    subscriptionLocalId: subscriptionDetailsOf(invoice)?.optionalLocalId() ?? null,
    amountDue: invoice.wholeNumber('amount_due'),
    amountPaid: invoice.wholeNumber('amount_paid'),
    currency: invoice.currency('currency'),
    status: invoice.oneOf('status', invoiceStatuses),
    hostedInvoiceUrl: invoice.optionalText('hosted_invoice_url'),
    createdAt,
    asOf: eventTime ?? newest(createdAt, ...transitionsOf(invoice)),
  };
}

/** Since 2025-03-31 an invoice names its subscription under `parent`; before, it did so itself. */
function subscriptionOf(invoice: WireObject): string | null {
  if (!invoice.has('parent') && invoice.has('subscription')) return invoice.referenceOrNull('subscription');
  const parent = invoice.objectOrNull('parent');
  if (!parent?.has('subscription_details')) return null;
  return parent.objectOrNull('subscription_details')?.reference('subscription') ?? null;
}

/** Both shapes hold a copy of the subscription's metadata, in different places. */
function subscriptionDetailsOf(invoice: WireObject): WireObject | null {
  const holder = invoice.has('parent') ? invoice.objectOrNull('parent') : invoice;
  return holder?.has('subscription_details') ? holder.objectOrNull('subscription_details') : null;
}

function transitionsOf(invoice: WireObject): readonly (Date | null)[] {
  if (!invoice.has('status_transitions')) return [];
  const transitions = invoice.object('status_transitions');
  return ['finalized_at', 'marked_uncollectible_at', 'paid_at', 'voided_at'].map((field) =>
    transitions.optionalMoment(field),
  );
}
