import type { InvoiceFacts } from '#core/model/invoice.ts';
import type { SubscriptionFacts } from '#core/model/subscription.ts';
import type { KeyedWrite } from './request-mark.ts';

/** A charge that was attempted and failed. */
export interface Declined {
  readonly outcome: 'declined';
  /** The customer must authenticate the payment. */
  readonly mustAuthenticate: boolean;
  readonly declineCode: string | null;
  /** A text for people. */
  readonly message: string;
}

interface Paid {
  readonly outcome: 'paid';
  /** Null if the response is stale, or does not show the whole invoice. */
  readonly invoice: InvoiceFacts | null;
}

/** The processor keys of a payment are derived from `idempotencyKey` and the invoice. */
export interface NewInvoicePayment extends KeyedWrite {
  readonly processorInvoiceId: string;
  /** The processor's id. If absent, the default payment method. */
  readonly paymentMethodId?: string;
}

export interface InvoicePaymentCalls {
  /**
   * Makes a draft payable, unless another request or the processor itself already has. The processor does not charge it
   * by itself, neither now nor later.
   */
  finalize(order: KeyedWrite & { readonly processorInvoiceId: string }): Promise<void>;
  /**
   * Voids an unpaid invoice, so that the customer can no longer pay it. The processor decides if it is paid meanwhile.
   */
  void(order: KeyedWrite & { readonly processorInvoiceId: string }): Promise<'void' | 'paid'>;
  /**
   * Charges the payment method at once, without the customer. A draft is finalized first, and stays open if the charge
   * is declined. `processing`: some payment methods take days.
   */
  pay(order: NewInvoicePayment & { readonly isDraft: boolean }): Promise<Paid | 'processing' | Declined>;
  /**
   * The outcome of an earlier payment with this processor key, for an invoice that has been paid since. Null if there
   * was none. Charges nothing: the processor repeats its response to the earlier call, or refuses the call if there was
   * none.
   */
  findPayment(order: NewInvoicePayment): Promise<'paid' | Declined | null>;
  /** The outcome of the last attempt to pay an open invoice. Null if there was none. */
  findLastAttempt(processorInvoiceId: string): Promise<Declined | 'processing' | null>;
  /** The client secret with which the customer pays an open invoice. Null if there is nothing to confirm. */
  readClientSecret(processorInvoiceId: string): Promise<string | null>;
}

/** The values of a subscription's invoice that a payment depends on. */
export interface SubscriptionInvoice {
  readonly processorInvoiceId: string;
  /** The processor's status, an open set. */
  readonly status: string | null;
  /** A person created it by hand, so it does not decide the status of the subscription. */
  readonly isOneOff: boolean;
  /** The start of the first period that it bills. Null if it does not show a period. */
  readonly billsFrom: Date | null;
  /** Null if it is not paid, or does not show the time. */
  readonly paidAt: Date | null;
  /** Null if the response does not show the whole invoice. */
  readonly facts: InvoiceFacts | null;
}

export interface SubscriptionToPay {
  readonly subscription: SubscriptionFacts;
  /** The mirror stores `paused` as `unpaid`. */
  readonly isPaused: boolean;
  /** The payment method that it charges. Null if it charges the customer's default. */
  readonly paymentMethodId: string | null;
  /** The invoice of a change that waits for its payment. */
  readonly changeInvoiceId: string | null;
  /** The client secret with which the customer saves a payment method. Null if there is nothing to confirm. */
  readonly setupClientSecret: string | null;
  /** Newest first, without very old ones. */
  readonly invoices: readonly SubscriptionInvoice[];
}
