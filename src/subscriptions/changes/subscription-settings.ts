import type { OperationWrite } from '../../idempotency/operation.ts';
import { correct } from '../../mirrors/refresh.ts';
import { isPaymentMethodId, paymentMethodNotFound } from '../../model/payment-method.ts';
import {
  isSubscriptionChangeIgnored,
  type Subscription,
  type SubscriptionChange,
  type SubscriptionFacts,
} from '../../model/subscription.ts';
import { explainMethodRefusal } from '../../processor/explain-method-refusal.ts';
import type { Attempt } from '../../processor/port/attempt.ts';
import type { ChangeableSubscription } from '../../processor/port/subscription-change-calls.ts';
import { notReached } from '../../processor/refused-write.ts';
import type { SubscriptionParts } from '../subscription-creation.ts';
import { readChangeable, refuseChangeIn } from './change-terms.ts';
import { dropPendingChange } from './drop-pending-change.ts';
import type { MadeChange } from './subscription-change.ts';
import type { SettingsChange } from './subscription-patch.ts';

/**
 * Changes whether the subscription ends with its period, or the payment method that it charges, and metadata with them. A
 * subscription under a schedule refuses the former: to end it, the schedule ends first, and to let it go on, the schedule
 * loses its end. The payment method is set in the schedule too.
 */
export async function changeSettings(
  parts: SubscriptionParts,
  change: SettingsChange,
  found: ChangeableSubscription,
  subscription: Subscription,
  write: OperationWrite,
): Promise<MadeChange> {
  const { processor } = parts;
  const { paymentMethodId } = change;
  if (paymentMethodId !== undefined && !isPaymentMethodId(paymentMethodId)) throw paymentMethodNotFound();
  refuseChangeIn(found.subscription.status);
  const isDropped = change.cancelAtPeriodEnd === true && (await dropPendingChange(processor, found, write));
  const { facts, isReplayed } = await update(parts, updateOf(change, found), { subscription, found }, write);
  const isScheduled = await changeSchedule(parts, change, { subscription, found }, write);
  // The processor repeats an old response under a repeated key, and its other calls came after this response.
  const isCurrent = !write.isRepeated && !isReplayed && !isDropped && !isScheduled && facts.metadata !== null;
  const present = isCurrent ? facts : (await readChangeable(processor, subscription)).subscription;
  return { facts: present, subscription, clientSecret: null };
}

interface Update {
  readonly values: SubscriptionChange;
  /** What is sent depends on what was found, so a repeated request may send something else: under another key. */
  readonly keySuffix: '' | '-date' | '-rest';
}

/** A schedule decides when its subscription ends. Otherwise clearing the date clears the end, in whichever way it was set. */
function updateOf(
  { kind: _kind, ...values }: SettingsChange,
  { processorScheduleId, subscription: { cancelAt } }: ChangeableSubscription,
): Update {
  if (values.cancelAtPeriodEnd !== false) return { values, keySuffix: '' };
  const { cancelAtPeriodEnd: _goesOn, ...others } = values;
  if (processorScheduleId !== null) return { values: others, keySuffix: '-rest' };
  return cancelAt === null
    ? { values, keySuffix: '' }
    : { values: { ...others, cancelAt: null }, keySuffix: '-date' };
}

interface Changed {
  readonly subscription: Subscription;
  readonly found: ChangeableSubscription;
}

async function update(
  { processor, mirror }: SubscriptionParts,
  { values, keySuffix }: Update,
  { subscription, found }: Changed,
  write: OperationWrite,
): Promise<{ readonly facts: SubscriptionFacts; readonly isReplayed: boolean }> {
  if (Object.keys(values).length === 0) return { facts: found.subscription, isReplayed: false };
  const { processorSubscriptionId } = subscription;
  const idempotencyKey = `${write.idempotencyKey}${keySuffix}`;
  const attempt = await processor.subscriptions
    .update({ ...values, processorSubscriptionId, idempotencyKey })
    .catch(async (error: unknown) => {
      const { processorCustomerId } = found.subscription;
      throw await explainMethodRefusal(processor.paymentMethods, error, {
        id: values.paymentMethodId,
        processorCustomerId: processorCustomerId ?? '',
      });
    });
  if (attempt.outcome !== 'done') {
    await correct(mirror, processorSubscriptionId);
    throw notReached(attempt, 'subscription', 'unchanged');
  }
  const isReplayed = attempt.isReplayed === true;
  if (!write.isRepeated && !isReplayed && isSubscriptionChangeIgnored(subscription, values, attempt.value))
    throw notReached(attempt, 'subscription', 'unchanged');
  return { facts: attempt.value, isReplayed };
}

/**
 * A schedule would otherwise set the old payment method again when its next phase begins, or end the subscription. True if
 * it was changed.
 */
async function changeSchedule(
  { processor: { schedules }, mirror }: SubscriptionParts,
  { paymentMethodId, cancelAtPeriodEnd }: SettingsChange,
  { subscription: { processorSubscriptionId }, found }: Changed,
  write: OperationWrite,
): Promise<boolean> {
  const { processorScheduleId } = found;
  if (processorScheduleId === null) return false;
  const idempotencyKey = `${write.idempotencyKey}-schedule`;
  let attempt: Attempt<null>;
  if (paymentMethodId !== undefined)
    attempt = await schedules.setPaymentMethod({ processorSubscriptionId, paymentMethodId, idempotencyKey });
  else if (cancelAtPeriodEnd === false && found.subscription.cancelAt !== null)
    attempt = await schedules.clearEnd({ processorScheduleId, idempotencyKey });
  else return false;
  if (attempt.outcome === 'done') return true;
  await correct(mirror, processorSubscriptionId);
  throw notReached(attempt, 'subscription', 'unchanged');
}
