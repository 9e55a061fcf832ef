import { Failure, isRefusedChange } from '#core/errors.ts';
import { isPaymentMethodId, paymentMethodNotFound } from '#core/model/payment-method.ts';
import {
  isSubscriptionChangeIgnored,
  type Subscription,
  type SubscriptionFacts,
} from '#core/model/subscription.ts';
import { followedItem } from '#core/model/subscription-items.ts';
import { idTime } from '#core/platform/id.ts';
import { lostClaimAgeMs, type RecordedFailure } from '#engine/idempotency/claim.ts';
import { keyReused } from '#engine/idempotency/claim-failures.ts';
import type { OperationWrite } from '#engine/idempotency/operation.ts';
import { applyResponse, correct } from '#engine/mirrors/refresh.ts';
import { explainMethodRefusal } from '#processor/explain-method-refusal.ts';
import { concurrentChange, notReached, objectMissing } from '#processor/port/attempt.ts';
import type { ChangeableSubscription, ChangeResult } from '#processor/port/subscription-changes.ts';
import { declineFailure } from '../paying/pay-invoice.ts';
import type { SubscriptionContext } from '../subscription-creation.ts';
import {
  type ChangePlans,
  type ChangeTarget,
  itemsChange,
  planIdsOf,
  readTarget,
  refuseChangeIn,
} from './change-terms.ts';
import { refuseChange, refuseTooManyItems } from './preview-change.ts';
import type {
  ChangeAtPeriodEnd,
  ChangeNow,
  MetadataPatch,
  SettingsChange,
  TermsChange,
} from './subscription-patch.ts';

/** The effect of a change. */
export interface ChangeEffect {
  /** The processor's subscription after the change. */
  readonly facts: SubscriptionFacts;
  /** The row before the request. */
  readonly subscription: Subscription;
  readonly clientSecret: string | null;
  /** The change was billed and declined. */
  readonly failure?: RecordedFailure;
}

/** A change with the row before it, and what it depends on. */
export type PreparedChange = { readonly subscription: Subscription } & (
  | TermsOrSettings
  | { readonly kind: 'metadata'; readonly change: MetadataPatch }
);

type TermsOrSettings =
  | { readonly kind: 'terms'; readonly change: TermsChange; readonly plans: ChangePlans }
  | { readonly kind: 'settings'; readonly change: SettingsChange };

/** One attempt for the request itself, and one more for each of two concurrent changes. */
const attemptsMax = 3;

/**
 * Makes the requested change. An earlier request may have died between two of its calls, after it dropped a pending
 * change. If the processor refuses the change because the subscription was changed outside Till meanwhile, the change
 * starts again from the current state. A refusal has no effect, so the next attempt has new processor keys. It also
 * corrects the row.
 */
export async function makeChange(
  context: SubscriptionContext,
  prepared: PreparedChange,
  write: OperationWrite,
): Promise<ChangeEffect> {
  const { subscription } = prepared;
  if (prepared.kind === 'metadata') return changeMetadata(context, prepared.change, subscription, write);
  const { database, mirror } = context;
  const { subscriptionChanges } = context.processor;
  if (write.isRepeated) await subscriptionChanges.restoreUnbilled(subscription);
  for (let attempts = 1; ; attempts += 1) {
    const found = await subscriptionChanges.read(subscription.processorSubscriptionId);
    const idempotencyKey = attempts === 1 ? write.idempotencyKey : `${write.idempotencyKey}-try${attempts}`;
    try {
      return await changeOnce(context, subscription, prepared, found, { ...write, idempotencyKey });
    } catch (error) {
      if (!(error instanceof Failure && error.code === 'concurrent_change')) {
        if (!isRefusedChange(error)) throw error;
        const current = await subscriptionChanges.read(subscription.processorSubscriptionId);
        await applyResponse(database, mirror, current.subscription, subscription);
        if (current.state === found.state) throw error;
      }
      if (attempts === attemptsMax) throw concurrentChange();
    }
  }
}

function changeOnce(
  context: SubscriptionContext,
  subscription: Subscription,
  prepared: TermsOrSettings,
  found: ChangeableSubscription,
  write: OperationWrite,
): Promise<ChangeEffect> {
  if (prepared.kind === 'settings')
    return changeSettings(context, prepared.change, found, subscription, write);
  const { change, plans } = prepared;
  if (change.kind === 'now') return changeNow(context, change, plans, found, write);
  return changeAtPeriodEnd(context, change, plans, found, write);
}

