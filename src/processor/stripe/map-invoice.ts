import type { InvoiceFacts } from '../processor-facts.ts';
import { ifReadable, newest, WireObject } from './wire-object.ts';

/** The processor's statuses of an invoice, and what Till calls them. */
const statuses = {
  draft: 'draft',
  open: 'open',
  paid: 'paid',
  uncollectible: 'uncollectible',
  void: 'void',
  // API versions around 2020-08-27 send it with `invoice.deleted`; later ones show the draft as it last was.
  deleted: 'void',
} as const satisfies Record<string, InvoiceFacts['status']>;

export function mapInvoice(value: unknown, eventTime?: Date): InvoiceFacts {
  const invoice = WireObject.parse(value, 'invoice').expectKind('invoice');
  const createdAt = invoice.createdAt(eventTime);
  return {
    processorInvoiceId: invoice.text('id'),
    processorCustomerId: invoice.referenceOrNull('customer'),
    processorSubscriptionId: subscriptionOf(invoice),
    amountDue: invoice.wholeNumber('amount_due'),
    amountPaid: invoice.wholeNumber('amount_paid'),
    currency: invoice.currency('currency'),
    status: invoice.translate('status', statuses),
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

function transitionsOf(invoice: WireObject): readonly (Date | null)[] {
  const transitions = ifReadable(() => invoice.object('status_transitions'));
  if (transitions === null) return [];
  return ['finalized_at', 'marked_uncollectible_at', 'paid_at', 'voided_at'].map((field) =>
    transitions.optionalMoment(field),
  );
}
