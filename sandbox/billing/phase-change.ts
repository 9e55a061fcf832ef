import type { Store } from '../state/store.ts';
import type { SchedulePhase, Subscription, SubscriptionSchedule } from '../wire/objects.ts';
import { startPeriodNow } from './apply-change.ts';
import { changeDiscounts, type WantedDiscount } from './discount.ts';
import { sharesInterval } from './planned-change.ts';
import { updateSubscription } from './subscription-change.ts';
import { cycleAt, newItem, periodOf, withPrice } from './subscription-items.ts';
import { datesOf, phaseAt, releaseSchedule, scheduleOf } from './subscription-schedule.ts';

/**
 * Starts the phase that is due at this time, if any, or releases the subscription after the last phase. A schedule that
 * cancels its subscription ends with it. A renewal at the same time follows, with the values of the phase.
 */
export function enterPhase(store: Store, before: Subscription, at: number): Subscription {
  const schedule = scheduleOf(store, before);
  if (schedule?.current_phase?.end_date !== at) return before;
  const phase = phaseAt(schedule.phases, at);
  if (phase === undefined) {
    if (schedule.end_behavior === 'release') releaseSchedule(store, schedule);
    return store.subscriptions.get(before.id) ?? before;
  }
  const entered = store.update('subscription_schedule.updated', store.subscriptionSchedules, schedule, {
    current_phase: datesOf(phase),
  });
  return applyPhase(store, before, phase, entered);
}

/** Applies the values of the phase to the subscription. */
export function applyPhase(
  store: Store,
  before: Subscription,
  phase: SchedulePhase,
  schedule: SubscriptionSchedule,
): Subscription {
  const discounts = wantedBy(store, before, phase);
  const isSame =
    discounts.length === before.discounts.length &&
    discounts.every((one, index) => 'existing' in one && one.existing.id === before.discounts[index]);
  const tax = phase.automatic_tax ?? schedule.default_settings.automatic_tax;
  const changes: Partial<Subscription> = {
    ...(tax === undefined ? {} : { automatic_tax: tax }),
    default_payment_method: phase.default_payment_method ?? schedule.default_settings.default_payment_method,
    metadata: { ...before.metadata, ...phase.metadata },
    ...(isSame ? {} : { discounts: changeDiscounts(store, before, discounts) }),
  };
  return replaceItems(store, before, phase, changes);
}

/** Replaces the items without proration. A different interval starts a new billing cycle. */
function replaceItems(
  store: Store,
  before: Subscription,
  phase: SchedulePhase,
  changes: Partial<Subscription>,
): Subscription {
  const now = store.now();
  const items = itemsOf(store, before, phase, now);
  const isRenewal = periodOf(before).end === now;
  const resets = !sharesInterval(before.items, items) || phase.billing_cycle_anchor === 'phase_start';
  if (resets && !isRenewal && before.status !== 'trialing' && before.status !== 'paused')
    return startPeriodNow(store, before, { ...changes, items });
  return updateSubscription(store, before, {
    ...changes,
    items,
    ...(resets && isRenewal ? { billing_cycle_anchor: now } : {}),
  });
}

/** The items that the phase names. Items of the same price, or the only item, keep their id. `at` is its start. */
function itemsOf(
  store: Store,
  before: Subscription,
  phase: SchedulePhase,
  at: number,
): Subscription['items'] {
  const { start, end } = periodOf(before);
  const free = [...before.items.data];
  const take = (price: string) => {
    const index = free.findIndex((item) => item.price.id === price);
    const only = phase.items.length === 1 && free.length === 1 ? 0 : -1;
    const at = index >= 0 ? index : only;
    return at < 0 ? undefined : free.splice(at, 1)[0];
  };
  const data = phase.items.flatMap(({ price: priceId, quantity, metadata, tax_rates: rates }) => {
    const price = store.prices.get(priceId);
    if (price === undefined) return [];
    const kept = take(priceId);
    if (kept !== undefined) return [{ ...withPrice(kept, price, quantity), metadata: metadata ?? {} }];
    // At the end of a period, the renewal that follows starts the next one.
    const period =
      at < end ? { start: at, end: cycleAt(price, before.billing_cycle_anchor, at).end } : { start, end };
    const fields = { quantity, metadata: metadata ?? {}, taxRates: rates ?? [] };
    return [newItem(store, before.id, price, { ...fields, ...period })];
  });
  return { ...before.items, data };
}

/** The subscription as its next period will begin, for the announcement of a renewal. */
export function asOfNextPeriod(store: Store, subscription: Subscription): Subscription {
  const { end } = periodOf(subscription);
  const schedule = scheduleOf(store, subscription);
  const phase = schedule === undefined ? undefined : phaseAt(schedule.phases, end);
  if (schedule === undefined || phase === undefined || phase.start_date !== end) return subscription;
  const items = itemsOf(store, subscription, phase, end);
  const resets = !sharesInterval(subscription.items, items);
  return {
    ...subscription,
    items,
    discounts: phase.discounts.flatMap(({ discount }) => (discount === null ? [] : [discount])),
    ...(resets && { billing_cycle_anchor: end }),
  };
}

/** The discounts of the phase. Those that the subscription already has are kept. Expired ones do not return. */
export function wantedBy(
  store: Store,
  before: Pick<Subscription, 'discounts'>,
  { discounts }: SchedulePhase,
): WantedDiscount[] {
  const current = before.discounts.flatMap((id) => store.discounts.get(id) ?? []);
  const isOver = ({ end }: { readonly end: number | null }) => end !== null && end <= store.now();
  return discounts.flatMap(
    ({ coupon: couponId, discount: discountId, promotion_code: codeId }): WantedDiscount[] => {
      const code = store.promotionCodes.get(codeId);
      const wanted = couponId ?? code?.promotion.coupon ?? null;
      const existing = current.find(({ id, source }) => id === discountId || source.coupon === wanted);
      if (existing !== undefined) return isOver(existing) ? [] : [{ existing }];
      const coupon = store.coupons.get(wanted);
      return coupon === undefined ? [] : [{ coupon, code: code ?? null }];
    },
  );
}
