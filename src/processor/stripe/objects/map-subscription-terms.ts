import type {
  Discount,
  PendingChangeFacts,
  PendingItemFacts,
  SubscriptionTermFacts,
} from '#core/model/subscription-terms.ts';
import { fieldsOf, mainMarkOf } from '../wire/wire-metadata.ts';
import { ifReadable, WireObject } from '../wire/wire-object.ts';

const ownTerms = ['discounts.source.coupon', 'discounts.promotion_code', 'schedule'] as const;

/** The fields that a response must contain in full. Events contain only their ids. */
export const termExpansions = [
  ...ownTerms,
  'latest_invoice.discounts.source.coupon',
  'latest_invoice.discounts.promotion_code',
] as const;

/** The same fields in a list. The processor expands four levels, so the discounts of an invoice are only ids. */
export const termExpansionsInList = [...ownTerms, 'latest_invoice'].map((path) => `data.${path}`);

/** Null if usage decides what is billed. */
export function quantityOf(item: WireObject): number | null {
  return item.optional('amount', 'quantity');
}

/** The first discount of a subscription. Older API versions have one discount instead of a list. */
export function discountOf(subscription: WireObject): SubscriptionTermFacts['discount'] {
  if (!subscription.has('discounts')) {
    const id = subscription.optional('object', 'discount')?.optional('shortText', 'id') ?? null;
    return id === null ? null : { processorDiscountId: id };
  }
  return ifReadable(() => {
    const [first] = subscription.array('discounts');
    if (first === undefined || first === null) return null;
    if (typeof first === 'string')
      return { processorDiscountId: WireObject.parse({ id: first }, 'discount').id() };
    const [discount] = subscription.objects('discounts');
    return discount === undefined ? null : expandedDiscount(discount);
  });
}

/** Statuses of an invoice that may still be paid. */
const unpaid: readonly string[] = ['draft', 'open'];

/**
 * The discount for one invoice that the latest invoice has used. The processor removes such a discount from the
 * subscription when it creates the invoice. A subscription that is paid at its creation also shows the discount, until
 * Till has recorded the payment. Undefined if the invoice is not expanded.
 */
export function usedDiscountOf(subscription: WireObject): SubscriptionTermFacts['usedDiscount'] {
  if (subscription.has('latest_invoice') && typeof subscription.raw('latest_invoice') === 'string')
    return undefined;
  const invoice = subscription.optional('object', 'latest_invoice');
  if (invoice === null) return null;
  return ifReadable(() => {
    const status = invoice.text('status');
    const [first] = invoice.array('discounts');
    if (typeof first === 'string') return unpaid.includes(status) ? { processorDiscountId: first } : null;
    if (!unpaid.includes(status) && status !== 'paid') return null;
    const used = invoice.objects('discounts').find(isOnce);
    return used === undefined ? null : { ...expandedDiscount(used), usedBy: invoice.id() };
  });
}

export function isOnce(discount: WireObject): boolean {
  return (
    discount.optional('object', 'source')?.optional('object', 'coupon')?.optionalText('duration') === 'once'
  );
}

function expandedDiscount(discount: WireObject): Discount {
  const coupon = discount.object('source').object('coupon');
  const hasAmount = coupon.optional('amount', 'amount_off') !== null;
  return {
    processorDiscountId: discount.id(),
    code: codeOf(discount),
    percentOff: coupon.optional('number', 'percent_off'),
    amountOff: coupon.optional('amount', 'amount_off'),
    currency: hasAmount ? coupon.optional('currency', 'currency') : null,
    endsAt: discount.optional('moment', 'end')?.toISOString() ?? null,
    ...(isOnce(discount) ? { isOnce: true } : {}),
  };
}

/** The metadata key under which a coupon that restores a discount has the code that the customer entered. */
export const restoredCodeKey = 'till_code';

/** What the customer entered, even if the processor refused to redeem it again when Till restored the discount. */
export function codeOf(discount: WireObject): string | null {
  const code = discount.optional('object', 'promotion_code')?.optionalText('code') ?? null;
  const coupon = discount.optional('object', 'source')?.optional('object', 'coupon') ?? null;
  const restored = coupon === null ? null : fieldsOf(coupon)?.[restoredCodeKey];
  return code ?? (typeof restored === 'string' ? restored : null);
}

const ended: readonly string[] = ['canceled', 'incomplete_expired'];

/**
 * The change of plan or quantity that waits for the customer to authenticate, else the next one that a schedule plans.
 * Undefined if the subscription has a schedule that is not expanded.
 */
export function pendingChangeOf(
  subscription: WireObject,
  current: readonly [PendingItemFacts, ...PendingItemFacts[]],
): PendingChangeFacts | null | undefined {
  if (ended.includes(subscription.text('status'))) return null;
  const update = subscription.optional('object', 'pending_update');
  if (update !== null)
    return { items: pendingItems(update) ?? current, mainMark: mainMarkOf(update), at: null };
  const schedule = subscription.has('schedule') ? subscription.raw('schedule') : null;
  if (schedule === null) return null;
  return typeof schedule === 'string' ? undefined : scheduledChange(subscription, current);
}

/** Null if the update changes something else, such as the end of a trial. */
function pendingItems(update: WireObject): PendingChangeFacts['items'] | null {
  return ifReadable(() => {
    const items = update.objects('subscription_items').filter((item) => !item.isDeleted());
    return itemsOf(items);
  });
}

function itemsOf(items: readonly WireObject[]): PendingChangeFacts['items'] | null {
  const [first, ...others] = items.map((item) => ({
    processorItemId: item.optional('shortText', 'id'),
    processorPriceId: item.reference('price'),
    quantity: quantityOf(item),
  }));
  return first === undefined ? null : [first, ...others];
}

/** The first later phase of the schedule that has other plans or quantities, or another main plan. */
function scheduledChange(
  subscription: WireObject,
  current: readonly [PendingItemFacts, ...PendingItemFacts[]],
): PendingChangeFacts | null {
  return ifReadable(() => {
    const schedule = subscription.object('schedule');
    const now = schedule.object('current_phase').moment('end_date');
    const later = schedule
      .objects('phases')
      .map((phase) => ({
        at: phase.moment('start_date'),
        items: itemsOf(phase.objects('items')),
        mainMark: mainMarkOf(phase),
      }))
      .filter(({ at }) => at >= now)
      .toSorted((a, b) => a.at.getTime() - b.at.getTime());
    const mark = mainMarkOf(subscription);
    for (const { items, ...change } of later) {
      const movesMain = change.mainMark !== null && change.mainMark !== mark;
      if (items !== null && (movesMain || !isSame(items, current))) return { items, ...change };
    }
    return null;
  });
}

function isSame(a: readonly PendingItemFacts[], b: readonly PendingItemFacts[]): boolean {
  const textOf = (items: readonly PendingItemFacts[]) =>
    items
      .map(({ processorPriceId, quantity }) => `${processorPriceId} ${quantity}`)
      .toSorted()
      .join();
  return textOf(a) === textOf(b);
}
