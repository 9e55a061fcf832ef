import type { CustomerFacts } from '../customers/customer.ts';
import type { InvoiceFacts } from '../invoices/invoice.ts';
import type { PaymentFacts } from '../payments/payment.ts';
import type { RefundFacts, RefundReason } from '../payments/refund.ts';
import type { PlanFacts, PlanInterval } from '../plans/plan.ts';
import type { SubscriptionFacts } from '../subscriptions/subscription.ts';
import type { EventFacts } from './event-facts.ts';

/**
 * All that Till asks of a payment processor. Every call ends within the deadline of 10 seconds, in one of three ways:
 * with its result; with an `Attempt` that says why the state of things forbids it; or with a `Failure`
 * (`processor_*`, `overloaded`) whose `effect` says whether the work may have been done all the same. Look-ups,
 * listings and archiving are several calls, each with its own deadline.
 */
export interface Processor {
  /** The mode of our key. An object or event of the other mode is not ours to touch. */
  readonly livemode: boolean;
  readonly customers: CustomerCalls;
  readonly plans: PlanCalls;
  readonly payments: PaymentCalls;
  readonly refunds: RefundCalls;
  readonly subscriptions: SubscriptionCalls;
  readonly invoices: InvoiceCalls;
  readonly events: EventCalls;
  /** The id of the account that our key belongs to; null if the key is a restricted one that may not read it. */
  readAccount(): Promise<string | null>;
  /** Whether the bytes are an event that the processor signed. Pure, apart from the secrets. */
  verifyWebhook(body: Uint8Array, signature: string | undefined, now: Date): VerifiedWebhook;
  /** What a stored event says. Throws `UnmappableError` for what no retry can mend. */
  readEvent(payload: string): EventFacts;
  /** A stored payload as it would be stored today. */
  redact(payload: string): Pick<ProcessorEvent, 'payload' | 'erasedPayload'>;
  /**
   * Whether payloads of this API version are of a shape that Till was made for. One of another is read all the same,
   * and its reader warns, because a field may have moved.
   */
  understands(apiVersion: string | null): boolean;
  /** Ends all connections; calls under way fail. */
  close(): void;
}

/** Every operation, as the metric `processor_request_duration_seconds` names it. */
export const processorOperations = [
  'account.read',
  'customers.create',
  'customers.read',
  'customers.update',
  'customers.delete',
  'customers.list',
  'plans.create',
  'plans.read',
  'plans.archive_price',
  'plans.archive_product',
  'plans.list',
  'payments.create',
  'payments.read',
  'payments.cancel',
  'payments.list',
  'refunds.create',
  'refunds.read',
  'refunds.list',
  'subscriptions.create',
  'subscriptions.read',
  'subscriptions.cancel',
  'subscriptions.list',
  'invoices.read',
  'invoices.list',
  'events.list',
] as const;

export type ProcessorOperation = (typeof processorOperations)[number];

/** How a call ended, as the metric names it. `refused`: the state of things forbade it, and the result says so. */
export const processorOutcomes = [
  'ok',
  'refused',
  'rejected',
  'misconfigured',
  'bad_answer',
  'unavailable',
  'timeout',
  'overloaded',
] as const;

export type ProcessorOutcome = (typeof processorOutcomes)[number];

/**
 * What became of a change. `wrong_state`: the processor's object is in another state than ours said, and nothing was
 * done; read it, correct the mirror, then answer. `missing`: the processor says that there is no such object. That
 * alone proves nothing, because a key of another account gets the same answer: read the object.
 */
export type Attempt<T> = { readonly outcome: 'done'; readonly value: T } | Refused;

/** The processor's refusal, in its own words. */
export interface Refused {
  readonly outcome: 'wrong_state' | 'missing';
  readonly processorCode: string | null;
  readonly message: string;
}

/**
 * A write, under a key that the caller derived from its own id: the same key with the same values is the same
 * write, however often it is sent. The processor remembers keys for 24 hours, and refusals with them: where asking
 * again later is a new question (an update, a cancel, an archive), so must be the key.
 */
interface KeyedWrite {
  readonly idempotencyKey: string;
}

/**
 * A look-up, by our id in the metadata, of what a call of unknown effect may have made. It lists what was made since
 * and compares: listings show a new object at once, where the processor's search lags behind by up to an hour
 * and would call an existing charge missing. Null means surely not there; a listing too long to see through fails.
 */
interface LookUp {
  readonly localId: string;
  /** When the call was first tried, by our clock; differences between the clocks are allowed for. */
  readonly since: Date;
}

/** Page after page, each a call with a deadline of its own. Objects that cannot be mapped are left out and logged. */
export type Pages<T> = AsyncIterable<readonly T[]>;

export interface CustomerCalls {
  create(customer: KeyedWrite & CustomerValues & { readonly id: string }): Promise<CustomerFacts>;
  /** `deleted`: it was there once, which is more than not to know it. */
  read(processorCustomerId: string): Promise<CustomerFacts | 'deleted' | null>;
  update(
    change: KeyedWrite & Partial<CustomerValues> & { readonly processorCustomerId: string },
  ): Promise<Attempt<CustomerFacts>>;
  /** Cancels its subscriptions too. One that is deleted already is `missing`: the wire knows no key for deleting. */
  delete(processorCustomerId: string): Promise<Attempt<'deleted'>>;
  find(lookUp: LookUp): Promise<CustomerFacts | null>;
  /** Without the deleted ones; `since`: only those created at or after this time. */
  list(filter?: { readonly since?: Date }): Pages<CustomerFacts>;
}

/** Null clears a value; in an update, an absent one stays. */
export interface CustomerValues {
  readonly email: string;
  readonly name: string | null;
  readonly phone: string | null;
}

