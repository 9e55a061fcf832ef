import { Failure } from '../errors.ts';
import { hasEnded, type SubscriptionStatus } from './subscription.ts';

/** The details are null if the type has none: an account at a wallet has no expiry date. */
export interface PaymentMethod {
  /** The processor's id. */
  readonly id: string;
  /** `card`, or another of the processor's types, which are an open set. */
  readonly type: string;
  readonly brand: string | null;
  readonly last4: string | null;
  readonly expMonth: number | null;
  readonly expYear: number | null;
}

/** A payment method at the processor. It has no row: Till passes it through, and stores and logs nothing about it. */
export interface AttachablePaymentMethod extends PaymentMethod {
  /** Null if it is not attached to a customer. */
  readonly processorCustomerId: string | null;
  readonly createdAt: Date;
}

/** The preparation for saving a payment method. */
export interface CardSetup {
  readonly processorSetupIntentId: string;
  /** Passed on to the caller and never stored. Null once nothing is left to confirm. */
  readonly clientSecret: string | null;
}

/** The payment method that a subscription charges. */
export interface PaymentMethodUse {
  readonly processorSubscriptionId: string;
  /** Null if the processor shows a status that Till does not know. */
  readonly status: SubscriptionStatus | null;
  /** Null if the subscription charges the customer's default. */
  readonly paymentMethodId: string | null;
  /** The payment methods of its schedule: of the current phase, and of each later one. Empty if it has no schedule. */
  readonly scheduledMethodIds: readonly (string | null)[];
}

/** The subscriptions in these states take over a new default. The others have ended, or never began. */
const followingStatuses: readonly (SubscriptionStatus | null)[] = [
  'active',
  'trialing',
  'past_due',
  'unpaid',
];

/** Whether the subscription takes over a new default of the customer. */
export function followsDefault({ status }: Pick<PaymentMethodUse, 'status'>): boolean {
  return followingStatuses.includes(status);
}

/** Whether a new default of the customer still has to be set on this subscription. */
export function needsDefault(use: PaymentMethodUse, paymentMethodId: string): boolean {
  return followsDefault(use) && methodsOf(use).some((id) => id !== paymentMethodId);
}

/** Whether the schedule of this subscription would later charge another payment method. */
export function needsScheduledDefault(
  { scheduledMethodIds }: Pick<PaymentMethodUse, 'scheduledMethodIds'>,
  paymentMethodId: string,
): boolean {
  return scheduledMethodIds.some((id) => id !== paymentMethodId);
}

/** The payment methods that the subscription charges, now and later. */
function methodsOf({ paymentMethodId, scheduledMethodIds }: PaymentMethodUse): readonly (string | null)[] {
  return [paymentMethodId, ...scheduledMethodIds];
}

/**
 * Whether a live subscription charges the payment method, or will after a planned change: its own default, or the
 * customer's if it has none. A subscription with an unknown status counts as live, because removing its payment method
 * cannot be undone.
 */
export function isInUse(
  paymentMethodId: string,
  customerDefault: string | null,
  uses: readonly PaymentMethodUse[],
): boolean {
  const live = uses.filter(({ status }) => status === null || !hasEnded(status));
  return live.flatMap(methodsOf).some((id) => (id ?? customerDefault) === paymentMethodId);
}

/** The characters and the length of the processor's ids. No other text may become part of a path at the processor. */
const paymentMethodId = /^[A-Za-z0-9_]{1,255}$/;

/** A malformed id matches no payment method. */
export function isPaymentMethodId(text: string): boolean {
  return paymentMethodId.test(text);
}

export function paymentMethodNotFound(): Failure {
  return new Failure(
    'not_found',
    'The customer has no payment method with this id. List the payment methods of the customer.',
    { effect: 'none' },
  );
}

export function paymentMethodInUse(): Failure {
  return new Failure(
    'payment_method_in_use',
    'A subscription uses this payment method. Set another default payment method first, or cancel the subscription.',
  );
}
