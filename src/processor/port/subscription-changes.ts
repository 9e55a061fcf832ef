import type { PlanInterval } from '#core/model/plan.ts';
import type { SubscriptionChange, SubscriptionFacts } from '#core/model/subscription.ts';
import type { SubscriptionItemFacts } from '#core/model/subscription-items.ts';
import type { Attempt } from './attempt.ts';
import type { InvoiceLine } from './invoice-line.ts';
import type { Declined } from './invoice-payment.ts';
import type { KeyedWrite } from './request-mark.ts';

/**
 * The calls that change a subscription. A change may take several calls to the processor. Each step depends on the
 * state that the processor shows, so a repeated order continues where the first one stopped.
 */
export interface SubscriptionChangeCalls {
  /** Fails if the processor does not know the subscription. */
  read(processorSubscriptionId: string): Promise<ChangeableSubscription>;
  /**
   * Changes the items now in one call, and sets the marks together with the change. A change that is billed but not
   * paid at once waits for its payment, and the subscription stays as it is. A declined change is dropped.
   */
  changeNow(
    order: ChangeOrder & ItemsChange & { readonly changeMarks: readonly string[] },
  ): Promise<ChangeResult>;
  /** Settles the charge of the change that waits for its payment. */
  settleWaitingChange(order: ChangeOrder): Promise<ChangeResult>;
  /** The live subscriptions of a customer that have a planning object, which plans later periods. */
  listPlannings(processorCustomerId: string): Promise<readonly Planning[]>;
  /** Ends the planning of a subscription if it has nothing left to do. Returns the subscription after that. */
  endSpentPlanning(
    order: KeyedWrite & { readonly processorSubscriptionId: string },
  ): Promise<SubscriptionFacts>;
  /** Plans a change for the end of the period. It replaces any other planned change. */
  changeAtPeriodEnd(order: ChangeOrder & PlannedChange): Promise<SubscriptionFacts>;
  /**
   * Changes the end of the subscription or its payment method, and the metadata. Setting an end drops the pending
   * change.
   */
  changeSettings(order: ChangeOrder & { readonly change: SubscriptionSettings }): Promise<SubscriptionFacts>;
  /**
   * Drops the change that waits for its payment, and with `all` also planned changes. Returns the subscription after
   * that.
   */
  dropPendingChange(
    order: ChangeOrder & { readonly which: 'unpaid' | 'all' },
  ): Promise<ChangeableSubscription>;
  /**
   * Completes an abandoned change. A declined change is dropped. What its invoice has taken is restored: the unbilled
   * amounts of earlier changes, and discounts for one invoice.
   */
  settleAbandonedChange(
    order: KeyedWrite & { readonly processorSubscriptionId: string },
  ): Promise<ChangeableSubscription>;
  /**
   * Makes sure that the next invoice bills the unbilled amounts of earlier changes and has the discounts for one
   * invoice, even if the invoice of a dropped change has taken them. If the subscription has ended, even before its
   * first payment, the next invoice of the customer gets what does not belong to a subscription.
   */
  restoreUnbilled(subscription: Pick<SubscriptionFacts, 'processorSubscriptionId' | 'status'>): Promise<void>;
  /** Null if no invoice will follow, because the subscription ends first. */
  preview(change: PreviewedItemsChange | Resumption): Promise<Attempt<ChangePreview | null>>;
}

/** While a subscription has a planning, the processor's pages cannot cancel it. */
export interface Planning {
  readonly processorSubscriptionId: string;
  /** Everything that it planned has taken effect. */
  readonly isSpent: boolean;
}

