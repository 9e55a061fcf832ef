import type { Stripe } from 'stripe';
import { UnmappableError } from '../../port/event-facts.ts';
import type { ItemChange, PlannedChange } from '../../port/subscription-changes.ts';
import { quantityOf } from '../objects/map-subscription.ts';
import { mainMarkKey } from '../wire/wire-metadata.ts';
import { ifReadable, WireObject } from '../wire/wire-object.ts';

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

/**
 * Settings of a phase that only the dashboard sets. New phases repeat them, because a phase without them takes the
 * defaults of the schedule. One-time items are not repeated.
 */
export function settingsOf(phase: WireObject): Partial<Phase> {
  const onBehalfOf = phase.optional('reference', 'on_behalf_of');
  const transfer = phase.optional('object', 'transfer_data');
  const thresholds = copied(phase.optional('object', 'billing_thresholds'), [
    'amount_gte',
    'reset_billing_cycle_anchor',
  ]);
  return {
    ...copied(phase, ['collection_method', 'description', 'application_fee_percent']),
    ...ids(phase, 'default_tax_rates'),
    ...(Object.keys(thresholds).length === 0 ? {} : { billing_thresholds: thresholds }),
    ...invoiceSettingsOf(phase),
    ...(onBehalfOf === null ? {} : { on_behalf_of: onBehalfOf }),
    ...(transfer === null
      ? {}
      : {
          transfer_data: {
            destination: transfer.reference('destination'),
            ...copied(transfer, ['amount_percent']),
          },
        }),
  };
}

/**
 * Whether the processor computes taxes. For the running phase, the subscription shows the effective value: the phase
 * may take it from the defaults, and the processor disables it if it does not know where the customer lives.
 */
export function taxOf(subscription: WireObject | null, phase: WireObject): Pick<Phase, 'automatic_tax'> {
  const ofPhase = phase.optional('object', 'automatic_tax');
  const current = subscription?.optional('object', 'automatic_tax') ?? ofPhase;
  const enabled = current?.optional('flag', 'enabled') ?? null;
  if (current === null || enabled === null || (ofPhase === null && !enabled)) return {};
  const liability = accountOf(current, 'liability');
  return { automatic_tax: { enabled, ...(liability && { liability }) } };
}

/** Settings of an item, of the subscription or of a phase, that the dashboard can set. */
export function itemSettings(item: WireObject): Partial<Phase['items'][number]> {
  const discounts = (item.optional('array', 'discounts') ?? []).map(itemDiscount);
  const usage = item.optional('object', 'billing_thresholds')?.optional('wholeNumber', 'usage_gte') ?? null;
  return {
    ...copied(item, ['metadata']),
    ...ids(item, 'tax_rates'),
    ...(discounts.length === 0 ? {} : { discounts }),
    ...(usage === null ? {} : { billing_thresholds: { usage_gte: usage } }),
  };
}

/** A discount of a phase, or of an item of a phase. */
function phaseDiscount(discount: WireObject): Stripe.SubscriptionScheduleUpdateParams.Phase.Discount {
  const name = (['discount', 'promotion_code', 'coupon'] as const).find(
    (field) => discount.optional('reference', field) !== null,
  );
  if (name === undefined) throw new UnmappableError(`${discount.path} names no discount`);
  return { [name]: discount.reference(name) };
}

/** The fields that have a value, as parameters. Their types are those of the processor's own object. */
function copied(object: WireObject | null, fields: readonly string[]): Record<string, never> {
  const values = fields.flatMap((field) => {
    const value = object?.has(field) ? object.raw(field) : null;
    const isEmpty = value === null || (typeof value === 'object' && Object.keys(value).length === 0);
    return isEmpty ? [] : [[field, value]];
  });
  return Object.fromEntries(values);
}

function idOf(value: unknown): string {
  return WireObject.parse({ value }, 'reference').reference('value');
}

function ids<Field extends string>(object: WireObject, field: Field): { [F in Field]?: string[] } {
  const found = (object.optional('array', field) ?? []).map(idOf);
  // The compiler widens the name of a computed field.
  return found.length === 0 ? {} : ({ [field]: found } as { [F in Field]?: string[] });
}

function invoiceSettingsOf(phase: WireObject): Pick<Phase, 'invoice_settings'> {
  const settings = phase.optional('object', 'invoice_settings');
  if (settings === null) return {};
  const issuer = accountOf(settings, 'issuer');
  const invoice_settings = {
    ...copied(settings, ['custom_fields', 'days_until_due', 'description', 'footer']),
    ...ids(settings, 'account_tax_ids'),
    ...(issuer && { issuer }),
  };
  return Object.keys(invoice_settings).length === 0 ? {} : { invoice_settings };
}

/** Which account issues invoices, or is liable for taxes. */
function accountOf(
  settings: WireObject,
  field: 'issuer' | 'liability',
): Stripe.SubscriptionScheduleUpdateParams.Phase.AutomaticTax.Liability | undefined {
  const given = settings.optional('object', field);
  if (given === null) return undefined;
  const account = given.optional('reference', 'account');
  return { type: given.text('type'), ...(account === null ? {} : { account }) };
}

/**
 * An item of a subscription shows its discounts, or their ids. An item of a phase shows the coupons or codes that give
 * them.
 */
function itemDiscount(value: unknown): Stripe.SubscriptionScheduleUpdateParams.Phase.Item.Discount {
  if (typeof value === 'string') return { discount: value };
  const discount = WireObject.parse(value, 'discount');
  return discount.optionalText('object') === 'discount'
    ? { discount: discount.id() }
    : phaseDiscount(discount);
}
