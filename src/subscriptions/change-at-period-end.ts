import { Failure } from '../errors.ts';
import type { OperationWrite } from '../idempotency/operation.ts';
import { correct } from '../mirrors/refresh.ts';
import type { Attempt } from '../processor/processor.ts';
import { notReached } from '../processor/refused-write.ts';
import type { ChangeableSubscription } from '../processor/subscription-change-calls.ts';
import { type ChangePlans, readChangeable, type Target, targetOf } from './change-terms.ts';
import { dropPendingChange, dropPendingUpdate } from './drop-pending-change.ts';
import { followedItem, type SubscriptionFacts } from './subscription.ts';
import type { ChangeParts, MadeChange } from './subscription-change.ts';
import type { ChangeAtPeriodEnd } from './subscription-patch.ts';

/**
 * Plans a change for the end of the period, with a schedule of the processor. A subscription has one schedule at most: a
 * repeated request finds one that was created but not given its phases, and any new change uses the present one.
 */
export async function changeAtPeriodEnd(
  parts: ChangeParts,
  change: ChangeAtPeriodEnd,
  plans: ChangePlans,
  write: OperationWrite,
): Promise<MadeChange> {
  const { processor } = parts;
  const { subscription } = plans;
  const found = await readChangeable(processor, subscription);
  const target = targetOf(found, change, plans);
  refuseIfEnding(found.subscription);
  if (target.isPresent) await dropPendingChange(processor, found, write);
  else {
    await dropPendingUpdate(processor, found, write);
    await ensureSchedule(parts, found, write);
    await plan(parts, target, plans, write);
  }
  const { subscription: facts } = await readChangeable(processor, subscription);
  return { facts, subscription, clientSecret: null };
}

/** Fails if no period follows in which the change could apply. */
export function refuseIfEnding(facts: SubscriptionFacts): void {
  const { currentPeriodEnd } = followedItem(facts, () => undefined);
  if (!facts.cancelAtPeriodEnd && (facts.cancelAt === null || facts.cancelAt > currentPeriodEnd)) return;
  throw new Failure(
    'subscription_ending',
    'The subscription ends with the current period. Set cancelAtPeriodEnd to false before you plan a change.',
  );
}

async function ensureSchedule(
  parts: ChangeParts,
  { processorScheduleId, subscription: { processorSubscriptionId } }: ChangeableSubscription,
  { idempotencyKey }: OperationWrite,
): Promise<void> {
  if (processorScheduleId !== null) return;
  const { processor } = parts;
  const attempt = await processor.schedules.create({
    processorSubscriptionId,
    idempotencyKey: `${idempotencyKey}-schedule`,
  });
  if (attempt.outcome === 'done') return;
  // Another request may have created one at the same time.
  const present = await readChangeable(processor, { processorSubscriptionId });
  if (present.processorScheduleId === null) throw await refusal(parts, attempt, processorSubscriptionId);
}

async function plan(
  parts: ChangeParts,
  { item, processorPriceId, quantity, isOtherInterval }: Target,
  { subscription: { processorSubscriptionId }, present, wanted }: ChangePlans,
  { idempotencyKey }: OperationWrite,
): Promise<void> {
  const { processor, plans } = parts;
  const { id, interval, intervalCount } = wanted ?? present;
  const attempt = await processor.schedules
    .planChange({
      processorSubscriptionId,
      presentPriceId: item.processorPriceId,
      ...{ processorPriceId, quantity, interval, intervalCount },
      startsCycle: isOtherInterval,
      idempotencyKey: `${idempotencyKey}-phases`,
    })
    .catch(async (error: unknown) => {
      throw await plans.explainRefusal(error, id);
    });
  if (attempt.outcome !== 'done') throw await refusal(parts, attempt, processorSubscriptionId);
}

async function refusal(
  { mirror }: ChangeParts,
  attempt: Attempt<null>,
  processorSubscriptionId: string,
): Promise<Failure> {
  await correct(mirror, processorSubscriptionId);
  return notReached(attempt, 'subscription', 'unchanged');
}
