import type { DatedRow, Facts } from './facts.ts';
import { type Origin, type Rule, ruleFor, type Taken, takeValues } from './transition.ts';

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

export interface Invoice extends DatedRow, InvoiceValues {
  readonly processorInvoiceId: string;
  /** Null if the customer does not belong to Till. */
  readonly customerId: string | null;
  /** Null if the invoice bills no subscription that Till has a row for. */
  readonly subscriptionId: string | null;
  /** Null until the invoice is finalized, like its PDF. */
  readonly number: string | null;
  readonly amountRemaining: number;
  readonly attemptCount: number;
  /** Null if the processor makes no further attempt by itself. */
  readonly nextPaymentAttemptAt: Date | null;
  readonly periodStart: Date | null;
  readonly periodEnd: Date | null;
  readonly invoicePdfUrl: string | null;
  /** The end of the last period that the subscription's lines bill. Null if no line bills a period. */
  readonly coversUntil: Date | null;
  /** The row took an event that does not show all lines, and has not been refreshed since. */
  readonly isIncomplete: boolean;
}

/** In facts, null means unknown, and the row keeps its value. `nextPaymentAttemptAt` is absent if it is unknown. */
interface InvoiceDetails {
  readonly number: string | null;
  readonly amountRemaining: number | null;
  readonly attemptCount: number | null;
  readonly nextPaymentAttemptAt?: Date | null;
  readonly periodStart: Date | null;
  readonly periodEnd: Date | null;
  readonly invoicePdfUrl: string | null;
}

export interface InvoiceFacts extends Facts, InvoiceDetails, InvoiceValues {
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
    // The customer may have been recovered and attached after `customerId` was looked up.
    customerId: customerId ?? (isSameCustomer ? invoice.customerId : null),
    processorCustomerId: facts.processorCustomerId,
    processorSubscriptionId: facts.processorSubscriptionId,
    amountDue: facts.amountDue,
    amountPaid: facts.amountPaid,
    currency: facts.currency,
    status: facts.status,
    hostedInvoiceUrl: facts.hostedInvoiceUrl,
    ...coverageOf(invoice, facts),
    ...detailsAfter(invoice, facts),
  };
  const rule = ruleOf(invoice.status, facts.status);
  return takeValues(invoice, values, { rule, origin, asOf: facts.asOf, now });
}

/** The period that an invoice bills, if it is known. Only a paid invoice of a subscription must know it. */
export function coverageOf(
  row: Pick<Invoice, 'coversUntil'>,
  { coversUntil, status, processorSubscriptionId }: InvoiceFacts,
): Pick<Invoice, 'coversUntil' | 'isIncomplete'> {
  if (coversUntil !== undefined) return { coversUntil, isIncomplete: false };
  const isNeeded = status === 'paid' && processorSubscriptionId !== null;
  return { coversUntil: row.coversUntil, isIncomplete: isNeeded };
}

export const noCoverage = { coversUntil: null };

type ShownDetails = Pick<Invoice, keyof InvoiceDetails>;

/**
 * The details after facts. A detail that the facts do not contain stays. An invoice never loses its number or its PDF.
 */
export function detailsAfter(before: ShownDetails, facts: InvoiceDetails): ShownDetails {
  const { nextPaymentAttemptAt = before.nextPaymentAttemptAt } = facts;
  return {
    number: facts.number ?? before.number,
    amountRemaining: facts.amountRemaining ?? before.amountRemaining,
    attemptCount: facts.attemptCount ?? before.attemptCount,
    nextPaymentAttemptAt,
    periodStart: facts.periodStart ?? before.periodStart,
    periodEnd: facts.periodEnd ?? before.periodEnd,
    invoicePdfUrl: facts.invoicePdfUrl ?? before.invoicePdfUrl,
  };
}

/** The details of a new row, before its facts are applied. */
export function firstDetails({
  amountDue,
  amountPaid,
}: Pick<InvoiceFacts, 'amountDue' | 'amountPaid'>): ShownDetails {
  return {
    number: null,
    amountRemaining: Math.max(amountDue - amountPaid, 0),
    attemptCount: 0,
    nextPaymentAttemptAt: null,
    periodStart: null,
    periodEnd: null,
    invoicePdfUrl: null,
  };
}
