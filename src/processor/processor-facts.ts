import type { InvoiceStatus } from '../invoices/invoice.ts';
import type { PaymentStatus } from '../payments/payment.ts';
import type { RefundReason, RefundStatus } from '../payments/refund.ts';
import type { PlanInterval } from '../plans/plan.ts';
import type { SubscriptionStatus } from '../subscriptions/subscription.ts';

/**
 * What the processor says about one of its objects, in Till's words. Facts hold what the mirrors store and nothing
 * else; a client secret in particular never sits among them, so that storing facts can never store a secret.
 */
interface Facts {
  /** When the processor made the object. Its time has whole seconds, here and everywhere below. */
  readonly createdAt: Date;
  readonly asOf: AsOf;
}

/**
 * When facts were true, on the processor's clock, in whole seconds. An event names its second, so both ends are equal. An
 * answer was true at some moment between its request and its response; nothing narrower is certain.
 */
export interface AsOf {
  readonly earliest: Date;
  readonly latest: Date;
}

export function asOfEvent(createdAt: Date): AsOf {
  return { earliest: createdAt, latest: createdAt };
}

interface OwnFacts extends Facts {
  /** Our id, from the object's metadata; null on an object that Till did not make. */
  readonly localId: string | null;
}

export interface CustomerFacts extends OwnFacts {
  readonly processorCustomerId: string;
  readonly email: string | null;
  readonly name: string | null;
  readonly phone: string | null;
  readonly deleted: boolean;
}

/** One half of a plan: what is sold. */
export interface ProductFacts extends OwnFacts {
  readonly processorProductId: string;
  /** Null where it cannot be read; the plan keeps its name then. */
  readonly name: string | null;
  /** False once archived or deleted. */
  readonly active: boolean;
  /** Nothing can come after that, whatever the times say. */
  readonly deleted?: true;
}

/** The other half of a plan: what it costs, how often. */
export interface PriceFacts extends OwnFacts {
  readonly processorPriceId: string;
  readonly processorProductId: string;
  /** Null where the price is not one whole amount in the smallest unit (tiers, fractions): no Till plan. */
  readonly amount: number | null;
  readonly currency: string;
  /** Null for a price that is paid once, or every so many intervals: no Till plan. */
  readonly interval: PlanInterval | null;
  /** False once archived or deleted. */
  readonly active: boolean;
  /** Nothing can come after that, whatever the times say. */
  readonly deleted?: true;
}

export interface PlanFacts {
  readonly product: ProductFacts;
  readonly price: PriceFacts;
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

export interface RefundFacts extends OwnFacts {
  readonly processorRefundId: string;
  /** Null for the refund of a charge that belongs to no payment intent, and so to no payment that Till made. */
  readonly processorPaymentIntentId: string | null;
  readonly amount: number;
  readonly currency: string;
  /** `unknown`, in a response only: null, or a word that Till does not know. The refund exists and counts all the same. */
  readonly status: RefundStatus | 'unknown';
  /** Null where none was given, or one that only the processor itself gives. */
  readonly reason: RefundReason | null;
}

export interface SubscriptionFacts extends OwnFacts {
  readonly processorSubscriptionId: string;
  /** Null in a response that leaves it out. */
  readonly processorCustomerId: string | null;
  /**
   * Oldest first: Till makes subscriptions with one item, and others may add more on the processor's dashboard. Items
   * beyond the first page of the processor's list are not read.
   */
  readonly items: readonly [SubscriptionItemFacts, ...SubscriptionItemFacts[]];
  readonly status: SubscriptionStatus;
  readonly trialEnd: Date | null;
}

/** A price that a subscription bills, and the period that it bills now. */
export interface SubscriptionItemFacts {
  readonly processorPriceId: string;
  /** Our id of the plan, from the metadata of the price; null if it is no Till plan. */
  readonly planLocalId: string | null;
  readonly currentPeriodStart: Date;
  readonly currentPeriodEnd: Date;
}

export interface InvoiceFacts extends Facts {
  readonly processorInvoiceId: string;
  readonly processorCustomerId: string | null;
  readonly processorSubscriptionId: string | null;
  /** Our id of the subscription that it bills, from the metadata that the processor copies into the invoice. */
  readonly subscriptionLocalId: string | null;
  readonly amountDue: number;
  readonly amountPaid: number;
  readonly currency: string;
  readonly status: InvoiceStatus;
  readonly hostedInvoiceUrl: string | null;
}

/** What one of the processor's events says. */
export type EventFacts =
  | { readonly resource: 'customer'; readonly customer: CustomerFacts }
  | { readonly resource: 'product'; readonly product: ProductFacts }
  | { readonly resource: 'price'; readonly price: PriceFacts }
  | { readonly resource: 'payment'; readonly payment: PaymentFacts }
  | { readonly resource: 'refund'; readonly refund: RefundFacts }
  | {
      /** Something of a charge was refunded. The newer shape does not say what: the refunds have to be read. */
      readonly resource: 'charge';
      readonly processorPaymentIntentId: string | null;
      readonly refunds: readonly RefundFacts[] | 'unread';
    }
  | { readonly resource: 'subscription'; readonly subscription: SubscriptionFacts }
  | { readonly resource: 'invoice'; readonly invoice: InvoiceFacts }
  | { readonly resource: 'none'; readonly reason: 'unknown_type' | 'object_without_id' | 'erased' };

/**
 * The processor sent something that cannot be told in Till's words: a status that nobody knows, a field that is
 * missing. Trying again would not help; the row that it concerns stays as it was.
 */
export class UnmappableError extends Error {
  override readonly name = 'UnmappableError';
}
