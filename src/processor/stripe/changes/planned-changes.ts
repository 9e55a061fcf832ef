import { Failure, isRefusedChange } from '#core/errors.ts';
import type { SubscriptionFacts } from '#core/model/subscription.ts';
import { type Attempt, concurrentChange, notReached } from '../../port/attempt.ts';
import { UnmappableError } from '../../port/event-facts.ts';
import type {
  ChangeableSubscription,
  ChangeOrder,
  PlannedChange,
  Planning,
  SubscriptionChangeCalls,
} from '../../port/subscription-changes.ts';
import { hasMoreItems, quantityOf } from '../objects/map-subscription.ts';
import { readSubscription } from '../objects/read-subscription.ts';
import type { AdapterContext } from '../wire/adapter-context.ts';
import { fetchFrom, mapAll } from '../wire/listing.ts';
import type { Refusal } from '../wire/refusal.ts';
import { done, missing, refused } from '../wire/responses.ts';
import { WireObject } from '../wire/wire-object.ts';
import { readChangeable } from './changeable-subscription.ts';
import { isScheduleSpent, type Phase, phasesWithChange, phasesWithMethod } from './schedule-phases.ts';

/**
 * Plans a change for the end of the period with a schedule, which contains everything that the subscription has. A
 * subscription has at most one schedule. A repeated order finds a schedule that was created without its phases, and a
 * new change uses the existing schedule.
 */
export async function changeAtPeriodEnd(
  context: AdapterContext,
  order: ChangeOrder & PlannedChange,
): Promise<SubscriptionFacts> {
  const { found, idempotencyKey } = order;
  const { processorSubscriptionId } = found.subscription;
  await ensureSchedule(context, order);
  try {
    const attempt = await setPhases(
      context,
      processorSubscriptionId,
      `${idempotencyKey}-phases`,
      (subscription) =>
        hasItems(subscription, found) ? { phases: phasesWithChange(subscription, order) } : null,
    );
    if (attempt.outcome !== 'done') throw notReached(attempt, 'subscription', 'unchanged');
  } catch (error) {
    if (!isRefusedChange(error)) throw error;
    const current = await readChangeable(context, processorSubscriptionId);
    // Another request has released the schedule meanwhile.
    if (current.processorPlanningId === null) throw concurrentChange();
    // A new schedule without a planned change would only block other changes. A change outside Till may already have
    // planned something.
    if (found.processorPlanningId === null && current.subscription.pendingChange === null)
      await releaseSchedule(context, current, idempotencyKey);
    throw error;
  }
  return (await readChangeable(context, processorSubscriptionId)).subscription;
}

async function ensureSchedule(
  context: AdapterContext,
  { found, idempotencyKey, isRepeated }: ChangeOrder,
): Promise<void> {
  if (found.processorPlanningId !== null) return;
  const { processorSubscriptionId } = found.subscription;
  const create = async (step: string) => {
    const attempt = await createSchedule(context, processorSubscriptionId, `${idempotencyKey}-${step}`);
    // An earlier request that failed has created and released this schedule, and its idempotency key was freed.
    if (attempt.outcome === 'done' && attempt.isReplayed && !isRepeated) throw keyUsedUp();
    return attempt;
  };
  if ((await create('schedule')).outcome === 'done') return;
  // A change outside Till may have created one at the same time, and may even have released it.
  const current = await readChangeable(context, processorSubscriptionId);
  if (current.processorPlanningId !== null) return;
  const attempt = await create('schedule-again');
  if (attempt.outcome !== 'done') throw notReached(attempt, 'subscription', 'unchanged');
}

function createSchedule(
  { stripe, call }: AdapterContext,
  processorSubscriptionId: string,
  idempotencyKey: string,
): Promise<Attempt<null>> {
  return call.write('subscription_schedules.create', {
    idempotencyKey,
    send: (options) =>
      stripe.subscriptionSchedules.create({ from_subscription: processorSubscriptionId }, options),
    take: (response) => {
      scheduleOf(response);
      return done(null, response);
    },
    refused: refusedChange,
  });
}

/** The processor repeats the response to an earlier request with this processor key, whose effect was undone since. */
function keyUsedUp(): Failure {
  return new Failure(
    'processor_bad_answer',
    'The processor repeats its response to an earlier request. Retry later, with the same idempotency key.',
    { effect: 'unknown', replayed: true },
  );
}

/** Sets the payment method of the subscription and of all phases of its schedule. */
export function setScheduledMethod(
  context: AdapterContext,
  processorSubscriptionId: string,
  paymentMethodId: string,
  idempotencyKey: string,
): Promise<Attempt<null>> {
  return setPhases(context, processorSubscriptionId, idempotencyKey, (subscription) => ({
    phases: phasesWithMethod(subscription, paymentMethodId),
    paymentMethodId,
  }));
}

/** Lets the subscription continue after the last phase of its schedule. The planned phases stay. */
export function clearScheduledEnd(
  { stripe, call }: AdapterContext,
  processorScheduleId: string,
  idempotencyKey: string,
): Promise<Attempt<null>> {
  return call.write('subscription_schedules.update', {
    idempotencyKey,
    send: (options) =>
      stripe.subscriptionSchedules.update(processorScheduleId, { end_behavior: 'release' }, options),
    take: (response) => {
      if (scheduleOf(response).text('end_behavior') !== 'release')
        throw new UnmappableError('the schedule still ends its subscription');
      return done(null);
    },
    refused: refusedChange,
  });
}