export interface PlanCalls {
  /** Product and price in one call, so that neither is ever left alone. */
  create(plan: KeyedWrite & PlanValues & { readonly id: string }): Promise<PlanFacts>;
  read(processorPriceId: string): Promise<PlanFacts | null>;
  /** First the price, which is what a subscription needs, then the product. */
  archive(
    plan: KeyedWrite & { readonly processorPriceId: string; readonly processorProductId: string },
  ): Promise<Attempt<PlanFacts>>;
  find(lookUp: LookUp): Promise<PlanFacts | null>;
  list(filter?: { readonly processorProductId?: string }): Pages<PlanFacts>;
}

export interface PlanValues {
  readonly name: string;
  readonly amount: number;
  readonly currency: string;
  readonly interval: PlanInterval;
}

/** The secret stands beside the facts: handed on, never stored. Null once nothing is left to confirm. */
export interface PaymentWithSecret {
  readonly payment: PaymentFacts;
  readonly clientSecret: string | null;
}

export interface PaymentCalls {
  create(payment: KeyedWrite & NewPayment): Promise<PaymentWithSecret>;
  read(processorPaymentIntentId: string): Promise<PaymentWithSecret | null>;
  cancel(order: KeyedWrite & { readonly processorPaymentIntentId: string }): Promise<Attempt<PaymentFacts>>;
  find(lookUp: LookUp & { readonly processorCustomerId: string }): Promise<PaymentWithSecret | null>;
  list(filter: { readonly processorCustomerId?: string }): Pages<PaymentFacts>;
}

export interface NewPayment {
  readonly id: string;
  readonly processorCustomerId: string;
  readonly amount: number;
  readonly currency: string;
}

export interface RefundCalls {
  create(refund: KeyedWrite & NewRefund): Promise<Attempt<RefundFacts>>;
  /** Null means surely not there. Other refunds of the payment that cannot be mapped do not matter. */
  find(lookUp: {
    readonly localId: string;
    readonly processorPaymentIntentId: string;
  }): Promise<RefundFacts | null>;
  read(processorRefundId: string): Promise<RefundFacts | null>;
  /** All refunds of a payment, ours and others'. Those that cannot be mapped are left out and logged. */
  listOfPayment(processorPaymentIntentId: string): Promise<readonly RefundFacts[]>;
  list(): Pages<RefundFacts>;
}

export interface NewRefund {
  readonly id: string;
  readonly processorPaymentIntentId: string;
  readonly amount: number;
  readonly reason: RefundReason | null;
}

/** The first invoice's secret; null where a trial or a free plan leaves nothing to confirm. */
export interface SubscriptionWithSecret {
  readonly subscription: SubscriptionFacts;
  readonly clientSecret: string | null;
}

export interface SubscriptionCalls {
  create(subscription: KeyedWrite & NewSubscription): Promise<SubscriptionWithSecret>;
  read(processorSubscriptionId: string): Promise<SubscriptionWithSecret | null>;
  /** At once. One that is canceled already is `missing` to the processor: reading it still works. */
  cancel(processorSubscriptionId: string): Promise<Attempt<SubscriptionFacts>>;
  find(lookUp: LookUp & { readonly processorCustomerId: string }): Promise<SubscriptionWithSecret | null>;
  list(filter: { readonly processorCustomerId?: string }): Pages<SubscriptionFacts>;
}

export interface NewSubscription {
  readonly id: string;
  readonly processorCustomerId: string;
  readonly processorPriceId: string;
  /** 0 is no trial. */
  readonly trialPeriodDays: number;
}

export interface InvoiceCalls {
  read(processorInvoiceId: string): Promise<InvoiceFacts | null>;
  list(filter: {
    readonly processorCustomerId?: string;
    readonly processorSubscriptionId?: string;
  }): Pages<InvoiceFacts>;
}

export interface EventCalls {
  /**
   * Events of these types made at or after `since`, in no order that means anything. The processor keeps 30 days. With the
   * cursor of an earlier page, a listing with the same values continues after that page.
   */
  listSince(since: Date, types: readonly string[], cursor?: string | null): AsyncIterable<EventPage>;
  /**
   * A deleted customer as its deletion event shows it, by either id: without personal data, but with our id, which a read
   * of a deleted customer lacks. Null if the processor does not remember the event any more (after 30 days).
   */
  findDeletedCustomer(wanted: {
    readonly processorCustomerId?: string;
    readonly localId?: string;
  }): Promise<CustomerFacts | null>;
}

export interface EventPage {
  readonly events: readonly ProcessorEvent[];
  /** Null on the last page. */
  readonly cursor: string | null;
}

/** An event as the inbox stores it: what is needed to queue it, and as much of its payload as may be kept. */
export interface ProcessorEvent {
  readonly id: string;
  readonly type: string;
  readonly createdAt: Date;
  readonly livemode: boolean;
  /** The shape of the payload; null if the processor does not say. */
  readonly apiVersion: string | null;
  /** Null for an object that has no id (a preview, a balance): nothing of ours. */
  readonly objectId: string | null;
  /** JSON without secrets, and without personal data that no mirror takes in. Text, because it is stored as it is. */
  readonly payload: string;
  /** What is kept once the person is to be forgotten, which reads as nothing; null if `payload` tells of nobody. */
  readonly erasedPayload: string | null;
}

/** `not_an_event`: the signature is right, and yet it is no event that Till could ever use. */
export type VerifiedWebhook =
  | { readonly outcome: 'event'; readonly event: ProcessorEvent }
  | { readonly outcome: 'bad_signature'; readonly reason: string }
  | { readonly outcome: 'not_an_event'; readonly reason: string };