/**
 * Changes plans or quantities now, unless an earlier call of the same request already has, even one whose claim is
 * lost.
 */
async function changeNow(
  context: SubscriptionContext,
  change: ChangeNow,
  plans: ChangePlans,
  found: ChangeableSubscription,
  write: OperationWrite,
): Promise<ChangeEffect> {
  const { processor, plans: planService } = context;
  const { subscriptionChanges } = processor;
  const { subscription } = plans;
  const { idempotencyKey, isRepeated } = write;
  const order = { found, idempotencyKey, isRepeated };
  if (hasChangeMark(found.waitingMarks, write))
    return effectOf(subscription, await subscriptionChanges.settleWaitingChange(order));
  if (hasChangeMark(found.changeMarks, write)) return unbilled(subscription, found);
  const intended = await readTarget(context, found, change, plans);
  await refuseChange(processor, found, change, intended);
  // If the processor would refuse a change, the change must not drop the pending one.
  const isInTime = isWithinPeriod(intended, change);
  if (isInTime) await refuseTooManyItems(context, found, change, intended, subscription);
  const current = isInTime ? await subscriptionChanges.dropPendingChange({ ...order, which: 'all' }) : found;
  const target = current === found ? intended : await readTarget(context, current, change, plans);
  if (target.isUnchanged) return unbilled(subscription, current);
  const changeMarks = withChangeMark(current.changeMarks, write);
  const result = await subscriptionChanges
    .changeNow({ ...order, ...itemsChange(change, target, subscription), found: current, changeMarks })
    .catch(async (error: unknown) => {
      throw await planService.explainRefusal(error, planIdsOf(change));
    });
  return effectOf(subscription, result);
}

/** Plans a change of plans or quantities for the end of the period. It replaces a pending change. */
async function changeAtPeriodEnd(
  context: SubscriptionContext,
  change: ChangeAtPeriodEnd,
  plans: ChangePlans,
  found: ChangeableSubscription,
  write: OperationWrite,
): Promise<ChangeEffect> {
  const { processor, plans: planService } = context;
  const { subscriptionChanges } = processor;
  const { subscription } = plans;
  const { idempotencyKey, isRepeated } = write;
  const intended = await readTarget(context, found, change, plans);
  await refuseChange(processor, found, change, intended);
  await refuseTooManyItems(context, found, change, intended, subscription);
  const order = { found, idempotencyKey, isRepeated };
  const current = await subscriptionChanges.dropPendingChange({ ...order, which: 'unpaid' });
  const target = current === found ? intended : await readTarget(context, current, change, plans);
  if (target.isUnchanged) {
    const dropping = { ...order, found: current, which: 'all' } as const;
    return unbilled(subscription, await subscriptionChanges.dropPendingChange(dropping));
  }
  const { item, changes: items, plannedMainMark: mainMark, isOtherInterval } = target;
  const { interval, intervalCount } =
    plans.wanted ?? target.currentPlan ?? (await planService.read(subscription.planId));
  const facts = await subscriptionChanges
    .changeAtPeriodEnd({
      ...{ ...order, found: current, items, processorMainItemId: item.processorItemId },
      ...(mainMark === null ? {} : { mainMark }),
      ...{ interval, intervalCount, startsCycle: isOtherInterval },
    })
    .catch(async (error: unknown) => {
      throw await planService.explainRefusal(error, planIdsOf(change));
    });
  // A new period started meanwhile, but the change was planned for the end of the old one.
  const at = facts.pendingChange?.at ?? null;
  const followed = followedItem(facts, { processorMainItemId: item.processorItemId }, () => undefined);
  if (at !== null && at < followed.currentPeriodEnd) throw concurrentChange();
  return { facts, subscription, clientSecret: null };
}

/**
 * Changes whether the subscription ends with its period, or its payment method, and the metadata in the same request.
 */
