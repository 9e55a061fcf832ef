import type { CustomerChange, CustomerFacts } from '#core/model/customer.ts';
import type { DisputeFacts } from '#core/model/dispute.ts';
import type { InvoiceFacts } from '#core/model/invoice.ts';
import type { Metadata } from '#core/model/metadata.ts';
import type { PaymentChange, PaymentFacts } from '#core/model/payment.ts';
import type { AttachablePaymentMethod, CardSetup, PaymentMethodUse } from '#core/model/payment-method.ts';
import type { ChangedPlanFacts, PlanChange, PlanFacts, PlanInterval } from '#core/model/plan.ts';
import type { PlanFeatures } from '#core/model/plan-features.ts';
import type { RefundFacts, RefundReason } from '#core/model/refund.ts';
import type { SubscriptionChange, SubscriptionFacts } from '#core/model/subscription.ts';
import type { Cause } from '#core/platform/cause.ts';
import type { Attempt } from './attempt.ts';
import type { CheckoutCalls } from './checkout-calls.ts';
import type { EventCalls, ProcessorEvent, VerifiedWebhook } from './event-calls.ts';
import type { CausingWrite, EventContent } from './event-facts.ts';
import type { InvoiceLinePage } from './invoice-line.ts';
import type { InvoicePaymentCalls, SubscriptionToPay } from './invoice-payment.ts';
import type { ListingStart, Pages } from './pages.ts';
import type { PortalCalls } from './portal-calls.ts';
import type { Creation, CustomerLookUp, KeyedWrite, LookUp, Marked, RequestMark } from './request-mark.ts';
import type { SubscriptionChangeCalls } from './subscription-changes.ts';
import type { WebhookEndpointCalls } from './webhook-endpoint-calls.ts';

/**
 * Everything that Till needs from a payment processor. Every call ends within the deadline of 10 seconds, in one of
 * three ways: with its result; with an `Attempt` that explains why the object's state forbids the call; or with a
 * `Failure` (`processor_*`, `overloaded`) whose `effect` says whether the call may have taken effect. Lookups, listings
 * and archiving are several calls, each with its own deadline.
 */
export interface Processor {
  /** The mode of the secret key. Objects and events of the other mode are ignored. */
  readonly livemode: boolean;
  /** The mode as people see it. It also distinguishes a sandbox. */
  readonly mode: 'sandbox' | 'test' | 'live';
  /** The types of events that change a mirror. Any other event is stored, acknowledged and counted as ignored. */
  readonly eventTypes: ReadonlySet<string>;
  /** The dashboard in which people see the processor's objects. A sandbox has none. */
  readonly dashboardUrl: string | null;
  readonly customers: CustomerCalls;
  readonly plans: PlanCalls;
  readonly payments: PaymentCalls;
  readonly refunds: RefundCalls;
  readonly disputes: DisputeCalls;
  readonly subscriptions: SubscriptionCalls;
  readonly checkouts: CheckoutCalls;
  readonly promotionCodes: PromotionCodeCalls;
  readonly subscriptionChanges: SubscriptionChangeCalls;
  readonly invoices: InvoiceCalls;
  readonly paymentMethods: PaymentMethodCalls;
  readonly portal: PortalCalls;
  readonly events: EventCalls;
  readonly webhookEndpoints: WebhookEndpointCalls;
  /** The id of the account of the secret key. Null if it is a restricted key that may not read it. */
  readAccount(): Promise<string | null>;
  /** The time by the processor's clock, to the second. Null if the response has none. */
  readTime(): Promise<Date | null>;
  /** Whether the bytes are an event that the processor signed. Pure, apart from the secrets. */
  verifyWebhook(body: Uint8Array, signature: string | undefined, now: Date): VerifiedWebhook;
  /** The content of a stored event. Throws `UnmappableError` if no retry can help. */
  readEvent(payload: string): EventContent;
  /**
   * The API request whose call caused an event about one of these objects. Undefined unless this process sent the call
   * recently.
   */
  causeOf(write: CausingWrite, ids: readonly string[]): Cause | undefined;
  /** A stored payload as it would be stored now. */
  redact(payload: string): Pick<ProcessorEvent, 'payload' | 'erasedPayload'>;
  /**
   * Whether Till knows the shape of payloads of this API version. Other payloads are read too, with a warning, because
   * a field may have moved.
   */
  understands(apiVersion: string | null): boolean;
  /** Closes all connections; calls in progress fail. */
  close(): void;
}

