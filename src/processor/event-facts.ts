import type { CustomerFacts } from '../customers/customer.ts';
import type { InvoiceFacts } from '../invoices/invoice.ts';
import type { PaymentFacts } from '../payments/payment.ts';
import type { RefundFacts } from '../payments/refund.ts';
import type { PriceFacts, ProductFacts } from '../plans/plan.ts';
import type { SubscriptionFacts } from '../subscriptions/subscription.ts';

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
