import type { InvoiceFacts } from '../invoices/invoice.ts';
import type { SubscriptionFacts } from '../subscriptions/subscription.ts';

/** A charge that was tried, and did not succeed. */
export interface Declined {
  readonly outcome: 'declined';
  /** The customer must authenticate the payment. */
  readonly mustAuthenticate: boolean;
  readonly declineCode: string | null;
  /** For people. */
  readonly message: string;
}

/** An invoice that the processor has tried to pay. It may still be open: some payment methods take days. */
export interface Tried {
  readonly outcome: 'done';
  readonly isPaid: boolean;
  /** Null if the response does not show the whole invoice. */
  readonly invoice: InvoiceFacts | null;
}

export interface NewInvoicePayment {
  readonly processorInvoiceId: string;
  /** The processor's id. The default one if absent. */
  readonly paymentMethodId?: string;
  readonly idempotencyKey: string;
}

export interface InvoicePaymentCalls {
  /** Charges the payment method at once, without the customer. */
  pay(order: NewInvoicePayment): Promise<Tried | Declined>;
  /** What became of the last try to pay an open invoice. Null if there was none. */
  findLastTry(processorInvoiceId: string): Promise<Declined | 'processing' | null>;
}

export interface SubscriptionToPay {
  readonly subscription: SubscriptionFacts;
  /** The mirror stores `paused` as `unpaid`. */
  readonly isPaused: boolean;
  /** The payment method that it charges. Null if it charges the customer's default. */
  readonly paymentMethodId: string | null;
  /** The processor's ids of the open invoices, newest first, without that of a pending change. */
  readonly openInvoiceIds: readonly string[];
}