/** Runs before every call to the processor. Throws while calls are not allowed, or waits until they are. */
export type BeforeCall = () => void | Promise<void>;

export type { Attempt, Refused } from './attempt.ts';

export interface CustomerCalls {
  create(customer: Creation & CustomerValues): Promise<CustomerFacts>;
  /** `deleted`: the processor has deleted the customer. Null: it never knew the customer. */
  read(processorCustomerId: string): Promise<CustomerFacts | 'deleted' | null>;
  update(
    change: KeyedWrite & CustomerChange & { readonly processorCustomerId: string },
  ): Promise<Attempt<CustomerFacts>>;
  /**
   * Cancels its subscriptions too. A customer that is already deleted is `missing`: the wire API has no idempotency key
   * for deletions.
   */
  delete(processorCustomerId: string): Promise<Attempt<'deleted'>>;
  find(lookUp: LookUp): Promise<Marked<CustomerFacts> | null>;
  /** Without deleted customers. `since`: only those created at or after this time. */
  list(filter?: ListingStart & { readonly since?: Date }): Pages<CustomerFacts>;
}

export interface CustomerValues {
  readonly email: string;
  readonly name: string | null;
  readonly phone: string | null;
  readonly externalId?: string;
  readonly metadata?: Metadata;
}

export interface PlanCalls {
  /** Creates product and price in one call, so that neither exists alone. */
  create(plan: Creation & PlanValues): Promise<PlanFacts>;
  read(processorPriceId: string): Promise<PlanFacts | null>;
  /**
   * Archives the price first, because a subscription needs the price. Then archives the product, unless it is to be
   * kept.
   */
  archive(
    plan: KeyedWrite & {
      readonly processorPriceId: string;
      readonly processorProductId: string;
      readonly keepsProduct?: boolean;
    },
  ): Promise<Attempt<PlanFacts>>;
  /**
   * Changes the product, then the price if `addOn` or `repeatable` is given. Of a price, only these can change.
   * Repeating both changes has no further effect.
   */
  update(
    change: KeyedWrite &
      PlanChange & { readonly processorProductId: string; readonly processorPriceId: string },
  ): Promise<Attempt<ChangedPlanFacts>>;
  find(lookUp: LookUp): Promise<Marked<PlanFacts> | null>;
  list(filter?: ListingStart & { readonly processorProductId?: string }): Pages<PlanFacts>;
}

export interface PlanValues {
  readonly name: string;
  readonly amount: number;
  readonly currency: string;
  readonly interval: PlanInterval;
  /** 1 if absent. */
  readonly intervalCount?: number;
  readonly features?: PlanFeatures;
  readonly group?: string;
  readonly addOn?: boolean;
  /** False if absent. */
  readonly repeatable?: boolean;
  readonly metadata?: Metadata;
}

/**
 * The client secret is separate from the facts, because it is passed on and never stored. Null if nothing is left to
 * confirm.
 */
export interface PaymentWithSecret {
  readonly payment: PaymentFacts;
  readonly clientSecret: string | null;
}

export interface PaymentCalls {
  /** A declined off-session charge is not a failure: the payment exists, and contains the reason. */
  create(payment: Creation & NewPayment): Promise<PaymentWithSecret>;
  read(processorPaymentIntentId: string): Promise<PaymentWithSecret | null>;
  /** Possible in every state of the payment. */
  update(
    change: KeyedWrite & PaymentChange & { readonly processorPaymentIntentId: string },
  ): Promise<Attempt<PaymentFacts>>;
  cancel(order: KeyedWrite & { readonly processorPaymentIntentId: string }): Promise<Attempt<PaymentFacts>>;
  /**
   * Captures an authorised payment. The payment carries the mark of the capture, which shows whether it took effect.
   */
  capture(order: KeyedWrite & NewCapture): Promise<Attempt<PaymentFacts>>;
  /** The payment, if a capture with this mark took effect. */
  findCapture(lookUp: Omit<NewCapture, 'amount'>): Promise<Marked<PaymentFacts> | null>;
  find(lookUp: CustomerLookUp): Promise<Marked<PaymentWithSecret> | null>;
  list(filter: ListingStart & { readonly processorCustomerId?: string }): Pages<PaymentFacts>;
}

