import { applyChange, changedItems } from '../billing/apply-change.ts';
import { changeDiscounts, type DiscountTerms } from '../billing/discount.ts';
import { createInvoiceItem } from '../billing/invoice-item.ts';
import { dropUpdate } from '../billing/pending-update.ts';
import { type PlannedChange, planChange } from '../billing/planned-change.ts';
import { detailsAfter, updateSubscription } from '../billing/subscription-change.ts';
import { periodOf } from '../billing/subscription-items.ts';
import { followItems } from '../billing/subscription-schedule.ts';
import { endTrial, moveTrial } from '../billing/trial.ts';
import type { Store } from '../state/store.ts';
import { words } from '../wire/nulls.ts';
import type { Subscription } from '../wire/objects.ts';
import type { Call } from '../wire/operation.ts';
import * as p from '../wire/params.ts';
import { badParam, wrongState } from '../wire/wire-error.ts';
import { oldDiscounts, wantedDiscounts } from './discount-params.ts';
import { addedItemsFrom } from './invoice-items.ts';
import * as terms from './subscription-params.ts';
import { taxRatesFrom } from './tax-rates.ts';

export const itemFields = {
  ...terms.itemPriceFields,
  quantity: p.integer(0, terms.quantityMax),
  metadata: p.metadata,
};
export const changeFields = { ...itemFields, id: p.text(), deleted: p.bool, clear_usage: p.bool };
export const itemsParam = p.array(p.object(changeFields), terms.itemsMax);

/** A subscription can be changed while it waits for a payment, so updates allow one more behavior. */
export const updateBehavior = p.oneOf(...terms.paymentBehaviors, 'pending_if_incomplete');

export const updateParams = {
  ...terms.commonParams,
  items: itemsParam,
  billing_cycle_anchor: terms.anchorParam,
  cancel_at: p.clearable(p.integer()),
  cancellation_details: terms.cancellationDetails,
  default_payment_method: p.clearable(p.text()),
  description: p.clearable(p.text(500)),
  pause_collection: terms.pauseCollection,
  payment_behavior: updateBehavior,
  proration_date: p.integer(),
};

type UpdateParams = Omit<Partial<p.Parsed<typeof updateParams>>, 'items'> & {
  readonly items?: Parameters<typeof planFrom>[2]['items'] | undefined;
};

/** Applies the parameters. Once a subscription has ended, only its annotations can change. */
export function updateFrom(
  call: Call,
  given: Subscription,
  params: UpdateParams,
  itemsPath?: string | null,
): Subscription {
  const { store } = call;
  checkUpdatable(call, given, params);
  const before = withDiscounts(call, withoutConflict(store, given, params), params);
  const added = addedItemsFrom(call, params.add_invoice_items ?? [], before);
  for (const item of added) createInvoiceItem(store, { ...item, subscription: before.id });
  const settings = settingsFrom(store, before, params);
  const plan = planFrom(call, { ...before, ...settings }, params, itemsPath);
  const planned =
    plan === null
      ? {}
      : {
          items: plan.subscription.items,
          billing_cycle_anchor: plan.subscription.billing_cycle_anchor,
          cancel_at: plan.subscription.cancel_at,
        };
  const moved = { ...before, ...settings, ...planned };
  const changes = { ...settings, ...planned, ...cancellationOf(store, moved, params) };
  const updated =
    plan === null
      ? updateSubscription(store, before, changes)
      : applyChange(store, before, plan, changes, {
          behavior: params.payment_behavior ?? 'allow_incomplete',
          offSession: params.off_session ?? false,
          metadata: params.metadata == null ? null : p.applyMetadata({}, params.metadata),
        });
  if (params.items !== undefined) followItems(store, updated);
  // The end of the trial comes last, because it may charge the customer with the other changes.
  const { trial_end: end } = params;
  if (end === undefined) return updated;
  if (end === 'now') return endTrial(store, updated);
  return moveTrial(store, updated, terms.checkTrialEnd(store, end));
}

