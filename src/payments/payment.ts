import { Failure } from '../errors.ts';
import { asOfRow, laterOf, type OwnFacts, rowTime } from '../mirrors/facts.ts';
import { judge, type Origin, type TransitionTable, type Verdict } from '../mirrors/transition.ts';

/** Every status of a payment, in the order in which a payment usually passes them. */
export const paymentStatuses = [
  'requires_payment_method',
  'requires_confirmation',
  'requires_action',
  'processing',
  'succeeded',
  'canceled',
  'refunded',
] as const;

export type PaymentStatus = (typeof paymentStatuses)[number];

/** What the processor says of its payment intent. `refunded` is our word for what follows from the refunds. */
export type IntentStatus = Exclude<PaymentStatus, 'refunded'>;

export interface Payment {
  readonly id: string;
  readonly processorPaymentIntentId: string;
  readonly customerId: string;
  readonly amount: number;
  readonly amountReceived: number;
  /** The sum of the refunds that did not fail. */
  readonly amountRefunded: number;
  /** The sum of those that are being asked for, and of which the processor has not been heard yet. */
  readonly amountReserved: number;
  readonly currency: string;
  readonly intentStatus: IntentStatus;
  readonly status: PaymentStatus;
  readonly processorAsOf: Date;
  readonly processorAsOfLatest: Date;
  readonly createdAt: Date;
  readonly updatedAt: Date;
  /** Rises with every change of the row. */
  readonly revision: number;
}

export interface PaymentFacts extends OwnFacts {
  readonly processorPaymentIntentId: string;
  readonly processorCustomerId: string | null;
  readonly amount: number;
  /** What has arrived so far, and so the most that can be refunded. */
  readonly amountReceived: number;
  readonly currency: string;
  /** `refunded` is never the processor's word: it follows from the refunds. */
  readonly status: Exclude<PaymentStatus, 'refunded'>;
}

const open = {
  requires_payment_method: 'if newer',
  requires_confirmation: 'if newer',
  requires_action: 'if newer',
  processing: 'if newer',
  succeeded: 'always',
  canceled: 'always',
} as const;

const final = {
  requires_payment_method: 'never',
  requires_confirmation: 'never',
  requires_action: 'never',
  processing: 'never',
  succeeded: 'never',
  canceled: 'never',
} as const;

/** From what stands (rows) to what arrives (columns). A final status stays; only refunds change what it means. */
export const paymentTransitions: TransitionTable<IntentStatus> = {
  requires_payment_method: open,
  requires_confirmation: open,
  requires_action: open,
  processing: open,
  succeeded: { ...final, succeeded: 'if newer' },
  canceled: { ...final, canceled: 'if newer' },
};

/** What a payment becomes when the processor says this of it. */
export function takePaymentFacts(
  payment: Payment,
  facts: PaymentFacts,
  origin: Origin,
  now: Date,
): { readonly verdict: Verdict; readonly row: Payment } {
  const isSame =
    payment.intentStatus === facts.status &&
    payment.amount === facts.amount &&
    payment.amountReceived === facts.amountReceived &&
    payment.currency === facts.currency;
  const verdict = judge({
    rule: paymentTransitions[payment.intentStatus][facts.status],
    origin,
    isSame,
    rowAsOf: asOfRow(payment),
    factsAsOf: facts.asOf,
  });
  const row = {
    ...payment,
    amount: facts.amount,
    amountReceived: facts.amountReceived,
    currency: facts.currency,
    intentStatus: facts.status,
    ...rowTime(laterOf(asOfRow(payment), facts.asOf)),
    updatedAt: isSame ? payment.updatedAt : now,
  };
  return { verdict, row: { ...row, status: paymentStatusOf(row) } };
}

/** A payment is refunded once the refunds that did not fail reach what was received. */
export function paymentStatusOf(
  payment: Pick<Payment, 'intentStatus' | 'amountReceived' | 'amountRefunded'>,
): PaymentStatus {
  const { intentStatus, amountReceived, amountRefunded } = payment;
  const isRefunded = intentStatus === 'succeeded' && amountReceived > 0 && amountRefunded >= amountReceived;
  return isRefunded ? 'refunded' : intentStatus;
}

/** How much can still be refunded, if whatever is being asked for goes through. */
export function amountLeft(
  payment: Pick<Payment, 'amountReceived' | 'amountRefunded' | 'amountReserved'>,
): number {
  return Math.max(payment.amountReceived - payment.amountRefunded - payment.amountReserved, 0);
}

export function foundPayment(payment: Payment | undefined): Payment {
  if (payment === undefined) throw new Failure('not_found', 'No payment has this id. Check the id.');
  return payment;
}
