/** Returns the id of the Till plan with this price, if there is one. */
export type PlanIdOf = (processorPriceId: string) => string | undefined;

/** A reduction of the price, as the row stores it. Either `percentOff` or `amountOff` is set. */
export interface Discount {
  readonly processorDiscountId: string;
  /** What the customer entered. Null if the discount came without a promotion code. */
  readonly code: string | null;
  readonly percentOff: number | null;
  readonly amountOff: number | null;
  /** Of `amountOff`. */
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

/** Another plan or quantity that the subscription will get, as the row stores it. */
export interface PendingChange {
  /** Null if the price is not a Till plan. */
  readonly planId: string | null;
  readonly quantity: number;
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

/** The price of an item after a change. */
export interface PendingItemFacts {
  readonly processorPriceId: string;
  readonly quantity: number;
}

export interface PendingChangeFacts {
  /** Oldest first, like the items of the subscription. */
  readonly items: readonly [PendingItemFacts, ...PendingItemFacts[]];
  readonly at: Date | null;
}

/**
 * The terms that a row gets from facts. Terms that the facts do not contain stay as they are, and the row becomes
 * incomplete.
 */
export function termsOf(
  row: Pick<SubscriptionTerms, 'discount' | 'pendingChange'>,
  facts: SubscriptionTermFacts,
  planIdOf: PlanIdOf,
): SubscriptionTerms {
  const { pendingChange } = facts;
  const known =
    facts.discount === null ? usedDiscount(row.discount, facts) : knownDiscount(row.discount, facts.discount);
  return {
    discount: known === undefined ? row.discount : known,
    pendingChange: pendingChange === undefined ? row.pendingChange : toPendingChange(pendingChange, planIdOf),
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

function toPendingChange(change: PendingChangeFacts | null, planIdOf: PlanIdOf): PendingChange | null {
  if (change === null) return null;
  const { items, at } = change;
  const item = items.find(({ processorPriceId }) => planIdOf(processorPriceId) !== undefined) ?? items[0];
  return {
    planId: planIdOf(item.processorPriceId) ?? null,
    quantity: item.quantity,
    at: at?.toISOString() ?? null,
  };
}
