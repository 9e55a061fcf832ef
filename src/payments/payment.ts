import { Failure } from '../errors.ts';
import type { DatedRow, OwnFacts } from '../mirrors/facts.ts';
import { type Origin, type Taken, type TransitionTable, takeValues } from '../mirrors/transition.ts';

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

type PaymentStatus = (typeof paymentStatuses)[number];

/** The status of the payment intent at the processor. Till adds `refunded`, which follows from the refunds. */
type IntentStatus = Exclude<PaymentStatus, 'refunded'>;

/** What a payment's facts and its row have in common. */
interface PaymentValues {
  readonly amount: number;
  /** The amount received so far, which is the most that can be refunded. */
  readonly amountReceived: number;
  readonly currency: string;
}

export interface Payment extends DatedRow, PaymentValues {
  readonly processorPaymentIntentId: string;
  readonly customerId: string;
  /** The sum of the refunds that did not fail. */
  readonly amountRefunded: number;
  /** The sum of the refunds in progress, which the processor has not confirmed yet. */
  readonly amountReserved: number;
  readonly intentStatus: IntentStatus;
  readonly status: PaymentStatus;
}

export interface PaymentFacts extends OwnFacts, PaymentValues {
  readonly processorPaymentIntentId: string;
  readonly processorCustomerId: string | null;
  readonly status: IntentStatus;
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

/** From the current status (rows) to the new one (columns). A final status stays. */
const paymentTransitions: TransitionTable<IntentStatus> = {
  requires_payment_method: open,
  requires_confirmation: open,
  requires_action: open,
  processing: open,
  succeeded: { ...final, succeeded: 'if newer' },
  canceled: { ...final, canceled: 'if newer' },
};

/** Decides whether the facts change the row, and returns the row with the facts applied. */
export function takePaymentFacts(
  payment: Payment,
  facts: PaymentFacts,
  origin: Origin,
  now: Date,
): Taken<Payment> {
  const rule = paymentTransitions[payment.intentStatus][facts.status];
  const { asOf } = facts;
  const { verdict, row } = takeValues(payment, valuesOfPayment(facts), { rule, origin, asOf, now });
  return { verdict, row: { ...row, status: paymentStatusOf(row) } };
}

/** The values that a row takes from facts: everything but what identifies and dates them. */
export function valuesOfPayment({
  localId,
  processorPaymentIntentId,
  processorCustomerId,
  createdAt,
  asOf,
  status: intentStatus,
  ...values
}: PaymentFacts): PaymentValues & Pick<Payment, 'intentStatus'> {
  return { ...values, intentStatus };
}

/** A payment is refunded once the refunds that did not fail reach the amount received. */
export function paymentStatusOf(
  payment: Pick<Payment, 'intentStatus' | 'amountReceived' | 'amountRefunded'>,
): PaymentStatus {
  const { intentStatus, amountReceived, amountRefunded } = payment;
  const isRefunded = intentStatus === 'succeeded' && amountReceived > 0 && amountRefunded >= amountReceived;
  return isRefunded ? 'refunded' : intentStatus;
}

/** The amount that can still be refunded if the refunds in progress succeed. */
export function amountLeft(
  payment: Pick<Payment, 'amountReceived' | 'amountRefunded' | 'amountReserved'>,
): number {
  return Math.max(payment.amountReceived - payment.amountRefunded - payment.amountReserved, 0);
}

export function foundPayment(payment: Payment | undefined): Payment {
  if (payment === undefined) throw new Failure('not_found', 'No payment has this id. Check the id.');
  return payment;
}