function checkUpdatable(call: Call, before: Subscription, params: UpdateParams): void {
  if (params.cancel_at !== undefined && params.cancel_at_period_end !== undefined)
    throw badParam('Received both cancel_at_period_end and cancel_at parameters. Please pass in only one.');
  const { metadata: _, cancellation_details: __, ...others } = params;
  if (before.ended_at !== null && Object.keys(others).length > 0)
    throw wrongState(
      'This subscription has ended. Only its metadata and cancellation_details can be changed.',
      'invalid_canceled_subscription_fields',
    );
  checkSchedule(before, params);
  terms.checkAnchor(call, params.billing_cycle_anchor);
  if (params.payment_behavior === 'pending_if_incomplete') checkHoldable(params);
  if (params.default_payment_method !== null)
    terms.checkMethod(call.store, params.default_payment_method, before.customer);
}

/** The changes that the processor can keep in a pending update. */
const holdable: readonly string[] = words(
  'billing_cycle_anchor cancel_at_period_end items metadata payment_behavior proration_behavior proration_date',
);

function checkHoldable(params: UpdateParams): void {
  const names = Object.keys(params).filter((name) => !holdable.includes(name));
  const items = (params.items ?? []).flatMap(({ metadata: given }, index) =>
    given === undefined ? [] : [`items[${index}][metadata]`],
  );
  const [first, ...others] = [...names, ...items];
  if (first !== undefined)
    throw badParam(
      `When payment_behavior is pending_if_incomplete, these parameters cannot be used: ${[first, ...others].join(', ')}.`,
      first,
    );
}

/** A change that contradicts a pending update discards it. */
function withoutConflict(store: Store, before: Subscription, params: UpdateParams): Subscription {
  const held = before.pending_update?.cancel_at_period_end ?? null;
  const contradicts =
    params.items !== undefined ||
    params.billing_cycle_anchor?.type === 'now' ||
    params.trial_end !== undefined ||
    (held !== null && params.cancel_at_period_end !== undefined && params.cancel_at_period_end !== held);
  if (before.pending_update === null || !contradicts) return before;
  // Another pending update replaces it. Any other change makes it expire.
  return dropUpdate(store, before, { expires: params.payment_behavior !== 'pending_if_incomplete' });
}

/** The changes without an effect on any invoice. */
function settingsFrom(store: Store, before: Subscription, params: UpdateParams): Partial<Subscription> {
  return {
    ...p.present({ default_payment_method: params.default_payment_method, description: params.description }),
    ...terms.billingFrom(store, params, before),
    metadata: p.applyMetadata(before.metadata, params.metadata),
    ...(params.payment_settings?.save_default_payment_method === undefined || before.payment_settings === null
      ? {}
      : {
          payment_settings: {
            ...before.payment_settings,
            save_default_payment_method: params.payment_settings.save_default_payment_method,
          },
        }),
    ...terms.trialSettingsFrom(params),
    ...pauseFrom(store, params),
  };
}

/** A schedule decides when its subscription ends. Items can still be changed directly. */
function checkSchedule({ schedule }: Subscription, params: UpdateParams): void {
  const cancels = params.cancel_at !== undefined || params.cancel_at_period_end !== undefined;
  if (schedule !== null && cancels)
    throw wrongState(
      `The subscription is managed by the subscription schedule \`${schedule}\`, and updating any cancelation behavior directly is not allowed. Please update the schedule instead.`,
    );
}

/** Discounts are applied first, so that they affect what the other changes bill. An empty list changes nothing. */
function withDiscounts(call: Call, before: Subscription, params: UpdateParams): Subscription {
  const { store } = call;
  const given = params.discounts === undefined ? oldDiscounts(call, params) : params.discounts;
  if (given === undefined || given?.length === 0) return before;
  const { customer, discounts, items } = before;
  const wanted = wantedDiscounts(store, given ?? [], { customer, items: items.data, discounts });
  return updateSubscription(store, before, { discounts: changeDiscounts(store, before, wanted) });
}

function pauseFrom(store: Store, { pause_collection: pause }: UpdateParams): Partial<Subscription> {
  if (pause == null) return pause === null ? { pause_collection: null } : {};
  const { behavior, resumes_at: resumesAt = null } = pause;
  if (resumesAt !== null && resumesAt <= store.now())
    throw badParam('pause_collection[resumes_at] must be in the future.', 'pause_collection[resumes_at]');
  return { pause_collection: { behavior, resumes_at: resumesAt } };
}

