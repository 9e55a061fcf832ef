import { type Charge, type ChargeValues, chargeValues, noCharge, takeCharge } from './charge.ts';
import { type DisputesOfPayment, type StoredDispute, takeDisputes } from './dispute.ts';
import {
  type DatedRow,
  type Origin,
  type OwnFacts,
  ruleFor,
  type Taken,
  takeValues,
  type Verdict,
} from './facts.ts';
import {
  type Metadata,
  type MetadataChange,
  needsMetadata,
  noMetadata,
  type OwnedMetadata,
  takeMetadata,
} from './metadata.ts';

/** Every status of a payment, in the usual order. */
export const paymentStatuses = [
  'requires_payment_method',
  'requires_confirmation',
  'requires_action',
  'processing',
  'succeeded',
  'canceled',
  'refunded',
] as const;

/**
 * The values of the list's parameter `source`. Without it, the list shows the payments that were created through the
 * API.
 */
export const paymentSources = ['subscription', 'all'] as const;

type PaymentStatus = (typeof paymentStatuses)[number];

/** The status of the payment intent at the processor. Till adds `refunded`, which follows from the refunds. */
type IntentStatus = Exclude<PaymentStatus, 'refunded'>;

/** What a payment's facts and its row have in common. */
interface PaymentValues {
  readonly amount: number;
  /** The amount received so far, which is the most that can be refunded. */
  readonly amountReceived: number;
  /** The amount that is authorised and not captured yet. */
  readonly amountCapturable: number;
  readonly currency: string;
  readonly failure: PaymentFailure | null;
}

/** Why the last attempt to pay failed, in the processor's words. The processor does not always send every field. */
export interface PaymentFailure {
  readonly code: string | null;
  readonly declineCode: string | null;
  readonly message: string | null;
}

/** The invoice of a subscription that a payment pays. All null in a payment that was created through the API. */
interface PaidInvoice {
  readonly processorInvoiceId: string | null;
  readonly processorSubscriptionId: string | null;
  /** Till's ids. Null while the invoice or the subscription has no row. */
  readonly invoiceId: string | null;
  readonly subscriptionId: string | null;
}

export const noInvoice: PaidInvoice = {
  processorInvoiceId: null,
  processorSubscriptionId: null,
  invoiceId: null,
  subscriptionId: null,
};

export interface Payment extends DatedRow, PaymentValues, ChargeValues, PaidInvoice {
  readonly processorPaymentIntentId: string;
  readonly customerId: string;
  /** The checkout that created the payment. Null for other payments. */
  readonly checkoutId: string | null;
  readonly description: string | null;
  readonly metadata: OwnedMetadata;
  /** The sum of the refunds that did not fail. 0 until the row shows that the payment has succeeded. */
  readonly amountRefunded: number;
  /**
   * The sum of the refunds that do not count yet: those that the processor has not confirmed, and all of them until the
   * row shows that the payment has succeeded.
   */
  readonly amountReserved: number;
  readonly intentStatus: IntentStatus;
  readonly status: PaymentStatus;
  /** The newest one. Null if the payment was never disputed. */
  readonly dispute: StoredDispute | null;
}

export interface PaymentFacts extends OwnFacts, PaymentValues, DisputesOfPayment {
  readonly processorPaymentIntentId: string;
  readonly processorCustomerId: string | null;
  readonly status: IntentStatus;
  /** The checkout that created the payment. Null for other payments. */
  readonly checkoutId: string | null;
  /** Null if the event or the response does not show it. */
  readonly metadata: Metadata | null;
  /** Undefined in events: their stored form contains no free text. */
  readonly description?: string | null;
  /** The latest charge. Undefined in events, which only contain its id. */
  readonly charge?: Charge | null;
  /** The invoice that it pays. Undefined in newer API versions, which do not show it in a payment intent. */
  readonly processorInvoiceId?: string | null;
}

/** Says that a payment intent has paid an invoice, or a part of it. */
export interface InvoicePaymentFacts {
  readonly processorPaymentIntentId: string;
  readonly processorInvoiceId: string;
}

const finalStatuses: readonly IntentStatus[] = ['succeeded', 'canceled'];

/**
 * Decides whether the facts change the row, and returns the row with the facts applied. The payment intent's values,
 * the latest charge and the newest dispute are ordered independently, because events report them separately.
 */