export interface NewPayment {
  readonly processorCustomerId: string;
  readonly amount: number;
  readonly currency: string;
  readonly description?: string;
  readonly captureMethod?: 'manual';
  /** The processor's id. */
  readonly paymentMethodId?: string;
  /** Charges the payment method at once, without the customer. */
  readonly offSession?: true;
  /** Saves the payment method for later payments without the customer. */
  readonly savePaymentMethod?: true;
  readonly metadata?: Metadata;
}

interface NewCapture {
  readonly mark: RequestMark;
  readonly processorPaymentIntentId: string;
  /** Null for the whole authorised amount. */
  readonly amount: number | null;
}

export interface RefundCalls {
  create(refund: Creation & NewRefund): Promise<Attempt<RefundFacts>>;
  /**
   * Null means that the refund does not exist. If other refunds of the payment cannot be mapped, that has no effect.
   */
  find(lookUp: LookUp & { readonly processorPaymentIntentId: string }): Promise<Marked<RefundFacts> | null>;
  read(processorRefundId: string): Promise<RefundFacts | null>;
  /**
   * All refunds of a payment, whether Till created them or not. Those that cannot be mapped are left out and logged.
   */
  listOfPayment(processorPaymentIntentId: string): Promise<readonly RefundFacts[]>;
  list(place?: ListingStart): Pages<RefundFacts>;
}

interface NewRefund {
  readonly processorPaymentIntentId: string;
  readonly amount: number;
  readonly reason: RefundReason | null;
}

/** Disputes of charges that belong to no payment intent are left out. */
export interface DisputeCalls {
  read(processorDisputeId: string): Promise<DisputeFacts | null>;
  /** Disputes that cannot be mapped are left out and logged. */
  listOfPayment(processorPaymentIntentId: string): Promise<readonly DisputeFacts[]>;
  list(place?: ListingStart): Pages<DisputeFacts>;
}

export interface SubscriptionWithSecrets {
  readonly subscription: SubscriptionFacts;
  /** The client secret of the first invoice. Null if a trial or a free plan leaves nothing to confirm. */
  readonly clientSecret: string | null;
  /** The client secret with which the customer saves a payment method. Null unless a trial runs without one. */
  readonly setupClientSecret: string | null;
}

export interface SubscriptionCalls {
  /** A declined first charge is not a failure: the subscription exists, and is incomplete. */
  create(subscription: Creation & NewSubscription): Promise<SubscriptionWithSecrets>;
  read(processorSubscriptionId: string): Promise<SubscriptionWithSecrets | null>;
  /**
   * Reads the subscription with everything that determines what is left to pay. Null if the processor does not know it.
   */
  readToPay(processorSubscriptionId: string): Promise<SubscriptionToPay | null>;
  /**
   * Resumes a paused subscription. `now`: a new period begins, and its invoice must be paid. `unchanged`: the current
   * period continues, and nothing is billed for it.
   */
  resume(
    order: KeyedWrite & { readonly processorSubscriptionId: string; readonly period: 'now' | 'unchanged' },
  ): Promise<Attempt<null>>;
  /** Metadata can be changed in every state of the subscription. */
  update(
    change: KeyedWrite & SubscriptionChange & { readonly processorSubscriptionId: string },
  ): Promise<Attempt<SubscriptionFacts>>;
  /**
   * Takes effect at once. A subscription that is already canceled is `missing` to the processor, but can still be read.
   * `reason`: replaces the one that the subscription has.
   */
  cancel(processorSubscriptionId: string, reason?: string): Promise<Attempt<SubscriptionFacts>>;
  find(lookUp: CustomerLookUp): Promise<Marked<SubscriptionWithSecrets> | null>;
  /** `isOpen`: leaves out canceled subscriptions. */
  list(
    filter: ListingStart & {
      readonly processorCustomerId?: string;
      readonly createdSince?: Date;
      readonly isOpen?: true;
    },
  ): Pages<SubscriptionFacts>;
}

