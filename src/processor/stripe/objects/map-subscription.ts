import type { AsOf } from '#core/model/facts.ts';
import type { SubscriptionFacts } from '#core/model/subscription.ts';
import { by, type SubscriptionItemFacts } from '#core/model/subscription-items.ts';
import { UnmappableError } from '../../port/event-facts.ts';
import { redactText } from '../events/redact-secrets.ts';
import { clientSecretOf } from '../wire/responses.ts';
import { mainMarkOf, metadataOf } from '../wire/wire-metadata.ts';
import { ifReadable, WireObject } from '../wire/wire-object.ts';
import { obstacleOf } from './map-plan.ts';
import { discountOf, pendingChangeOf, quantityOf, usedDiscountOf } from './map-subscription-terms.ts';

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