export function takePaymentFacts(
  payment: Payment,
  facts: PaymentFacts,
  origin: Origin,
  now: Date,
): Taken<Payment> {
  const rule = ruleFor(payment.intentStatus, facts.status, finalStatuses);
  const { asOf } = facts;
  const values = { ...valuesOfPayment(facts), metadata: takeMetadata(payment.metadata, facts) };
  const intent = takeValues(payment, values, { rule, origin, asOf, now });
  const isIncomplete = payment.metadata !== null && needsMetadata(facts, origin, intent.verdict);
  // The processor's own description of a payment of a subscription is not stored, because events do not contain it.
  const description = payment.processorInvoiceId === null ? facts.description : undefined;
  const described = takeDescription(payment, intent, description, now);
  const charged = facts.charge ? takeCharge(described.row, facts.charge, origin, now) : described;
  const disputed = takeDisputes(charged.row, facts, origin, now);
  const row = disputed.verdict === 'keep' ? charged.row : disputed.row;
  return {
    verdict: isIncomplete
      ? 'refresh'
      : strongestOf(intent.verdict, described.verdict, charged.verdict, disputed.verdict),
    row: { ...row, status: paymentStatusOf(row) },
  };
}

/** Only responses contain the description. A row that an event created gets it from the first response. */
function takeDescription(
  payment: Payment,
  intent: Taken<Payment>,
  description: string | null | undefined,
  now: Date,
): Taken<Payment> {
  const row = intent.verdict === 'keep' ? payment : intent.row;
  const isNew = description !== undefined && description !== payment.description;
  const isTaken = isNew && (intent.verdict !== 'keep' || payment.description === null);
  return isTaken
    ? { verdict: 'take', row: { ...row, description, updatedAt: now } }
    : { verdict: 'keep', row };
}

/** If one part needs a refresh, so does the row: a refresh reads everything. */
function strongestOf(...verdicts: readonly Verdict[]): Verdict {
  if (verdicts.includes('refresh')) return 'refresh';
  return verdicts.includes('take') ? 'take' : 'keep';
}

/** What the facts do not use otherwise is a value that the row takes as it is. */
function valuesOfPayment({
  processorPaymentIntentId,
  localId,
  processorCustomerId,
  processorInvoiceId,
  checkoutId,
  status,
  metadata,
  description,
  charge,
  isDisputed,
  disputes,
  createdAt,
  asOf,
  ...values
}: PaymentFacts) {
  return { ...values, intentStatus: status };
}

/** The values of a new row. */
export function firstValuesOfPayment(
  facts: PaymentFacts,
): PaymentValues & ChargeValues & Pick<Payment, 'intentStatus' | 'description' | 'metadata' | 'dispute'> {
  const { description = null, charge } = facts;
  const metadata = facts.metadata ?? noMetadata;
  const charged = charge ? chargeValues(charge) : noCharge;
  return { ...valuesOfPayment(facts), description, metadata, ...charged, dispute: null };
}

/** A change of a payment. An absent field keeps its value. */
export interface PaymentChange {
  readonly metadata?: MetadataChange;
}

/** Whether there was an attempt to pay, or one is in progress. */
export function isAttempted({ status, failure, charge = null }: PaymentFacts): boolean {
  return attemptStatuses.includes(status) || failure !== null || charge !== null;
}

const attemptStatuses: readonly IntentStatus[] = ['requires_action', 'processing', 'succeeded'];

/** A payment is refunded once the refunds that did not fail reach the amount received. */
export function paymentStatusOf(
  payment: Pick<Payment, 'intentStatus' | 'amountReceived' | 'amountRefunded'>,
): PaymentStatus {
  const { intentStatus, amountReceived, amountRefunded } = payment;
  const isRefunded = intentStatus === 'succeeded' && amountReceived > 0 && amountRefunded >= amountReceived;
  return isRefunded ? 'refunded' : intentStatus;
}

/** Whether the payment may still succeed or be canceled. Only one that has ended has refunds. */
export function isOpen({ intentStatus }: Pick<Payment, 'intentStatus'>): boolean {
  return !finalStatuses.includes(intentStatus);
}

/** The amount that can still be refunded if the refunds in progress succeed. */
export function amountLeft(
  payment: Pick<Payment, 'amountReceived' | 'amountRefunded' | 'amountReserved'>,
): number {
  return Math.max(payment.amountReceived - payment.amountRefunded - payment.amountReserved, 0);
}
