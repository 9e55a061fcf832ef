import type { AsOf } from '#core/model/facts.ts';
import type { InvoiceFacts } from '#core/model/invoice.ts';
import { ifReadable, WireObject } from '../wire/wire-object.ts';
import { hasMoreLines } from './invoice-lines.ts';

/** Maps the processor's invoice statuses to Till's. */
const statuses = {
  draft: 'draft',
  open: 'open',
  paid: 'paid',
  uncollectible: 'uncollectible',
  void: 'void',
  // API versions around 2020-08-27 send it with `invoice.deleted`. Later versions show the last state of the draft.
  deleted: 'void',
} as const satisfies Record<string, InvoiceFacts['status']>;

export function mapInvoice(value: unknown, asOf: AsOf): InvoiceFacts {
  const invoice = WireObject.parse(value, 'invoice').expectKind('invoice');
  const lines = hasMoreLines(invoice) ? null : ifReadable(() => invoice.list('lines'));
  const coversUntil = coversUntilOf(lines, { isFirst: isFirstInvoice(value) });
  const status = invoice.translate('status', statuses);
  const isToPay = status === 'draft' || status === 'open';
  return {
    processorInvoiceId: invoice.text('id'),
    processorCustomerId: invoice.referenceOrNull('customer'),
    processorSubscriptionId: subscriptionOf(invoice),
    subscriptionLocalId: subscriptionDetailsOf(invoice)?.optionalLocalId() ?? null,
    amountDue: invoice.wholeNumber('amount_due'),
    amountPaid: invoice.wholeNumber('amount_paid'),
    currency: invoice.currency('currency'),
    status,
    hostedInvoiceUrl: invoice.optionalText('hosted_invoice_url'),
    ...(coversUntil === undefined ? {} : { coversUntil }),
    ...known({
      number: invoice.optionalText('number'),
      amountRemaining: invoice.optional('wholeNumber', 'amount_remaining'),
      attemptCount: attemptCountOf(invoice),
      periodStart: invoice.optional('moment', 'period_start'),
      periodEnd: invoice.optional('moment', 'period_end'),
      invoicePdfUrl: invoice.optionalText('invoice_pdf'),
    }),
    ...(invoice.has('next_payment_attempt')
      ? { nextPaymentAttemptAt: isToPay ? invoice.optional('moment', 'next_payment_attempt') : null }
      : {}),
    createdAt: invoice.createdAt(asOf.earliest),
    asOf,
  };
}

/** The details that the invoice shows. It never loses them again, so null means unknown. */
function known<Details extends object>(
  details: Details,
): { readonly [Name in keyof Details]?: NonNullable<Details[Name]> } {
  // Without nulls, so the values have these types.
  return Object.fromEntries(Object.entries(details).filter(([, value]) => value !== null)) as never;
}

/** The payment of an invoice. If the invoice was paid in another way, there is no payment intent. */
export function mapInvoicePayment(value: unknown): {
  readonly processorInvoiceId: string;
  readonly processorPaymentIntentId: string | null;
} {
  const invoicePayment = WireObject.parse(value, 'invoice_payment').expectKind('invoice_payment');
  const payment = invoicePayment.object('payment');
  return {
    processorInvoiceId: invoicePayment.reference('invoice'),
    processorPaymentIntentId:
      payment.text('type') === 'payment_intent' ? payment.reference('payment_intent') : null,
  };
}

/** The largest integer that the column can store. */
const attemptCountMax = 2_147_483_647;

function attemptCountOf(invoice: WireObject): number | null {
  const count = invoice.optional('wholeNumber', 'attempt_count');
  return count !== null && count >= 0 && count <= attemptCountMax ? count : null;
}

