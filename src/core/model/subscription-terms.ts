import { addOnsOf, isMarked, type PlanOf, type PlanQuantity } from './subscription-items.ts';

/** A reduction of the price, as the row stores it. Either `percentOff` or `amountOff` is set. */
export interface Discount {
  readonly processorDiscountId: string;
  /** What the customer entered. Null if the discount came without a promotion code. */
  readonly code: string | null;
  readonly percentOff: number | null;
  readonly amountOff: number | null;
  /** The currency of `amountOff`. */
  readonly currency: string | null;
  /** ISO 8601. Null if it does not end. */
  readonly endsAt: string | null;
  /** The discount is for one invoice. */
  readonly isOnce?: true;
  /**
   * The processor's id of the invoice that has used it. The processor removes the discount from the subscription then.
   */
  readonly usedBy?: string;
}

/** Other plans or quantities that the subscription will get, as the row stores them. */
export interface PendingChange {
  /** Null if the price is not a Till plan. */
  readonly planId: string | null;
  readonly quantity: number;
  /** After the change. */
  readonly addOns: readonly PlanQuantity[];
  /** ISO 8601. Null if the change waits for the customer to authenticate. */
  readonly at: string | null;
}

/** The parts of a row that events do not contain in full. */
export interface SubscriptionTerms {
  readonly discount: Discount | null;
  readonly pendingChange: PendingChange | null;
  /** The row took an event without these parts, and has not been refreshed since. */
  readonly isIncomplete: boolean;
}

export interface SubscriptionTermFacts {
  /** The first discount. An event contains only its id. */
  readonly discount: Discount | Pick<Discount, 'processorDiscountId'> | null;
  /**
   * A discount for one invoice that the latest invoice has used. Undefined if it is unknown: an event contains only the
   * id of the invoice.
   */
  readonly usedDiscount?: SubscriptionTermFacts['discount'];
  readonly processorLatestInvoiceId: string | null;
  /** Undefined if it is unknown: an event contains only the id of the schedule that plans the change. */
  readonly pendingChange?: PendingChangeFacts | null;
}

/** An item after a change. */
export interface PendingItemFacts {
  /** Null if the item is new, or if a schedule plans the change, which does not show the ids of items. */
  readonly processorItemId: string | null;
  readonly processorPriceId: string;
  /** Null if usage decides what is billed. */
  readonly quantity: number | null;
}

export interface PendingChangeFacts {
  readonly items: readonly [PendingItemFacts, ...PendingItemFacts[]];
  /** The mark of the main plan after the change. Null if the change sets none. */
  readonly mainMark: string | null;
  readonly at: Date | null;
}

/**
 * The terms that a row gets from facts. Terms that the facts do not contain stay as they are, and the row becomes
 * incomplete.
 */
export function termsOf(
  row: Pick<SubscriptionTerms, 'discount' | 'pendingChange'>,
  facts: SubscriptionTermFacts,
  main: PendingItemFacts,
  planOf: PlanOf,
): SubscriptionTerms {
  const { pendingChange } = facts;
  const known =
    facts.discount === null ? usedDiscount(row.discount, facts) : knownDiscount(row.discount, facts.discount);
  return {
    discount: known === undefined ? row.discount : known,
    pendingChange:
      pendingChange === undefined ? row.pendingChange : toPendingChange(pendingChange, main, planOf),
    isIncomplete: known === undefined || pendingChange === undefined,
  };
}

export const noTerms = { discount: null, pendingChange: null };

/** A discount never changes, so its id is enough to recognise it. Undefined if only its id is known. */
function knownDiscount(
  current: Discount | null,
  discount: SubscriptionTermFacts['discount'],
): Discount | null | undefined {
  if (discount === null || 'code' in discount) return discount;
  return current?.processorDiscountId === discount.processorDiscountId ? current : undefined;
}

/**
 * The used discount of a subscription that no longer has one. It is shown until the invoice that has used it is paid.
 * The row of the invoice decides that, because it may be written first. Undefined if the latest invoice must be read.
 */
function usedDiscount(
  current: Discount | null,
  { usedDiscount: used, processorLatestInvoiceId }: SubscriptionTermFacts,
): Discount | null | undefined {
  if (used !== undefined) return knownDiscount(current, used);
  if (current?.usedBy !== undefined) return current.usedBy === processorLatestInvoiceId ? current : null;
  return current?.isOnce === true ? undefined : null;
}

function toPendingChange(
  change: PendingChangeFacts | null,
  current: PendingItemFacts,
  planOf: PlanOf,
): PendingChange | null {
  if (change === null) return null;
  const { items, at } = change;
  const main = pendingMain(change, current, planOf);
  return {
    planId: main === undefined ? null : (planOf(main.processorPriceId)?.id ?? null),
    quantity: (main ?? items[0]).quantity ?? 1,
    addOns: addOnsOf(items, main, planOf),
    at: at?.toISOString() ?? null,
  };
}

/** The main plan after a change: like `mainItem`, but a schedule does not show the ids of items or their age. */
function pendingMain(
  { items, mainMark }: PendingChangeFacts,
  current: PendingItemFacts,
  planOf: PlanOf,
): PendingItemFacts | undefined {
  const ofTill = items.filter(({ processorPriceId }) => planOf(processorPriceId) !== undefined);
  return (
    ofTill.find((item) => isMarked(item, mainMark)) ??
    ofTill.find(
      ({ processorItemId }) => processorItemId !== null && processorItemId === current.processorItemId,
    ) ??
    ofTill.find(({ processorPriceId }) => processorPriceId === current.processorPriceId) ??
    ofTill.find(({ processorPriceId }) => planOf(processorPriceId)?.addOn === false) ??
    ofTill[0]
  );
}