/** A subscription with the processor's ids of its parts, which a change needs. */
export interface ChangeableSubscription {
  readonly subscription: SubscriptionFacts;
  /** The mirror stores `paused` as `unpaid`. */
  readonly isPaused: boolean;
  readonly currency: string;
  /** The items of the facts, with what they cost. */
  readonly items: readonly [ChangeableItem, ...ChangeableItem[]];
  /** The invoice of a change that waits for its payment. */
  readonly changeInvoiceId: string | null;
  /**
   * The void invoice of the latest change, if it has used up a discount that the subscription does not have again yet.
   */
  readonly unrestoredInvoiceId: string | null;
  /** The processor's id of the object that plans later periods. Null if there is none. */
  readonly processorPlanningId: string | null;
  /** Everything that it planned has taken effect. */
  readonly isPlanningSpent: boolean;
  /** The marks of its newest changes, newest first. */
  readonly changeMarks: readonly string[];
  /** The marks that it gets when the change that waits is paid. */
  readonly waitingMarks: readonly string[];
  /** A digest of everything that the steps of a change depend on. */
  readonly state: string;
}

export interface ChangeableItem extends SubscriptionItemFacts {
  /** The interval of the price, such as `1 month`. Equal intervals have equal texts. */
  readonly interval: string;
  /** Null if the price is not one whole amount. */
  readonly unitAmount: number | null;
}

/** A change of the subscription as it was read. The processor keys of its calls are derived from `idempotencyKey`. */
export interface ChangeOrder extends KeyedWrite {
  readonly found: ChangeableSubscription;
  /** An earlier call may have used the same `idempotencyKey`. */
  readonly isRepeated: boolean;
}

/** A new item, another price or quantity of an item, or the removal of an item. */
export type ItemChange =
  | { readonly processorItemId: null; readonly processorPriceId: string; readonly quantity: number }
  | { readonly processorItemId: string; readonly processorPriceId?: string; readonly quantity: number }
  | { readonly processorItemId: string; readonly isRemoved: true };

/** A change of the items. Those that it does not name stay as they are. */
export interface ItemsChange {
  readonly processorSubscriptionId: string;
  readonly items: readonly ItemChange[];
  /** The mark of the main plan: its item, or its price. */
  readonly mainMark?: string;
  readonly proration: 'nextInvoice' | 'invoice' | 'none';
  readonly prorationDate?: Date;
  /** A new period starts now, and is billed at once. */
  readonly startsPeriod: boolean;
}

/** The change would first drop what is pending: a change that waits for its payment, and planned ones. */
interface PreviewedItemsChange extends ItemsChange {
  readonly found: Pick<
    ChangeableSubscription,
    'changeInvoiceId' | 'unrestoredInvoiceId' | 'processorPlanningId'
  > & {
    readonly items: readonly Pick<ChangeableItem, 'processorItemId' | 'quantity'>[];
  };
}

export interface PlannedChange {
  readonly items: readonly ItemChange[];
  /** The item at the end of whose period the change takes effect. */
  readonly processorMainItemId: string;
  /** The mark of the main plan: its price. */
  readonly mainMark?: string;
  /** The interval of the main plan after the change. */
  readonly interval: PlanInterval;
  readonly intervalCount: number;
  /** Whether the change starts a new billing cycle. */
  readonly startsCycle: boolean;
}

/** `cancelAtPeriodEnd` or `paymentMethodId`, with metadata if that changes too. */
export type SubscriptionSettings = Omit<SubscriptionChange, 'cancelAt'>;

export interface ChangeResult {
  readonly facts: SubscriptionFacts;
  /**
   * The client secret with which the customer confirms the payment of the change. Null if there is nothing to confirm.
   */
  readonly clientSecret: string | null;
  /** The change was billed and declined, and the subscription stays as it was. */
  readonly declined: Declined | null;
}

/** The resumption of a paused subscription, whose new period is billed. */
interface Resumption {
  readonly processorSubscriptionId: string;
  readonly resumes: true;
}

/** The invoice that will contain a change. */
export interface ChangePreview {
  readonly amountDue: number;
  /** When the change would take effect. Null if the processor does not show it. */
  readonly prorationDate: Date | null;
  /** The processor's current time. */
  readonly now: Date;
  readonly lines: readonly PreviewLine[];
}

export type PreviewLine = Pick<
  InvoiceLine,
  'description' | 'amount' | 'periodStart' | 'periodEnd' | 'proration'
>;