/** Ends the schedule. The subscription stays as it is, and keeps its end if it has one. */
export async function releaseSchedule(
  context: AdapterContext,
  { processorPlanningId, subscription: { processorSubscriptionId } }: ChangeableSubscription,
  idempotencyKey: string,
): Promise<void> {
  if (processorPlanningId === null) return;
  const { stripe, call } = context;
  const attempt = await call.write('subscription_schedules.release', {
    idempotencyKey: `${idempotencyKey}-release`,
    send: (options) =>
      stripe.subscriptionSchedules.release(
        processorPlanningId,
        // Setting an end is not part of a change of plan.
        { preserve_cancel_date: true },
        options,
      ),
    take: (response) => {
      if (scheduleOf(response).text('status') !== 'released')
        throw new UnmappableError('the schedule is not released');
      return done(null);
    },
    refused: refusedChange,
  });
  if (attempt.outcome === 'done') return;
  // Another request may have released it meanwhile, or its last phase may have ended.
  const current = await readChangeable(context, processorSubscriptionId);
  if (current.processorPlanningId === processorPlanningId)
    throw notReached(attempt, 'subscription', 'unchanged');
}

/** Without a status filter, the processor leaves out canceled subscriptions. */
export async function listPlannings(context: AdapterContext, customer: string): Promise<readonly Planning[]> {
  const fetch = fetchFrom(context.stripe.subscriptions, { customer, expand: ['data.schedule'] });
  const plannings = await mapAll(context, 'subscriptions.list', fetch, (value) => {
    const subscription = WireObject.parse(value, 'subscription').expectKind('subscription');
    if (subscription.optional('reference', 'schedule') === null) return null;
    return { processorSubscriptionId: subscription.id(), isSpent: isScheduleSpent(subscription) };
  });
  return plannings.filter((planning) => planning !== null);
}

/** A change may have planned something since the planning was listed, so it is read again. */
export async function endSpentPlanning(
  context: AdapterContext,
  { processorSubscriptionId, idempotencyKey }: Parameters<SubscriptionChangeCalls['endSpentPlanning']>[0],
): Promise<SubscriptionFacts> {
  const found = await readChangeable(context, processorSubscriptionId);
  if (!found.isPlanningSpent) return found.subscription;
  await releaseSchedule(context, found, idempotencyKey);
  return (await readChangeable(context, processorSubscriptionId)).subscription;
}

interface NewPhases {
  readonly phases: Phase[];
  /** The payment method of phases that do not name one. */
  readonly paymentMethodId?: string;
}

/** Reads the subscription with its schedule, then sets the phases that follow from it. */
async function setPhases(
  context: AdapterContext,
  processorSubscriptionId: string,
  idempotencyKey: string,
  phasesOf: (subscription: WireObject) => NewPhases | null,
): Promise<Attempt<null>> {
  const { stripe, call } = context;
  const planned = await readSubscription(context, processorSubscriptionId, {
    expand: ['schedule'],
    map: (response) => {
      const subscription = WireObject.parse(response, 'subscription').expectKind('subscription');
      const schedule = subscription.objectOrNull('schedule');
      // The response shows only the first page of the items.
      if (schedule === null || hasMoreItems(subscription)) return null;
      const cancelAt = subscription.optional('wholeNumber', 'cancel_at');
      const wanted = phasesOf(subscription);
      return wanted === null ? overtaken : { id: schedule.id(), hasEnd: cancelAt !== null, ...wanted };
    },
  });
  // A newer change released the schedule after the caller found or created it.
  if (planned === null) return done(null);
  if ('outcome' in planned) return planned;
  const { id, hasEnd, phases, paymentMethodId } = planned;
  return call.write('subscription_schedules.update', {
    idempotencyKey,
    send: (options) =>
      stripe.subscriptionSchedules.update(
        id,
        {
          phases,
          end_behavior: hasEnd ? 'cancel' : 'release',
          // The current phase stays as it is, so there is nothing to prorate.
          proration_behavior: 'none',
          ...(paymentMethodId === undefined
            ? {}
            : { default_settings: { default_payment_method: paymentMethodId } }),
        },
        options,
      ),
    take: (response) => {
      if (!showsPhase(scheduleOf(response), phases.at(-1)))
        throw new UnmappableError('the schedule does not show the new phases');
      return done(null);
    },
    refused: refusedChange,
  });
}

/** The items were changed meanwhile. */
const overtaken = {
  outcome: 'wrong_state',
  processorCode: null,
  message: 'The subscription no longer has the items that the change replaces.',
} as const;

/** Whether the subscription still has the items that were found. */
function hasItems(subscription: WireObject, { items }: ChangeableSubscription): boolean {
  const current = new Map(subscription.list('items').map((item) => [item.id(), item.reference('price')]));
  return items.every((item) => current.get(item.processorItemId) === item.processorPriceId);
}

function scheduleOf(response: unknown): WireObject {
  return WireObject.parse(response, 'subscription_schedule').expectKind('subscription_schedule');
}

/** Whether the last phase of the schedule has the items and the payment method of this one. */
function showsPhase(schedule: WireObject, phase: Phase | undefined): boolean {
  const last = schedule.objects('phases').at(-1);
  if (last === undefined || phase === undefined) return false;
  const itemsOf = (items: readonly (readonly [string | undefined, number | null])[]) =>
    items.map(([price, quantity]) => `${price} ${quantity}`).join();
  const shown = last.objects('items').map((item) => [item.reference('price'), quantityOf(item)] as const);
  const sent = phase.items.map(({ price, quantity = null }) => [price, quantity] as const);
  const method = phase.default_payment_method ?? null;
  return itemsOf(shown) === itemsOf(sent) && last.referenceOrNull('default_payment_method') === method;
}

/** A refusal that names a parameter is about the caller's values. Any other is about the state of the subscription. */
function refusedChange(refusal: Refusal): Attempt<null> | undefined {
  if (refusal.status === 400 && refusal.param !== null) return undefined;
  return missing(refusal) ?? refused('wrong_state', refusal);
}
