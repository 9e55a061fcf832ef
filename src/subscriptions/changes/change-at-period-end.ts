import { Failure, isDefiniteRefusal } from '../../errors.ts';
import type { OperationWrite } from '../../idempotency/operation.ts';
import { correct } from '../../mirrors/refresh.ts';
import { followedItem, type SubscriptionFacts } from '../../model/subscription.ts';
import type { Attempt } from '../../processor/port/processor.ts';
import type { ChangeableSubscription } from '../../processor/port/subscription-change-calls.ts';
import { keyUsedUp, notReached } from '../../processor/refused-write.ts';
import type { SubscriptionParts } from '../subscription-creation.ts';
import { type ChangePlans, readChangeable, type Target, targetOf } from './change-terms.ts';
import { dropPendingChange, dropPendingUpdate } from './drop-pending-change.ts';
import { refuseChange } from './refuse-change.ts';
import { concurrentChange } from './retry-overtaken.ts';
import type { MadeChange } from './subscription-change.ts';
import type { ChangeAtPeriodEnd } from './subscription-patch.ts';

/**
 * Plans a change for the end of the period, with a schedule of the processor. A subscription has one schedule at most: a
 * repeated request finds one that was created but not given its phases, and any new change uses the present one.
 */
export async function changeAtPeriodEnd(
  parts: SubscriptionParts,
  change: ChangeAtPeriodEnd,
  plans: ChangePlans,
  before: ChangeableSubscription,
  write: OperationWrite,
): Promise<MadeChange> {
  const { processor } = parts;
  const { subscription } = plans;
  await refuseChange(processor, before, change, targetOf(before, change, plans));
  await dropPendingUpdate(processor, before, write);
  // The change that waited for its payment may have been paid meanwhile, and so be made.
  const found = before.pendingUpdate === null ? before : await readChangeable(processor, subscription);
  const target = targetOf(found, change, plans);
  if (target.isPresent) await dropPendingChange(processor, found, write);
  else await planUnderSchedule(parts, target, { plans, found }, write);
  const { subscription: facts } = await readChangeable(processor, subscription);
  refuseOtherTime(facts);
  return { facts, subscription, clientSecret: null };
}

/** Fails if another request has started a period while the change was planned for the end of the one before. */
function refuseOtherTime(facts: SubscriptionFacts): void {
  const at = facts.pendingChange?.at?.getTime();
  const { currentPeriodEnd } = followedItem(facts, () => undefined);
  if (at !== undefined && at < currentPeriodEnd.getTime()) throw concurrentChange();
}

interface Planned {
  readonly plans: ChangePlans;
  readonly found: ChangeableSubscription;
}

async function planUnderSchedule(
  parts: SubscriptionParts,
  target: Target,
  { plans, found }: Planned,
  write: OperationWrite,
): Promise<void> {
  await ensureSchedule(parts, found, write);
  try {
    await plan(parts, target, plans, write);
  } catch (error) {
    if (!isRefusal(error)) throw error;
    const present = await readChangeable(parts.processor, plans.subscription);
    // Another request has released the schedule meanwhile.
    if (present.processorScheduleId === null) throw concurrentChange();
    // Without a change, a new schedule would only be in the way of others. A change outside Till may have planned one.
    if (found.processorScheduleId === null && present.subscription.pendingChange === null)
      await dropPendingChange(parts.processor, present, write);
    throw error;
  }
}

function isRefusal(error: unknown): boolean {
  return isDefiniteRefusal(error) || (error instanceof Failure && error.code === 'plan_archived');
}

async function ensureSchedule(
  parts: SubscriptionParts,
  { processorScheduleId, subscription: { processorSubscriptionId } }: ChangeableSubscription,
  { idempotencyKey, isRepeated }: OperationWrite,
): Promise<void> {
  if (processorScheduleId !== null) return;
  const { processor } = parts;
  const create = async (key: string) => {
    const order = { processorSubscriptionId, idempotencyKey: `${idempotencyKey}-${key}` };
    const attempt = await processor.schedules.create(order);
    // An earlier request that failed has created and released that schedule. Its key was free again.
    if (attempt.outcome === 'done' && attempt.isReplayed && !isRepeated) throw keyUsedUp();
    return attempt;
  };
  if ((await create('schedule')).outcome === 'done') return;
  // A change outside Till may have created one at the same time, and may even have released it.
  const present = await readChangeable(processor, { processorSubscriptionId });
  if (present.processorScheduleId !== null) return;
  const attempt = await create('schedule-again');
  if (attempt.outcome !== 'done') throw await refusal(parts, attempt, processorSubscriptionId);
}

async function plan(
  parts: SubscriptionParts,
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
  { mirror }: SubscriptionParts,
  attempt: Attempt<null>,
  processorSubscriptionId: string,
): Promise<Failure> {
  await correct(mirror, processorSubscriptionId);
  return notReached(attempt, 'subscription', 'unchanged');
}
