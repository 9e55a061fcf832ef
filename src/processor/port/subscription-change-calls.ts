import type { SubscriptionFacts } from '../../model/subscription.ts';
import type { PendingItemFacts } from '../../model/subscription-terms.ts';
import type { Attempt } from './attempt.ts';

/** A subscription as a change needs it: with the processor's own ids of its parts. */
export interface ChangeableSubscription {
  readonly subscription: SubscriptionFacts;
  /** The mirror stores `paused` as `unpaid`. */
  readonly isPaused: boolean;
  readonly currency: string;
  /** In the order of the items of the facts. */
  readonly items: readonly [ChangeableItem, ...ChangeableItem[]];
  /** The schedule that plans its later phases. Null if there is none. */
  readonly processorScheduleId: string | null;
  /** The change that was billed and waits for its payment. */
  readonly pendingUpdate: PendingUpdate | null;
  /** The marks of its newest changes, the newest first. */
  readonly changeMarks: readonly string[];
}

export interface ChangeableItem {
  readonly processorItemId: string;
  readonly processorPriceId: string;
  readonly quantity: number;
  /** Of its price, such as `1 month`. Two prices that bill as often have equal texts. */
  readonly interval: string;
  /** Null if the price is not one whole amount. */
  readonly unitAmount: number | null;
}

export interface PendingUpdate {
  /** Paying this invoice makes the change, voiding it drops the change. Null if the processor does not say. */
  readonly processorInvoiceId: string | null;
  /** Empty if the update changes something else. */
  readonly items: readonly PendingItemFacts[];
  /** The marks that the subscription gets when the change is made. */
  readonly changeMarks: readonly string[];
}

/** A change of an item. */
export interface ItemChange {
  readonly processorSubscriptionId: string;
  readonly processorItemId: string;
  readonly processorPriceId?: string;
  readonly quantity?: number;
  readonly proration: 'nextInvoice' | 'invoice' | 'none';
  readonly prorationDate?: Date;
  /** A new period starts now, and is billed at once. */
  readonly startsPeriod: boolean;
}

/** The resumption of a paused subscription, whose new period is billed. */
export interface Resumption {
  readonly processorSubscriptionId: string;
  readonly resumes: true;
}

/** What became of the charge of an invoice. */
export interface InvoiceCharge {
  readonly status: 'draft' | 'open' | 'paid' | 'uncollectible' | 'void';
  /** By the processor's clock. The earliest time there is, if the processor does not say. */
  readonly createdAt: Date;
  /** Why the last try to pay it failed. Null if it did not, or if the customer only needs to authenticate. */
  readonly decline: ChargeDecline | null;
  /** Null once nothing is left to confirm. */
  readonly clientSecret: string | null;
}

export interface ChargeDecline {
  /** In the processor's words, for people. */
  readonly message: string;
  readonly declineCode: string | null;
}

/** The invoice that will contain a change. */
export interface ChangePreview {
  readonly amountDue: number;
  readonly currency: string;
  /** When the change would be made. Null if the processor does not say. */
  readonly prorationDate: Date | null;
  /** The processor's present time. */
  readonly now: Date;
  readonly lines: readonly PreviewLine[];
}

export interface PreviewLine {
  readonly description: string | null;
  readonly amount: number;
  readonly periodStart: Date;
  readonly periodEnd: Date;
  /** The line credits or charges a part of a period. */
  readonly proration: boolean;
}

/** The calls that change the plan or the quantity of a subscription. */
export interface SubscriptionChangeCalls {
  read(processorSubscriptionId: string): Promise<ChangeableSubscription | null>;
  /**
   * Changes an item now. A change that is billed and not paid at once waits as a pending update, and the subscription
   * stays as it is. The subscription gets the marks with the change.
   */
  change(
    change: ItemChange & { readonly idempotencyKey: string; readonly changeMarks: readonly string[] },
  ): Promise<Attempt<ChangeableSubscription>>;
  readCharge(processorInvoiceId: string): Promise<InvoiceCharge | null>;
  /** An invoice that is neither open nor uncollectible is `wrong_state`. */
  voidInvoice(order: {
    readonly processorInvoiceId: string;
    readonly idempotencyKey: string;
  }): Promise<Attempt<null>>;
  /** The ids of the invoices of changes that were voided, the newest first. Old ones are left out. */
  listVoidedChanges(processorSubscriptionId: string): Promise<readonly string[]>;
  /** Null if there will be no such invoice, because the subscription ends before. */
  preview(change: ItemChange | Resumption): Promise<Attempt<ChangePreview | null>>;
}
