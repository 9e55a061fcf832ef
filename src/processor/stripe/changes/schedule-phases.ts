import type { Stripe } from 'stripe';
import { UnmappableError } from '../../port/event-facts.ts';
import type { ItemChange, PlannedChange } from '../../port/subscription-changes.ts';
import { quantityOf } from '../objects/map-subscription.ts';
import { mainMarkKey } from '../wire/wire-metadata.ts';
import { ifReadable, type WireObject } from '../wire/wire-object.ts';
import { copied, idOf, itemSettings, phaseDiscount, settingsOf, taxOf } from './phase-settings.ts';

export type Phase = Stripe.SubscriptionScheduleUpdateParams.Phase;
type PhaseItem = Stripe.SubscriptionScheduleUpdateParams.Phase.Item;

/**
 * Two phases: the subscription as it is until the end of its period, then the same with the change. A phase clears the
 * discounts and the payment method that it does not name, so both phases name them, and all items.
 */
export function phasesWithChange(subscription: WireObject, change: PlannedChange): Phase[] {
  const { current } = openPhases(subscription);
  const items = subscription.list('items');
  const main = items.find((item) => item.id() === change.processorMainItemId);
  if (main === undefined) throw new UnmappableError('subscription.items lacks the item of the main plan');
  const carriedOver = { ...settingsOf(current), ...taxOf(subscription, current), ...termsOf(subscription) };
  const cancelAt = subscription.optional('wholeNumber', 'cancel_at');
  return [
    {
      ...{ ...carriedOver, items: items.map(phaseItem), ...trialOf(subscription) },
      start_date: current.wholeNumber('start_date'),
      end_date: main.wholeNumber('current_period_end'),
    },
    {
      ...carriedOver,
      items: itemsAfter(items, change.items),
      ...(change.mainMark === undefined ? {} : { metadata: { [mainMarkKey]: change.mainMark } }),
      proration_behavior: 'none',
      ...(change.startsCycle ? { billing_cycle_anchor: 'phase_start' } : {}),
      // After this phase the subscription continues without a schedule, unless it has an end.
      ...(cancelAt === null
        ? { duration: { interval: change.interval, interval_count: change.intervalCount } }
        : { end_date: cancelAt }),
    },
  ];
}

function itemsAfter(items: readonly WireObject[], changes: readonly ItemChange[]): PhaseItem[] {
  const kept = items.flatMap((item): PhaseItem[] => {
    const change = changes.find(({ processorItemId }) => processorItemId === item.id());
    if (change === undefined) return [phaseItem(item)];
    if ('isRemoved' in change) return [];
    const { processorPriceId: price = item.reference('price'), quantity } = change;
    const { billing_thresholds, ...kept } = phaseItem(item);
    // Thresholds are for metered prices, and the new one has a quantity.
    const thresholds = price === kept.price && billing_thresholds !== undefined ? { billing_thresholds } : {};
    return [{ ...kept, ...thresholds, price, quantity }];
  });
  const added = changes.flatMap((change) =>
    change.processorItemId === null ? [{ price: change.processorPriceId, quantity: change.quantity }] : [],
  );
  return [...kept, ...added];
}

/** The current phase and the later ones, with another payment method. */
export function phasesWithMethod(subscription: WireObject, paymentMethodId: string): Phase[] {
  const { current, later } = openPhases(subscription);
  const method = { default_payment_method: paymentMethodId };
  return [
    {
      ...{ ...settingsOf(current), ...taxOf(subscription, current) },
      ...{ ...termsOf(subscription), ...trialOf(subscription) },
      items: subscription.list('items').map(phaseItem),
      start_date: current.wholeNumber('start_date'),
      end_date: current.wholeNumber('end_date'),
      ...method,
    },
    ...later.map((phase) => ({ ...laterPhase(phase), ...method })),
  ];
}

/**
 * The payment method that each phase of the subscription's schedule charges, from the current one on. Null for the
 * customer's default. Empty if there is no schedule, or if it has ended.
 */
export function scheduledMethods(subscription: WireObject): readonly (string | null)[] {
  const schedule = subscription.optional('object', 'schedule');
  if (schedule === null || schedule.objectOrNull('current_phase') === null) return [];
  const settings = schedule.object('default_settings');
  const byDefault = settings.referenceOrNull('default_payment_method');
  const { current, later } = openPhases(subscription);
  return [current, ...later].map((phase) => phase.referenceOrNull('default_payment_method') ?? byDefault);
}

/**
 * Whether the last phase of the subscription's schedule is running, after which the subscription continues unchanged. A
 * schedule with a single phase does not count, because a change may have just created it.
 */
export function isScheduleSpent(subscription: WireObject): boolean {
  const schedule = subscription.optional('object', 'schedule');
  if (schedule === null) return false;
  const isSpent = ifReadable(() => {
    const pauses = schedule.optional('array', 'pause_schedules') ?? [];
    const { past, later } = openPhases(subscription);
    return (
      schedule.text('end_behavior') === 'release' &&
      pauses.length === 0 &&
      past.length > 0 &&
      later.length === 0
    );
  });
  return isSpent === true;
}

interface OpenPhases {
  readonly past: readonly WireObject[];
  readonly current: WireObject;
  readonly later: readonly WireObject[];
}

function openPhases(subscription: WireObject): OpenPhases {
  const schedule = subscription.object('schedule');
  const start = schedule.object('current_phase').wholeNumber('start_date');
  const phases = schedule
    .objects('phases')
    .toSorted((a, b) => a.wholeNumber('start_date') - b.wholeNumber('start_date'));
  const past = phases.filter((phase) => phase.wholeNumber('start_date') < start);
  const [current, ...later] = phases.slice(past.length);
  if (current === undefined)
    throw new UnmappableError('subscription.schedule.phases lacks the current phase');
  return { past, current, later };
}

/** The settings that a phase must repeat, because the subscription loses them otherwise. */
function termsOf(subscription: WireObject): Partial<Phase> {
  const method = subscription.referenceOrNull('default_payment_method');
  const discounts = subscription.array('discounts').map((discount) => ({ discount: idOf(discount) }));
  return {
    ...(method === null ? {} : { default_payment_method: method }),
    ...(discounts.length === 0 ? {} : { discounts }),
  };
}

/** A phase that does not repeat the end of a running trial ends the trial. */
function trialOf(subscription: WireObject): Partial<Phase> {
  if (subscription.text('status') !== 'trialing') return {};
  return { trial_end: subscription.wholeNumber('trial_end') };
}

function phaseItem(item: WireObject): PhaseItem & { readonly price: string } {
  const quantity = quantityOf(item);
  return {
    price: item.reference('price'),
    // The processor refuses a quantity of a metered price.
    ...(quantity === null ? {} : { quantity }),
    ...itemSettings(item),
  };
}

function laterPhase(phase: WireObject): Phase {
  const trialEnd = phase.optional('wholeNumber', 'trial_end');
  const discounts = phase.objects('discounts').map(phaseDiscount);
  return {
    ...settingsOf(phase),
    ...taxOf(null, phase),
    ...copied(phase, ['billing_cycle_anchor', 'proration_behavior', 'metadata']),
    items: phase.objects('items').map(phaseItem),
    start_date: phase.wholeNumber('start_date'),
    end_date: phase.wholeNumber('end_date'),
    ...(trialEnd === null ? {} : { trial_end: trialEnd }),
    ...(discounts.length === 0 ? {} : { discounts }),
  };
}
