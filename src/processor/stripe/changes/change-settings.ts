import {
  isSubscriptionChangeIgnored,
  type SubscriptionChange,
  type SubscriptionFacts,
} from '#core/model/subscription.ts';
import { type Attempt, notReached } from '../../port/attempt.ts';
import type { ChangeOrder, SubscriptionSettings } from '../../port/subscription-changes.ts';
import { updateSubscription } from '../objects/subscriptions.ts';
import type { AdapterContext } from '../wire/adapter-context.ts';
import { dropPendingChange } from './change-now.ts';
import { readChangeable } from './changeable-subscription.ts';
import { clearScheduledEnd, setScheduledMethod } from './planned-changes.ts';

type Order = ChangeOrder & { readonly change: SubscriptionSettings };

/**
 * While a subscription has a schedule, the processor refuses a change of its end. To end the subscription, the schedule
 * is released first. To let it continue, the end is removed from the schedule. The payment method is also set in the
 * schedule.
 */
export async function changeSettings(context: AdapterContext, order: Order): Promise<SubscriptionFacts> {
  const { found, change, idempotencyKey, isRepeated } = order;
  const isDropped =
    change.cancelAtPeriodEnd === true && (await dropPendingChange(context, found, idempotencyKey));
  const { facts, isReplayed } = await update(context, order);
  const isScheduled = await changeSchedule(context, order);
  // The response may be stale: the processor repeats it under a repeated processor key, or later calls changed the
  // subscription.
  const isCurrent = !isRepeated && !isReplayed && !isDropped && !isScheduled && facts.metadata !== null;
  if (isCurrent) return facts;
  return (await readChangeable(context, facts.processorSubscriptionId)).subscription;
}

interface Update {
  readonly values: SubscriptionChange;
  /**
   * The sent values depend on the state that was read. So a repeated request may send other values, which need another
   * processor key.
   */
  readonly keySuffix: `${'' | '-date' | '-rest'}${'' | '-reason'}`;
}

/**
 * A schedule decides when its subscription ends. Without one, clearing the date also clears an end that the flag has
 * set. A subscription that continues has no cancellation reason.
 */
function updateOf({
  change,
  found: { processorPlanningId, subscription },
}: Pick<Order, 'change' | 'found'>): Update {
  if (change.cancelAtPeriodEnd !== false) return { values: change, keySuffix: '' };
  const { cancelAtPeriodEnd, ...rest } = change;
  const hasReason = (subscription.cancellationReason ?? null) !== null;
  const others = { ...rest, ...(hasReason ? { cancellationReason: null } : {}) };
  const reason = hasReason ? '-reason' : '';
  if (processorPlanningId !== null) return { values: others, keySuffix: `-rest${reason}` };
  return subscription.cancelAt === null
    ? { values: { ...others, cancelAtPeriodEnd }, keySuffix: reason }
    : { values: { ...others, cancelAt: null }, keySuffix: `-date${reason}` };
}

async function update(
  context: AdapterContext,
  order: Order,
): Promise<{ readonly facts: SubscriptionFacts; readonly isReplayed: boolean }> {
  const { subscription } = order.found;
  const { values, keySuffix } = updateOf(order);
  if (Object.keys(values).length === 0) return { facts: subscription, isReplayed: false };
  const { processorSubscriptionId } = subscription;
  const idempotencyKey = `${order.idempotencyKey}${keySuffix}`;
  const attempt = await updateSubscription(context, { ...values, processorSubscriptionId, idempotencyKey });
  if (attempt.outcome !== 'done') throw notReached(attempt, 'subscription', 'unchanged');
  const isReplayed = attempt.isReplayed === true;
  if (!order.isRepeated && !isReplayed && isSubscriptionChangeIgnored(subscription, values, attempt.value))
    throw notReached(attempt, 'subscription', 'unchanged');
  return { facts: attempt.value, isReplayed };
}

/**
 * Without this, the schedule would set the old payment method or the old end again when its next phase begins. True if
 * the schedule was changed.
 */
async function changeSchedule(context: AdapterContext, order: Order): Promise<boolean> {
  const { processorPlanningId, subscription } = order.found;
  const { paymentMethodId, cancelAtPeriodEnd } = order.change;
  if (processorPlanningId === null) return false;
  const { processorSubscriptionId } = subscription;
  const idempotencyKey = `${order.idempotencyKey}-schedule`;
  let attempt: Attempt<null>;
  if (paymentMethodId !== undefined)
    attempt = await setScheduledMethod(context, processorSubscriptionId, paymentMethodId, idempotencyKey);
  else if (cancelAtPeriodEnd === false && subscription.cancelAt !== null)
    attempt = await clearScheduledEnd(context, processorPlanningId, idempotencyKey);
  else return false;
  if (attempt.outcome !== 'done') throw notReached(attempt, 'subscription', 'unchanged');
  return true;
}
