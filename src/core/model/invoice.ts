import {
  type DatedRow,
  type Facts,
  type Origin,
  type Rule,
  ruleFor,
  type Taken,
  takeValues,
} from './facts.ts';

export const invoiceStatuses = ['draft', 'open', 'paid', 'uncollectible', 'void'] as const;

type InvoiceStatus = (typeof invoiceStatuses)[number];

/** What an invoice's facts and its row have in common. */
interface InvoiceValues {
  readonly processorCustomerId: string | null;
  readonly processorSubscriptionId: string | null;
  readonly amountDue: number;
  readonly amountPaid: number;
  readonly currency: string;
  readonly status: InvoiceStatus;
  readonly hostedInvoiceUrl: string | null;
}

/** Facts lack a detail that an event or an older API version does not show. The row keeps its value. */
interface InvoiceDetails {
  /** Null until the invoice is finalized, like its PDF. */
  readonly number: string | null;
  readonly amountRemaining: number;
  readonly attemptCount: number;
  /** Null if the processor makes no further attempt by itself. */
  readonly nextPaymentAttemptAt: Date | null;
  readonly periodStart: Date | null;
  readonly periodEnd: Date | null;
  readonly invoicePdfUrl: string | null;
}

export interface Invoice extends DatedRow, InvoiceValues, InvoiceDetails {
  readonly processorInvoiceId: string;
  /** Null if the customer does not belong to Till. */
  readonly customerId: string | null;
  /** Null if the invoice bills no subscription that Till has a row for. */
  readonly subscriptionId: string | null;
  /** The end of the last period that the subscription's lines bill. Null if no line bills a period. */
  readonly coversUntil: Date | null;
  /** The row took an event that does not show all lines, and has not been refreshed since. */
  readonly isIncomplete: boolean;
}

export interface InvoiceFacts extends Facts, InvoiceValues, Partial<InvoiceDetails> {
  readonly processorInvoiceId: string;
  /** Till's id of the billed subscription, from the metadata that the processor copies into the invoice. */
  readonly subscriptionLocalId: string | null;
  /** Undefined if not all lines are known. */
  readonly coversUntil?: Date | null;
  /** Set by an event that voids the invoice, if the invoice may have used up items or discounts of the customer. */
  readonly mayLose?: true;
}

/** `uncollectible` can still become `paid` or `void`. */
const finalStatuses: readonly InvoiceStatus[] = ['uncollectible', 'paid', 'void'];

function ruleOf(from: InvoiceStatus, to: InvoiceStatus): Rule {
  const isSettled = from === 'uncollectible' && (to === 'paid' || to === 'void');
  return isSettled ? 'always' : ruleFor(from, to, finalStatuses);
}

/** Decides whether the facts change the row, and returns the row with the facts applied. */
export function takeInvoiceFacts(
  invoice: Invoice,
  facts: InvoiceFacts,
  customerId: string | null,
  origin: Origin,
  now: Date,
): Taken<Invoice> {
  const isSameCustomer = facts.processorCustomerId === invoice.processorCustomerId;
  const values = {
    ...valuesOfInvoice(facts),
    // The customer may have been recovered and attached after `customerId` was looked up.
    customerId: customerId ?? (isSameCustomer ? invoice.customerId : null),
    ...coverageOf(invoice, facts),
  };
  const rule = ruleOf(invoice.status, facts.status);
  return takeValues(invoice, values, { rule, origin, asOf: facts.asOf, now });
}

/** What a row takes from facts as it is. */
function valuesOfInvoice({
  processorInvoiceId,
  subscriptionLocalId,
  coversUntil,
  mayLose,
  createdAt,
  asOf,
  ...values
}: InvoiceFacts) {
  return values;
}

/** The values of a new row. */
export function firstValuesOfInvoice(
  facts: InvoiceFacts,
): InvoiceValues & InvoiceDetails & Pick<Invoice, 'coversUntil' | 'isIncomplete'> {
  return {
    number: null,
    amountRemaining: Math.max(facts.amountDue - facts.amountPaid, 0),
    attemptCount: 0,
    nextPaymentAttemptAt: null,
    periodStart: null,
    periodEnd: null,
    invoicePdfUrl: null,
    ...valuesOfInvoice(facts),
    ...coverageOf({ coversUntil: null }, facts),
  };
}

/** The period that an invoice bills, if it is known. Only a paid invoice of a subscription must know it. */
function coverageOf(
  row: Pick<Invoice, 'coversUntil'>,
  { coversUntil, status, processorSubscriptionId }: InvoiceFacts,
): Pick<Invoice, 'coversUntil' | 'isIncomplete'> {
  if (coversUntil !== undefined) return { coversUntil, isIncomplete: false };
  const isNeeded = status === 'paid' && processorSubscriptionId !== null;
  return { coversUntil: row.coversUntil, isIncomplete: isNeeded };
}