function cancellationOf(
  store: Store,
  subscription: Subscription,
  params: UpdateParams,
): Partial<Subscription> {
  const { cancel_at: at, cancel_at_period_end: atPeriodEnd, cancellation_details: details } = params;
  if (at != null && at <= store.now()) throw badParam('cancel_at must be in the future.', 'cancel_at');
  const cancelAt = atPeriodEnd === undefined ? at : endWithPeriod(subscription, atPeriodEnd);
  return {
    ...(cancelAt !== undefined && {
      cancel_at: cancelAt,
      cancel_at_period_end: atPeriodEnd ?? false,
      canceled_at: cancelAt === null ? null : store.now(),
    }),
    ...(cancelAt === undefined && details === undefined
      ? {}
      : {
          cancellation_details: {
            ...detailsAfter(subscription, details),
            reason:
              cancelAt === undefined
                ? (subscription.cancellation_details?.reason ?? null)
                : cancelAt === null
                  ? null
                  : 'cancellation_requested',
          },
        }),
  };
}

/** Undefined if nothing changes: `false` does not clear a date that was set with `cancel_at`. */
function endWithPeriod(subscription: Subscription, ends: boolean): number | null | undefined {
  if (ends) return periodOf(subscription).end;
  return subscription.cancel_at_period_end ? null : undefined;
}

type ChangeParams = Partial<
  p.Parsed<{
    items: p.Parser<readonly Partial<p.Parsed<typeof changeFields>>[]>;
    billing_cycle_anchor: typeof terms.anchorParam;
    proration_behavior: typeof terms.prorationBehavior;
    proration_date: ReturnType<typeof p.integer>;
  }>
>;

/**
 * The change of items in the parameters. Null if there is none. For errors, `path` is the name of the list, or null if
 * the parameters are those of a single item. The change is prorated with the discounts of the subscription, unless a
 * preview names others.
 */
export function planFrom(
  call: Call,
  before: Subscription,
  params: ChangeParams,
  path: string | null = 'items',
  discounts?: readonly DiscountTerms[],
): PlannedChange | null {
  const { items, billing_cycle_anchor: anchor } = params;
  if (items === undefined && anchor?.type !== 'now') return null;
  if (before.status === 'incomplete')
    throw wrongState('The items of a subscription cannot be changed until its first invoice is paid.');
  return planChange(call.store, before, {
    items: items === undefined ? before.items : itemsFrom(call, before, items, path),
    anchor: anchor?.type ?? null,
    proration: params.proration_behavior ?? 'create_prorations',
    prorationDate: params.proration_date ?? null,
    discounts,
  });
}

function itemsFrom(
  { store }: Call,
  before: Subscription,
  given: NonNullable<ChangeParams['items']>,
  path: string | null,
): Subscription['items'] {
  const { currency, billing_mode: mode } = before;
  if (mode.type === 'flexible' && given.some(({ clear_usage: clears }) => clears !== undefined))
    throw badParam(
      'With `billing_mode.type=flexible` set on a subscription, the following parameters are not supported: clear_usage.',
    );
  const changes = given.map(({ deleted = false, tax_rates: rates, ...item }, index) => {
    const param = (field: string) => (path === null ? field : `${path}[${index}][${field}]`);
    const price = terms.itemPrice(store, item, param, currency);
    if (price !== undefined && price.currency !== currency)
      throw badParam(
        `The price specified only supports \`${price.currency}\`. This doesn't match the expected currency: \`${currency}\`.`,
        param('price'),
      );
    const known = before.items.data.find(({ id }) => id === item.id)?.price;
    terms.checkQuantity(price ?? known, item.quantity, param('quantity'));
    const { id, quantity, metadata: change } = item;
    const taxRates = rates === undefined ? undefined : taxRatesFrom(store, rates, param('tax_rates'));
    return { id, quantity, metadata: change, price, deleted, param, taxRates };
  });
  const items = changedItems(store, before, changes);
  terms.checkCount(items.data.length, mode.type, path ?? 'price');
  const prices = items.data.map(({ price }) => price);
  terms.checkIntervals(prices, mode.type);
  return items;
}
