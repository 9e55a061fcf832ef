import type { OperationWrite } from '../idempotency/operation.ts';
import { correct } from '../mirrors/refresh.ts';
import { explainMethodRefusal } from '../payment-methods/explain-method-refusal.ts';
import { isPaymentMethodId, paymentMethodNotFound } from '../payment-methods/payment-method.ts';
import { notReached } from '../processor/refused-write.ts';
import type { ChangeableSubscription } from '../processor/subscription-change-calls.ts';
import { readChangeable, refuseChangeIn } from './change-terms.ts';
import { dropPendingChange } from './drop-pending-change.ts';
import {
  isSubscriptionChangeIgnored,
  type Subscription,
  type SubscriptionChange,
  type SubscriptionFacts,
} from './subscription.ts';
import type { MadeChange } from './subscription-change.ts';
import type { SubscriptionParts } from './subscription-creation.ts';
import type { SettingsChange } from './subscription-patch.ts';

/**
 * Changes whether the subscription ends with its period, or the payment method that it charges, and metadata with them. A
 * subscription under a schedule refuses the former, so the schedule ends first; the latter is set in the schedule too.
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
  const facts = await update(parts, valuesOf(change, found), { subscription, found }, write);
  const isScheduled = paymentMethodId !== undefined && found.processorScheduleId !== null;
  if (isScheduled) await setInSchedule(parts, subscription, paymentMethodId, write);
  // The processor repeats an old response under a repeated key, and its other calls came after this response.
  const isCurrent = !write.isRepeated && !isDropped && !isScheduled && facts.metadata !== null;
  const present = isCurrent ? facts : (await readChangeable(processor, subscription)).subscription;
  return { facts: present, subscription, clientSecret: null };
}

/** A schedule lets its subscription go on, and refuses to be told so. */
function valuesOf(
  { kind: _kind, ...values }: SettingsChange,
  { processorScheduleId }: ChangeableSubscription,
): SubscriptionChange {
  if (values.cancelAtPeriodEnd !== false || processorScheduleId === null) return values;
  const { cancelAtPeriodEnd: _goesOn, ...others } = values;
  return others;
}

interface Changed {
  readonly subscription: Subscription;
  readonly found: ChangeableSubscription;
}

async function update(
  { processor, mirror }: SubscriptionParts,
  values: SubscriptionChange,
  { subscription, found }: Changed,
  { idempotencyKey, isRepeated }: OperationWrite,
): Promise<SubscriptionFacts> {
  if (Object.keys(values).length === 0) return found.subscription;
  const { processorSubscriptionId } = subscription;
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
  if (!isRepeated && isSubscriptionChangeIgnored(subscription, values, attempt.value))
    throw notReached(attempt, 'subscription', 'unchanged');
  return attempt.value;
}

/** A schedule would otherwise set the old payment method again when its next phase begins. */
async function setInSchedule(
  { processor, mirror }: SubscriptionParts,
  { processorSubscriptionId }: Subscription,
  paymentMethodId: string,
  { idempotencyKey }: OperationWrite,
): Promise<void> {
  const attempt = await processor.schedules.setPaymentMethod({
    processorSubscriptionId,
    paymentMethodId,
    idempotencyKey: `${idempotencyKey}-schedule`,
  });
  if (attempt.outcome === 'done') return;
  await correct(mirror, processorSubscriptionId);
  throw notReached(attempt, 'subscription', 'unchanged');
}
