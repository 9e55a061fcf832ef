import type { SubscriptionFacts } from '../processor-facts.ts';
import { newest, WireObject } from './wire-object.ts';

/** The processor's statuses of a subscription, and what Till calls them. */
const statuses = {
  incomplete: 'incomplete',
  incomplete_expired: 'incomplete_expired',
  trialing: 'trialing',
  active: 'active',
  past_due: 'past_due',
  unpaid: 'unpaid',
  // A trial that ended with no way to pay. The spec has no word for it; what matters is that nobody is entitled.
  paused: 'unpaid',
  canceled: 'canceled',
} as const satisfies Record<string, SubscriptionFacts['status']>;

export function mapSubscription(value: unknown, eventTime?: Date): SubscriptionFacts {
  const subscription = WireObject.parse(value, 'subscription').expectKind('subscription');
  const createdAt = subscription.moment('created');
  const item = firstItem(subscription);
  // Before 2025-03-31 the period was the subscription's own; since then it is its items'.
  const period = subscription.has('current_period_end') ? subscription : item;
  const currentPeriodStart = period.moment('current_period_start');
  return {
    processorSubscriptionId: subscription.text('id'),
    localId: subscription.localId(),
    processorCustomerId: subscription.reference('customer'),
    processorPriceId: item.reference('price'),
    planLocalId: item.localIdOf('price'),
    status: subscription.translate('status', statuses),
    currentPeriodStart,
    currentPeriodEnd: period.moment('current_period_end'),
    trialEnd: subscription.momentOrNull('trial_end'),
    createdAt,
    asOf:
      eventTime ??
      newest(
        createdAt,
        currentPeriodStart,
        subscription.optionalMoment('canceled_at'),
        subscription.optionalMoment('ended_at'),
      ),
  };
}

/** Till's subscriptions have one item; of somebody else's the first one speaks. */
function firstItem(subscription: WireObject): WireObject {
  const [item] = subscription.list('items');
  return item ?? WireObject.parse(undefined, 'subscription.items.data[0]');
}

/**
 * The secret of the latest invoice, from a subscription whose `latest_invoice.confirmation_secret` was expanded; null
 * unless that invoice still waits for its payment. (For a trial or a free plan it is a paid one, over nothing.)
 * Answers always come in the version that the adapter asks for, so only the newer shape is met here.
 */
export function clientSecretOfSubscription(value: unknown): string | null {
  const invoice = WireObject.parse(value, 'subscription').objectOrNull('latest_invoice');
  if (invoice?.text('status') !== 'open') return null;
  return invoice.objectOrNull('confirmation_secret')?.text('client_secret') ?? null;
}
