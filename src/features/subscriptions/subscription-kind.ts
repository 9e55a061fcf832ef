import type { Entitlement, EntitlementTerms } from '#core/model/entitlement.ts';
import type { Subscription } from '#core/model/subscription.ts';
import type { DescribedEvent } from '#engine/events/event.ts';
import { type ObjectKind, objectKind } from '#engine/events/outbox/object-kind.ts';
import { erasedMetadata } from '#engine/events/outbox/personal-data.ts';
import { type SubscriptionView, subscriptionView } from './subscription-fields.ts';

export const subscriptionEvents = {
  objectType: 'subscription',
  shownBy: 'GET /subscriptions/{id}',
  meanings: {
    'subscription.created':
      'A subscription was created. If it entitles its customer already, `subscription.entitled` follows.',
    'subscription.updated':
      'A subscription changed in another way, such as its plan, its period or a planned change.',
    'subscription.entitled':
      'A subscription starts to entitle its customer. This also follows the creation of one that entitles from the start.',
    'subscription.unentitled':
      'A subscription no longer entitles its customer, for example because its grace period ended.',
    'subscription.canceled': 'A subscription ended.',
  },
} as const;

/** What the API shows in place of the personal data of a subscription. */
export const erasedSubscription = { ...erasedMetadata, cancellationReason: null };

type SubscriptionEventType = keyof typeof subscriptionEvents.meanings;

/** Decides whether a subscription entitles its customer now. */
interface EntitlementJudge {
  judge(terms: EntitlementTerms): Entitlement;
}

export function subscriptionKind(entitlements: EntitlementJudge): ObjectKind {
  return objectKind({
    events: subscriptionEvents,
    table: 'subscriptions',
    show: (row: Subscription, before) => {
      const { entitled, reason, until } = entitlements.judge(row);
      const wasEntitled = mayBeInGrace(row) ? before?.isInGrace : undefined;
      return {
        id: row.id,
        customerId: row.customerId,
        view: subscriptionView(row, wasEntitled ?? entitled),
        erased: row.metadata === null ? Object.keys(erasedSubscription) : [],
        graceEndsAt: reason === 'grace' ? until : null,
        ids: [row.id, row.processorSubscriptionId, row.customerId],
      };
    },
    mayBeInGrace,
    typeOf: subscriptionEventType,
    afterCreation: subscriptionBeginning,
  });
}

function mayBeInGrace({ status }: Subscription): boolean {
  return status === 'past_due';
}

/** A canceled subscription does not entitle its customer, so `canceled` comes before `unentitled`. */
export function subscriptionEventType(
  before: SubscriptionView,
  after: SubscriptionView,
): SubscriptionEventType {
  if (before.status !== 'canceled' && after.status === 'canceled') return 'subscription.canceled';
  if (!before.entitled && after.entitled) return 'subscription.entitled';
  if (before.entitled && !after.entitled) return 'subscription.unentitled';
  return 'subscription.updated';
}

/**
 * The event that follows the creation of a subscription that is entitled from the start, for example by a trial, a
 * saved card or an import. So an application that provisions on `subscription.entitled` gets it for every subscription.
 */
export function subscriptionBeginning({
  entitled,
}: SubscriptionView): DescribedEvent<SubscriptionEventType> | undefined {
  return entitled ? { type: 'subscription.entitled', previous: { entitled: false } } : undefined;
}
