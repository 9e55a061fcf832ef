import type { ChargeFacts } from '#core/model/charge.ts';
import type { CheckoutNotice } from '#core/model/checkout.ts';
import type { CustomerFacts } from '#core/model/customer.ts';
import type { DisputeFacts, UnlinkedDisputeFacts } from '#core/model/dispute.ts';
import type { InvoiceFacts } from '#core/model/invoice.ts';
import type { InvoicePaymentFacts, PaymentFacts } from '#core/model/payment.ts';
import type { PriceFacts, ProductFacts } from '#core/model/plan.ts';
import type { RefundedPaymentFacts, RefundFacts } from '#core/model/refund.ts';
import type {
  ChangedSubscriptionFacts,
  DetachedMethodFacts,
  SubscriptionFacts,
} from '#core/model/subscription.ts';

/** The subjects of events, and the facts that events carry about them. */
export interface SubjectFacts {
  readonly customer: CustomerFacts;
  readonly product: ProductFacts;
  readonly price: PriceFacts;
  readonly payment: PaymentFacts;
  readonly charge: ChargeFacts;
  readonly invoicePayment: InvoicePaymentFacts;
  readonly dispute: DisputeFacts;
  readonly unlinkedDispute: UnlinkedDisputeFacts;
  readonly refund: RefundFacts;
  readonly refundedPayment: RefundedPaymentFacts;
  readonly subscription: SubscriptionFacts;
  readonly changedSubscription: ChangedSubscriptionFacts;
  readonly expiredChange: ChangedSubscriptionFacts;
  readonly voidedInvoice: ChangedSubscriptionFacts;
  readonly detachedMethod: DetachedMethodFacts;
  readonly invoice: InvoiceFacts;
  readonly checkout: CheckoutNotice;
}

export type Subject = keyof SubjectFacts;

/** The content of one event. */
export type EventFacts =
  | { [S in Subject]: { readonly subject: S; readonly facts: readonly SubjectFacts[S][] } }[Subject]
  | { readonly subject: 'none'; readonly reason: 'unknown_type' | 'object_without_id' | 'erased' };

/** The call that caused an event. */
export interface CausingWrite {
  /** Null if the call had none. Deletions have none. */
  readonly idempotencyKey: string | null;
  readonly objectId: string;
}

/** The facts of a stored event, and its cause. */
export type EventContent = EventFacts & {
  /** Null if no call of the processor's API caused it. */
  readonly write: CausingWrite | null;
};

/** The content of an event that concerns an object. */
export type ReadableContent = Exclude<EventContent, { subject: 'none' }>;

/**
 * The processor sent something that Till cannot express: an unknown status, or an object without a required field. A
 * retry does not help, and the row stays as it was.
 */
export class UnmappableError extends Error {
  override readonly name = 'UnmappableError';
}
