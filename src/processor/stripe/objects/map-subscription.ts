import type { AsOf } from '#core/model/facts.ts';
import type { SubscriptionFacts } from '#core/model/subscription.ts';
import { by, type SubscriptionItemFacts } from '#core/model/subscription-items.ts';
import type {
  Discount,
  PendingChangeFacts,
  PendingItemFacts,
  SubscriptionTermFacts,
} from '#core/model/subscription-terms.ts';
import { UnmappableError } from '../../port/event-facts.ts';
import { clientSecretOf } from '../wire/responses.ts';
import { fieldsOf, mainMarkOf, metadataOf } from '../wire/wire-metadata.ts';
import { ifReadable, redactText, WireObject } from '../wire/wire-object.ts';
import { obstacleOf } from './map-plan.ts';

/** Maps the processor's subscription statuses to Till's. */
export const subscriptionStatusWords = {
  incomplete: 'incomplete',
  incomplete_expired: 'incomplete_expired',
  trialing: 'trialing',
  active: 'active',
  past_due: 'past_due',
  unpaid: 'unpaid',
  // A trial that ended without a payment method. The spec has no status for it. Like `unpaid`, it gives no access.
  paused: 'unpaid',
  canceled: 'canceled',
} as const satisfies Record<string, SubscriptionFacts['status']>;

export function mapSubscription(value: unknown, asOf: AsOf): SubscriptionFacts {
  const subscription = WireObject.parse(value, 'subscription').expectKind('subscription');
  const status = subscription.translate('status', subscriptionStatusWords);
  const items = itemsOf(subscription);
  const pendingChange = pendingChangeOf(subscription, items);
  const usedDiscount = usedDiscountOf(subscription);
  return {
    processorSubscriptionId: subscription.text('id'),
    localId: subscription.localId(),
    processorCustomerId: subscription.referenceOrNull('customer'),
    items,
    ...(hasMoreItems(subscription) ? { hasMoreItems: true } : {}),
    mainMark: mainMarkOf(subscription),
    status,
    // Required while a trial runs, and only shown at other times.
    trialEnd:
      status === 'trialing' ? subscription.moment('trial_end') : subscription.optional('moment', 'trial_end'),
    cancelAtPeriodEnd: subscription.optional('flag', 'cancel_at_period_end') ?? false,
    cancelAt: subscription.optional('moment', 'cancel_at'),
    canceledAt: subscription.optional('moment', 'canceled_at'),
    endedAt: subscription.optional('moment', 'ended_at'),
    processorLatestInvoiceId: subscription.optional('reference', 'latest_invoice'),
    defaultPaymentMethodId: subscription.optional('reference', 'default_payment_method'),
    discount: discountOf(subscription),
    ...(usedDiscount === undefined ? {} : { usedDiscount }),
    ...(pendingChange === undefined ? {} : { pendingChange }),
    metadata: metadataOf(subscription),
    ...reasonOf(subscription),
    createdAt: subscription.createdAt(asOf.earliest),
    asOf,
  };
}

/** The comment of the person who canceled. API versions before 2023 do not show it. */
function reasonOf(subscription: WireObject): Pick<SubscriptionFacts, 'cancellationReason'> {
  if (!subscription.has('cancellation_details')) return {};
  const comment = subscription.optional('object', 'cancellation_details')?.optionalText('comment') ?? '';
  return { cancellationReason: comment === '' ? null : redactText(comment) };
}

/** Sorts before every other age. */
const unknownAge = new Date(0);

/** The items that the list shows, oldest first. An item of unknown age counts as the oldest. */
function itemsOf(subscription: WireObject): SubscriptionFacts['items'] {
  const [first, ...others] = subscription
    .list('items')
    .map((item) => itemFacts(subscription, item))
    .toSorted(by(({ processorItemId }) => processorItemId))
    .toSorted((a, b) => a.createdAt.getTime() - b.createdAt.getTime());
  if (first === undefined) throw new UnmappableError('subscription.items.data[0] is missing');
  return [first, ...others];
}

/** Whether a subscription shows only its first ten items. */
export function hasMoreItems(subscription: WireObject): boolean {
  return subscription.optional('object', 'items')?.optional('flag', 'has_more') === true;
}

/** Before 2025-03-31 the subscription had the period. Since then each item has its own. */
function itemFacts(subscription: WireObject, item: WireObject): SubscriptionItemFacts {
  const period = subscription.has('current_period_end') ? subscription : item;
  const price = item.optional('object', 'price');
  return {
    processorItemId: item.id(),
    processorPriceId: item.reference('price'),
    planLocalId: item.localIdOf('price'),
    ...(price === null ? {} : obstacleOf(price)),
    nickname: price?.optionalText('nickname') ?? null,
    quantity: quantityOf(item),
    createdAt: item.createdAt(unknownAge),
    currentPeriodStart: period.moment('current_period_start'),
    currentPeriodEnd: period.moment('current_period_end'),
  };
}

/**
 * The client secret of the latest invoice, from a subscription with `latest_invoice.confirmation_secret` expanded. Null
 * unless that invoice still waits for its payment. (For a trial or a free plan the invoice has an amount of 0 and is
 * already paid.) Responses always have the version that the adapter requests, so only the newer shape occurs here.
 */
export function clientSecretOfSubscription(value: unknown): string | null {
  const invoice = WireObject.parse(value, 'subscription').optional('object', 'latest_invoice');
  if (invoice?.optionalText('status') !== 'open') return null;
  return invoice.optional('object', 'confirmation_secret')?.optionalText('client_secret') ?? null;
}

/** The client secret to save a card in a trial, from a subscription with `pending_setup_intent` expanded. */
export function setupSecretOf(value: unknown): string | null {
  const subscription = WireObject.parse(value, 'subscription');
  const intent = subscription.optional('object', 'pending_setup_intent');
  if (intent === null || subscription.optionalText('status') !== 'trialing') return null;
  return ifReadable(() => clientSecretOf(intent));
}

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
function discountOf(subscription: WireObject): SubscriptionTermFacts['discount'] {
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
function usedDiscountOf(subscription: WireObject): SubscriptionTermFacts['usedDiscount'] {
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
function pendingChangeOf(
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
    return pendingItemsOf(items);
  });
}

function pendingItemsOf(items: readonly WireObject[]): PendingChangeFacts['items'] | null {
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
        items: pendingItemsOf(phase.objects('items')),
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
