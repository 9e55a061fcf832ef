import type { Attempt } from '../../port/attempt.ts';
import { UnmappableError } from '../../port/event-facts.ts';
import type { ScheduleCalls } from '../../port/schedule-calls.ts';
import type { AdapterContext } from '../wire/adapter-context.ts';
import { done, missing, refused } from '../wire/attempt.ts';
import type { Refusal } from '../wire/refusal.ts';
import { WireObject } from '../wire/wire-object.ts';
import { quantityOf } from './map-subscription-terms.ts';
import { type Phase, phasesWithChange, phasesWithMethod } from './schedule-phases.ts';

export function createScheduleCalls(context: AdapterContext): ScheduleCalls {
  const { stripe, call } = context;
  const setPhases = createSetPhases(context);
  return {
    create: ({ processorSubscriptionId, idempotencyKey }) =>
      call('subscription_schedules.create', {
        kind: 'write',
        send: (options) =>
          stripe.subscriptionSchedules.create(
            { from_subscription: processorSubscriptionId },
            { ...options, idempotencyKey },
          ),
        take: (response) => {
          scheduleOf(response);
          return done(null, response);
        },
        refused: refusedChange,
      }),

    planChange: ({ processorSubscriptionId, idempotencyKey, ...change }) =>
      setPhases(processorSubscriptionId, idempotencyKey, (subscription) =>
        hasPrice(subscription, change.presentPriceId)
          ? { phases: phasesWithChange(subscription, change) }
          : null,
      ),

    setPaymentMethod: ({ processorSubscriptionId, paymentMethodId, idempotencyKey }) =>
      setPhases(processorSubscriptionId, idempotencyKey, (subscription) => ({
        phases: phasesWithMethod(subscription, paymentMethodId),
        paymentMethodId,
      })),

    clearEnd: ({ processorScheduleId, idempotencyKey }) =>
      call('subscription_schedules.update', {
        kind: 'write',
        send: (options) =>
          stripe.subscriptionSchedules.update(
            processorScheduleId,
            { end_behavior: 'release' },
            { ...options, idempotencyKey },
          ),
        take: (response) => {
          if (scheduleOf(response).text('end_behavior') !== 'release')
            throw new UnmappableError('the schedule still ends its subscription');
          return done(null);
        },
        refused: refusedChange,
      }),

    release: ({ processorScheduleId, idempotencyKey }) =>
      call('subscription_schedules.release', {
        kind: 'write',
        send: (options) =>
          stripe.subscriptionSchedules.release(
            processorScheduleId,
            // The end of a subscription is not part of a change of its plan.
            { preserve_cancel_date: true },
            { ...options, idempotencyKey },
          ),
        take: (response) => {
          if (scheduleOf(response).text('status') !== 'released')
            throw new UnmappableError('the schedule is not released');
          return done(null);
        },
        refused: refusedChange,
      }),
  };
}

interface NewPhases {
  readonly phases: Phase[];
  /** Of the phases that name none. */
  readonly paymentMethodId?: string;
}

/** Two calls: the phases contain what the subscription and its schedule have at that moment. */
function createSetPhases({ stripe, call }: AdapterContext) {
  return async (
    processorSubscriptionId: string,
    idempotencyKey: string,
    phasesOf: (subscription: WireObject) => NewPhases | null,
  ): Promise<Attempt<null>> => {
    const planned = await call('subscriptions.read', {
      kind: 'read',
      send: (options) =>
        stripe.subscriptions.retrieve(processorSubscriptionId, { expand: ['schedule'] }, options),
      take: (response) => {
        const subscription = WireObject.parse(response, 'subscription').expectKind('subscription');
        const schedule = subscription.objectOrNull('schedule');
        if (schedule === null) return null;
        const cancelAt = subscription.optional('wholeNumber', 'cancel_at');
        const wanted = phasesOf(subscription);
        return wanted === null ? overtaken : { id: schedule.id(), hasEnd: cancelAt !== null, ...wanted };
      },
    });
    // The schedule was released after the caller found or created it, by a change that is newer than this one.
    if (planned === null) return done(null);
    if ('outcome' in planned) return planned;
    const { id, hasEnd, phases, paymentMethodId } = planned;
    return call('subscription_schedules.update', {
      kind: 'write',
      send: (options) =>
        stripe.subscriptionSchedules.update(
          id,
          {
            phases,
            end_behavior: hasEnd ? 'cancel' : 'release',
            // The running phase stays as it is, so there is nothing to prorate.
            proration_behavior: 'none',
            ...(paymentMethodId === undefined
              ? {}
              : { default_settings: { default_payment_method: paymentMethodId } }),
          },
          { ...options, idempotencyKey },
        ),
      take: (response) => {
        if (!showsPhase(scheduleOf(response), phases.at(-1)))
          throw new UnmappableError('the schedule does not show the new phases');
        return done(null);
      },
      refused: refusedChange,
    });
  };
}

/** Another request has changed the item. */
const overtaken = {
  outcome: 'wrong_state',
  processorCode: null,
  message: 'The subscription no longer has the price that the change replaces.',
} as const;

function hasPrice(subscription: WireObject, processorPriceId: string): boolean {
  return subscription.list('items').some((item) => item.reference('price') === processorPriceId);
}

function scheduleOf(response: unknown): WireObject {
  return WireObject.parse(response, 'subscription_schedule').expectKind('subscription_schedule');
}

/** Whether the last phase of the schedule has the items and the payment method of this one. */
function showsPhase(schedule: WireObject, phase: Phase | undefined): boolean {
  const last = schedule.objects('phases').at(-1);
  if (last === undefined || phase === undefined) return false;
  const itemsOf = (items: readonly (readonly [string | undefined, number | undefined])[]) =>
    items.map(([price, quantity]) => `${price} ${quantity}`).join();
  const shown = last.objects('items').map((item) => [item.reference('price'), quantityOf(item)] as const);
  const sent = phase.items.map(({ price, quantity }) => [price, quantity] as const);
  const method = phase.default_payment_method ?? null;
  return itemsOf(shown) === itemsOf(sent) && last.referenceOrNull('default_payment_method') === method;
}

/** A refusal that names a parameter is about the caller's values. Any other is about the state of the subscription. */
function refusedChange(refusal: Refusal): Attempt<null> | undefined {
  if (refusal.status === 400 && refusal.param !== null) return undefined;
  return missing(refusal) ?? refused('wrong_state', refusal);
}
