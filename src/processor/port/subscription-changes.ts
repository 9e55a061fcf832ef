import type { PlanInterval } from '../../model/plan.ts';
import type { SubscriptionChange, SubscriptionFacts } from '../../model/subscription.ts';
import type { Attempt } from './attempt.ts';
import type { Declined } from './invoice-payment.ts';

/**
 * The calls that change what a subscription has. A change may take several calls to the processor. Each step depends on
 * what the processor shows, so that an order that is repeated goes on where the first one stopped.
 */
export interface SubscriptionChangeCalls {
  /** Fails if the processor does not know the subscription. */
  read(processorSubscriptionId: string): Promise<ChangeableSubscription>;
  /**
   * Changes an item now, and gives the subscription the marks with the change. A change that is billed and not paid at once
   * waits for its payment, and the subscription stays as it is. A change that is declined is dropped.
   */
  changeNow(
    order: ChangeOrder & ItemChange & { readonly changeMarks: readonly string[] },
  ): Promise<ChangeResult>;
  /** What became of the charge of the change that waits for its payment. */
  settleWaitingChange(order: ChangeOrder): Promise<ChangeResult>;
  /** Plans a change for the end of the period, instead of any other. */
  changeAtPeriodEnd(order: ChangeOrder & PlannedChange): Promise<SubscriptionFacts>;
  /** Changes the end of the subscription or its payment method, and metadata with them. An end drops the pending change. */
  changeSettings(order: ChangeOrder & { readonly change: SubscriptionSettings }): Promise<SubscriptionFacts>;
  /** Drops the change that waits for its payment, and with `all` also what is planned. The subscription after that. */
  dropPendingChange(
    order: ChangeOrder & { readonly which: 'unpaid' | 'all' },
  ): Promise<ChangeableSubscription>;
  /** Completes what an abandoned change has begun: drops it if it was declined, and restores what it would have billed. */
  settleAbandonedChange(order: {
    readonly processorSubscriptionId: string;
    readonly idempotencyKey: string;
  }): Promise<ChangeableSubscription>;
  /** What earlier changes left to bill is billed with the next invoice, even if a dropped change was to bill it. */
  restoreUnbilled(processorSubscriptionId: string): Promise<void>;
  /** Null if there will be no such invoice, because the subscription ends before. */
  preview(change: ItemChange | Resumption): Promise<Attempt<ChangePreview | null>>;
}

/** A subscription as a change needs it: with the processor's own ids of its parts. */
export interface ChangeableSubscription {
  readonly subscription: SubscriptionFacts;
  /** The mirror stores `paused` as `unpaid`. */
  readonly isPaused: boolean;
  readonly currency: string;
  /** In the order of the items of the facts. */
  readonly items: readonly [ChangeableItem, ...ChangeableItem[]];
  /** The invoice of a change that waits for its payment. */
  readonly changeInvoiceId: string | null;
  /** The processor's id of what plans later periods. Null if nothing does. */
  readonly processorPlanningId: string | null;
  /** The marks of its newest changes, the newest first. */
  readonly changeMarks: readonly string[];
  /** The marks that it gets when the change that waits is paid. */
  readonly waitingMarks: readonly string[];
  /** Another text if anything is different on which the steps of a change depend. */
  readonly state: string;
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

/** A change of the subscription as it was read. The calls of the order have keys that follow from its key. */
export interface ChangeOrder {
  readonly found: ChangeableSubscription;
  readonly idempotencyKey: string;
  /** An earlier call may have used the key. */
  readonly isRepeated: boolean;
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

export interface PlannedChange {
  /** The price of the item to change. */
  readonly presentPriceId: string;
  readonly processorPriceId: string;
  readonly quantity: number;
  /** Of the new price. */
  readonly interval: PlanInterval;
  readonly intervalCount: number;
  /** Whether the change starts a new billing cycle. */
  readonly startsCycle: boolean;
}

/** One of both settings, with metadata if that changes too. */
export type SubscriptionSettings = Omit<SubscriptionChange, 'cancelAt'>;

export interface ChangeResult {
  readonly facts: SubscriptionFacts;
  /** With it the customer confirms the payment of the change. Null if there is nothing to confirm. */
  readonly clientSecret: string | null;
  /** The change was billed and declined, and the subscription stays as it was. */
  readonly declined: Declined | null;
}

/** The resumption of a paused subscription, whose new period is billed. */
export interface Resumption {
  readonly processorSubscriptionId: string;
  readonly resumes: true;
}

/** The invoice that will contain a change. */
export interface ChangePreview {
  readonly amountDue: number;
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