/** Since 2025-03-31 the subscription is under `parent`. Before, it was a field of the invoice itself. */
function subscriptionOf(invoice: WireObject): string | null {
  if (!invoice.has('parent') && invoice.has('subscription')) return invoice.referenceOrNull('subscription');
  const parent = invoice.objectOrNull('parent');
  if (!parent?.has('subscription_details')) return null;
  return parent.objectOrNull('subscription_details')?.reference('subscription') ?? null;
}

/** Both shapes contain a copy of the subscription's metadata, in different places. */
function subscriptionDetailsOf(invoice: WireObject): WireObject | null {
  const holder = invoice.has('parent') ? invoice.objectOrNull('parent') : invoice;
  return holder?.has('subscription_details') ? holder.objectOrNull('subscription_details') : null;
}

/** The invoice that starts a subscription. Its first period may be shorter, and is then billed as a proration. */
export function isFirstInvoice(value: unknown): boolean {
  return WireObject.parse(value, 'invoice').optionalText('billing_reason') === 'subscription_create';
}

/** Whether the invoice may bill an item that the subscription itself did not create, or may have used up a discount. */
export function mayHaveTaken(value: unknown): boolean {
  const invoice = WireObject.parse(value, 'invoice');
  const lines = ifReadable(() => invoice.list('lines'));
  if ((invoice.optional('array', 'discounts') ?? []).length > 0) return true;
  return lines === null || hasMoreLines(invoice) || lines.some(isItem);
}

/** Since 2025-03-31 `parent` shows where a line comes from. Before, the line itself did. */
function isItem(line: WireObject): boolean {
  if (!line.has('parent')) return line.optionalText('type') === 'invoiceitem' && !isProration(line);
  const details = line.optional('object', 'parent')?.optional('object', 'invoice_item_details');
  return details != null && !isProration(details);
}

function isProration(details: WireObject): boolean {
  return details.optional('flag', 'proration') === true;
}

/**
 * The end of the period that these lines pay for. Prorations do not count: a charge pays only for a change within a
 * period that another invoice bills, and a credit returns time. Items that were added to the invoice do not count
 * either. Usage is billed for the period before, so only the periods that start last count. If they have several
 * intervals, the shortest counts, because the invoice does not say which interval is the main plan's: see decision
 * 0012. Undefined if a line does not show its period.
 */
export function coversUntilOf(
  lines: readonly WireObject[] | null,
  { isFirst }: { readonly isFirst: boolean },
): Date | null | undefined {
  if (lines === null) return undefined;
  const periods = lines
    .filter((line) => isBilledPeriod(line, isFirst))
    .map((line) => line.optional('object', 'period'))
    .map((period) => ({
      start: period?.optional('moment', 'start')?.getTime() ?? 0,
      end: period?.optional('moment', 'end')?.getTime() ?? null,
    }));
  if (lines.some((line) => !line.has('amount'))) return undefined;
  const lastStart = Math.max(...periods.map(({ start }) => start));
  const ends = periods.filter(({ start }) => start === lastStart).map(({ end }) => end);
  if (periods.length === 0) return null;
  const known = ends.flatMap((end) => end ?? []);
  return known.length < ends.length ? undefined : new Date(Math.min(...known));
}

/** Since 2025-03-31 `parent` shows where a line comes from. Before, the line itself did. */
function isBilledPeriod(line: WireObject, isFirst: boolean): boolean {
  const amount = line.optional('wholeNumber', 'amount');
  if (amount !== null && amount < 0) return false;
  if (!line.has('parent')) return paysPeriod(line, line.optionalText('type') === 'subscription', isFirst);
  const parent = line.optional('object', 'parent');
  if (parent === null) return false;
  const type = parent.optionalText('type') ?? '';
  const details = parent.optional('object', type);
  return details !== null && paysPeriod(details, type === 'subscription_item_details', isFirst);
}

function paysPeriod(details: WireObject, isOfSubscription: boolean, isFirst: boolean): boolean {
  const isProration = details.optional('flag', 'proration') === true;
  return isProration ? isFirst : isOfSubscription;
}