export interface NewSubscription {
  readonly processorCustomerId: string;
  readonly processorPriceId: string;
  /** 1 if absent. */
  readonly quantity?: number;
  readonly addOns?: readonly { readonly processorPriceId: string; readonly quantity: number }[];
  /** 0: no trial. */
  readonly trialPeriodDays: number;
  /** The processor's id of a payment method of the customer. It is charged at once, on session. */
  readonly paymentMethodId?: string;
  /** The processor's id. */
  readonly processorPromotionCodeId?: string;
  /** What happens to a trial that ends without a payment method. If absent, it is billed. */
  readonly trialEndWithoutCard?: 'pause' | 'cancel';
  readonly metadata?: Metadata;
}

export interface PromotionCodeCalls {
  /**
   * The processor's id of the active promotion code that a customer entered. Upper and lower case are the same. A code
   * that is restricted to this customer comes before one for all customers. Null if there is neither.
   */
  find(entered: { readonly code: string; readonly processorCustomerId: string }): Promise<string | null>;
}

/** A payment intent, and the invoice that it pays or attempts to pay. */
export interface PaymentOfInvoice {
  readonly processorInvoiceId: string;
  readonly payment: PaymentFacts;
}

export interface InvoiceCalls extends InvoicePaymentCalls {
  read(processorInvoiceId: string): Promise<InvoiceFacts | null>;
  /** The id of the invoice that a payment intent pays or attempts to pay. Null if there is none. */
  findOfPayment(processorPaymentIntentId: string): Promise<string | null>;
  list(
    filter: ListingStart & {
      readonly processorCustomerId?: string;
      readonly processorSubscriptionId?: string;
    },
  ): Pages<InvoiceFacts>;
  /** The payment intents that pay or attempt to pay invoices. Other ways to pay are left out. */
  listPayments(place?: ListingStart): Pages<PaymentOfInvoice>;
  /** One page of what an invoice bills. Null if the processor does not know the invoice, or the line to start after. */
  listLines(
    page: ListingStart & { readonly processorInvoiceId: string; readonly limit: number },
  ): Promise<InvoiceLinePage | null>;
}

export interface PaymentMethodCalls {
  /** Prepares to save a payment method, which the frontend then confirms. Nothing is charged. */
  setUp(setup: Creation & { readonly processorCustomerId: string }): Promise<CardSetup>;
  findSetup(lookUp: CustomerLookUp): Promise<Marked<CardSetup> | null>;
  /** The payment methods of the customer, newest first. Those that cannot be mapped are left out and logged. */
  list(processorCustomerId: string): Promise<readonly AttachablePaymentMethod[]>;
  /** Reads a payment method of any customer, or of none. */
  read(paymentMethodId: string): Promise<AttachablePaymentMethod | null>;
  /** The customer's default. `unknown`: the customer is deleted, or the processor never knew it. */
  readDefault(processorCustomerId: string): Promise<{ readonly paymentMethodId: string | null } | 'unknown'>;
  /** The payment methods of all subscriptions of the customer, including ended ones. */
  listUses(processorCustomerId: string): Promise<readonly PaymentMethodUse[]>;
  setDefault(
    order: KeyedWrite & { readonly processorCustomerId: string; readonly paymentMethodId: string },
  ): Promise<Attempt<null>>;
  /**
   * `isPlanned`: also sets it for everything that is planned for the subscription. The value is the subscription after
   * the change. Null: the response does not show it as it is now, so it must be read.
   */
  setDefaultOfSubscription(
    order: KeyedWrite & {
      readonly processorSubscriptionId: string;
      readonly paymentMethodId: string;
      readonly isPlanned?: boolean;
    },
  ): Promise<Attempt<SubscriptionFacts | null>>;
  /** The payment method can never be used again. One that is not attached is `wrong_state`. */
  detach(order: KeyedWrite & { readonly paymentMethodId: string }): Promise<Attempt<null>>;
}