async function changeSettings(
  { processor }: SubscriptionContext,
  { kind: _kind, ...change }: SettingsChange,
  found: ChangeableSubscription,
  subscription: Subscription,
  { idempotencyKey, isRepeated }: OperationWrite,
): Promise<ChangeEffect> {
  const { paymentMethodId } = change;
  if (paymentMethodId !== undefined && !isPaymentMethodId(paymentMethodId)) throw paymentMethodNotFound();
  refuseChangeIn(found.subscription.status);
  const facts = await processor.subscriptionChanges
    .changeSettings({ found, change, idempotencyKey, isRepeated })
    .catch(async (error: unknown) => {
      const processorCustomerId = found.subscription.processorCustomerId ?? '';
      const method = { id: paymentMethodId, processorCustomerId };
      throw await explainMethodRefusal(processor.paymentMethods, error, method);
    });
  return { facts, subscription, clientSecret: null };
}

/** Changes the metadata, which is possible in every status. */
async function changeMetadata(
  { processor, mirror }: SubscriptionContext,
  change: MetadataPatch,
  subscription: Subscription,
  { idempotencyKey, isRepeated }: OperationWrite,
): Promise<ChangeEffect> {
  const { processorSubscriptionId } = subscription;
  const { metadata } = change;
  const attempt = await processor.subscriptions.update({ metadata, processorSubscriptionId, idempotencyKey });
  if (attempt.outcome !== 'done') {
    await correct(mirror, processorSubscriptionId);
    throw notReached(attempt, 'subscription', 'unchanged');
  }
  if (isRepeated || attempt.isReplayed || attempt.value.metadata === null) {
    const current = await processor.subscriptions.read(processorSubscriptionId);
    if (current === null) throw objectMissing('subscription');
    return unbilled(subscription, current);
  }
  if (isSubscriptionChangeIgnored(subscription, change, attempt.value))
    throw notReached(attempt, 'subscription', 'unchanged');
  return { facts: attempt.value, subscription, clientSecret: null };
}

function effectOf(subscription: Subscription, { facts, clientSecret, declined }: ChangeResult): ChangeEffect {
  const failure = declined === null ? {} : { failure: declineFailure(declined) };
  return { facts, subscription, clientSecret, ...failure };
}

function unbilled(
  subscription: Subscription,
  { subscription: facts }: Pick<ChangeableSubscription, 'subscription'>,
): ChangeEffect {
  return { facts, subscription, clientSecret: null };
}

function isWithinPeriod({ item }: ChangeTarget, { prorationDate }: ChangeNow): boolean {
  const { currentPeriodStart, currentPeriodEnd } = item;
  const date = prorationDate === undefined ? currentPeriodStart : new Date(prorationDate);
  return date >= currentPeriodStart && date <= currentPeriodEnd;
}

type Marking = Pick<OperationWrite, 'id' | 'mark'>;

/**
 * Fifteen marks of 30 characters fit into the 500 of a metadata value. A subscription rarely changes more often in a
 * day.
 */
const marksMax = 15;
const hourMs = 3_600_000;

/**
 * The marks of the changes of a subscription, after the change of this request. A subscription carries the marks of its
 * newest changes. If the claim of a change is lost, its mark shows that the change took effect, even after other
 * changes. A mark contains the hour of its request, so that an idempotency key that is used again after a day counts as
 * a new one. A repeated call has the same mark.
 */
export function withChangeMark(marks: readonly string[], write: Marking): readonly string[] {
  return [changeMark(write), ...marks].slice(0, marksMax);
}

/**
 * Whether the marks show a change of this request. Fails if it was a different request with the same idempotency key.
 */
export function hasChangeMark(marks: readonly string[], { id, mark }: Marking): boolean {
  const [ownKey, ownRequest] = changeMark({ id, mark }).split('.');
  const found = marks.map((one) => one.split('.')).find(([key]) => key === ownKey);
  const [, request, hour = ''] = found ?? [];
  const oldestHour = hourOf(id) - lostClaimAgeMs / hourMs;
  if (found === undefined || Number.parseInt(hour, 36) < oldestHour) return false;
  if (request !== ownRequest) throw keyReused();
  return true;
}

/** A few digits of each digest are enough to distinguish the changes of one subscription. */
function changeMark({ id, mark }: Marking): string {
  return `${mark.key.slice(0, 16)}.${mark.request.slice(0, 8)}.${hourOf(id).toString(36)}`;
}

function hourOf(id: string): number {
  return Math.floor(idTime(id).getTime() / hourMs);
}
