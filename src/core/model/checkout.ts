import { Failure, invalidRequest } from '../errors.ts';
import { type DatedRow, type Origin, type OwnFacts, ruleFor, type Taken, takeValues } from './facts.ts';
import { type Metadata, type OwnedMetadata, takeMetadata } from './metadata.ts';
import type { PlanQuantity } from './subscription-items.ts';

/** What a checkout results in: a subscription, a payment or a saved card. */
export const checkoutModes = ['subscription', 'payment', 'setup'] as const;

type CheckoutMode = (typeof checkoutModes)[number];

export const checkoutStatuses = ['open', 'completed', 'expired'] as const;

type CheckoutStatus = (typeof checkoutStatuses)[number];

export const checkoutPaymentStatuses = ['unpaid', 'paid', 'notRequired'] as const;

/** What a checkout's facts and its row have in common. */
interface CheckoutValues {
  readonly mode: CheckoutMode;
  readonly status: CheckoutStatus;
  readonly paymentStatus: (typeof checkoutPaymentStatuses)[number];
  /** The total, after codes that the buyer entered. Null if only a card is saved. */
  readonly amount: number | null;
  readonly currency: string | null;
  /** The trial that the buyer gets, in days. Null if there is none. */
  readonly trialPeriodDays: number | null;
  /** The processor's id of the card that was saved. */
  readonly paymentMethodId: string | null;
  readonly expiresAt: Date;
  /** A digest of everything that the buyer is offered. */
  readonly terms: string;
}

export interface Checkout extends DatedRow, CheckoutValues {
  readonly processorCheckoutSessionId: string;
  readonly customerId: string;
  readonly planId: string | null;
  readonly quantity: number | null;
  readonly addOns: readonly PlanQuantity[];
  /** The results are null until the checkout is completed. */
  readonly subscriptionId: string | null;
  readonly paymentId: string | null;
  readonly completedAt: Date | null;
  readonly metadata: OwnedMetadata;
}

export interface CheckoutFacts extends OwnFacts, CheckoutValues {
  readonly processorCheckoutSessionId: string;
  readonly processorCustomerId: string | null;
  /** The prices of a subscription, in the order of the request: the main plan comes first. */
  readonly items: readonly { readonly processorPriceId: string; readonly quantity: number }[];
  readonly processorSubscriptionId: string | null;
  readonly processorInvoiceId: string | null;
  readonly processorPaymentIntentId: string | null;
  /** When the result was created. Null if the processor does not show it. */
  readonly completedAt: Date | null;
  readonly metadata: Metadata;
}

/** Reports that a checkout exists or has changed. Only a read shows everything that its row contains. */
export interface CheckoutNotice {
  readonly processorCheckoutSessionId: string;
  readonly localId: string | null;
  /** Absent in events, which always need a read. */
  readonly status?: CheckoutStatus;
}

const finalStatuses: readonly CheckoutStatus[] = ['completed', 'expired'];

/**
 * Decides whether the facts change the row, and returns the row with the facts applied. `resultId`: the id of the
 * subscription or payment that results.
 */
export function takeCheckoutFacts(
  checkout: Checkout,
  facts: CheckoutFacts,
  resultId: string,
  origin: Origin,
  now: Date,
): Taken<Checkout> {
  const { mode, trialPeriodDays, terms, ...changing } = valuesOfCheckout(facts);
  const values = {
    ...changing,
    ...resultsOf(facts, resultId, checkout.completedAt ?? now),
    metadata: takeMetadata(checkout.metadata, facts),
  };
  const rule = ruleFor(checkout.status, facts.status, finalStatuses);
  return takeValues(checkout, values, { rule, origin, asOf: facts.asOf, now });
}

/** What the facts do not use otherwise is a value that the row takes as it is. */
export function valuesOfCheckout({
  processorCheckoutSessionId,
  localId,
  processorCustomerId,
  items,
  processorSubscriptionId,
  processorInvoiceId,
  processorPaymentIntentId,
  paymentMethodId,
  completedAt,
  metadata,
  createdAt,
  asOf,
  ...values
}: CheckoutFacts) {
  return values;
}

/** What a completed checkout shows of its results. All null before that. */
export function resultsOf(
  { mode, status, paymentMethodId, completedAt }: CheckoutFacts,
  resultId: string,
  recordedAt: Date,
): Pick<Checkout, 'subscriptionId' | 'paymentId' | 'paymentMethodId' | 'completedAt'> {
  const isCompleted = status === 'completed';
  return {
    subscriptionId: isCompleted && mode === 'subscription' ? resultId : null,
    paymentId: isCompleted && mode === 'payment' ? resultId : null,
    paymentMethodId: isCompleted && mode === 'setup' ? paymentMethodId : null,
    completedAt: isCompleted ? (completedAt ?? recordedAt) : null,
  };
}

/** A buyer needs some minutes on the page, so a checkout that expires sooner is not offered again. */
const timeLeftMsMin = 600_000;

/** Whether a request with these terms gets this checkout instead of a new one. */
export function isReusable(checkout: Checkout, terms: string, now: Date): boolean {
  const { status, expiresAt } = checkout;
  return (
    status === 'open' && checkout.terms === terms && expiresAt.getTime() - now.getTime() >= timeLeftMsMin
  );
}

/** Part of the API contract: the processor's limits are 30 minutes and 24 hours, and a request takes some time. */
const lifeMsMin = 31 * 60_000;
const lifeMsMax = 24 * 3_600_000;

/** Fails unless a new checkout can expire at this time. */
export function requireExpiry(expiresAt: Date | undefined, now: Date): void {
  if (expiresAt === undefined) return;
  const lifeMs = expiresAt.getTime() - now.getTime();
  if (lifeMs >= lifeMsMin && lifeMs <= lifeMsMax) return;
  throw invalidRequest('body.expiresAt', 'must be 31 minutes to 24 hours from now');
}

export function checkoutCompleted({ subscriptionId, paymentId }: Checkout): Failure {
  return new Failure(
    'checkout_completed',
    'The buyer has completed the checkout. Cancel the subscription or refund the payment instead.',
    { subscriptionId, paymentId },
  );
}

/** The processor does not say how long a payment takes. Most buyers authenticate within a minute. */
const retryAfterSeconds = 10;

export function checkoutInProgress({ id }: Pick<Checkout, 'id'>): Failure {
  return new Failure(
    'checkout_in_progress',
    'A payment is in progress in the open checkout, so it cannot be expired now. Retry later.',
    { checkoutId: id, retryAfterSeconds },
  );
}
