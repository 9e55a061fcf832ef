import { createSubscription } from '../billing/create-subscription.ts';
import { endDiscounts } from '../billing/discount.ts';
import { resumeSubscription } from '../billing/pause.ts';
import { cycleAt } from '../billing/subscription-items.ts';
import { cancelNow } from '../billing/subscription-life.ts';
import { existingCustomer } from '../payments/customer.ts';
import { currency } from '../payments/money.ts';
import type { Store } from '../state/store.ts';
import { words } from '../wire/nulls.ts';
import type { Price, Subscription } from '../wire/objects.ts';
import type { Call } from '../wire/operation.ts';
import * as p from '../wire/params.ts';
import { badParam, exclusiveParams, missing, missingParam } from '../wire/wire-error.ts';
import { oldDiscounts, wantedDiscounts } from './discount-params.ts';
import { addedItemsFrom } from './invoice-items.ts';
import { Resource } from './resource.ts';
import * as terms from './subscription-params.ts';
import { itemFields, updateFrom, updateParams } from './subscription-update.ts';
import { taxRatesFrom } from './tax-rates.ts';

const createParams = {
  ...terms.commonParams,
  ...p.each(p.integer(), 'backdate_start_date billing_cycle_anchor cancel_at'),
  customer: p.required(p.text()),
  items: p.required(p.array(p.object(itemFields), terms.itemsMax)),
  billing_mode: terms.billingMode,
  currency,
  default_payment_method: p.text(),
  description: p.text(500),
  payment_behavior: p.oneOf(...terms.paymentBehaviors),
  trial_period_days: p.integer(0, terms.trialDaysMax),
};

const resumeParams = {
  billing_cycle_anchor: terms.anchorParam,
  payment_behavior: p.oneOf('resume_on_payment_attempt', 'resume_on_payment_success'),
  proration_behavior: terms.prorationBehavior,
  proration_date: p.integer(),
};

const statuses = words(
  'active canceled incomplete incomplete_expired past_due paused trialing unpaid all ended',
);

const subscriptions = new Resource('subscriptions', (store) => store.subscriptions);

export const subscriptionOperations = [
  subscriptions.create(createParams, create),
  subscriptions.retrieve(),
  subscriptions.update(updateParams, (call, before, params) => updateFrom(call, before, params)),
  subscriptions.operation(
    'cancel',
    'DELETE *',
    { invoice_now: p.bool, prorate: p.bool, cancellation_details: terms.cancellationDetails },
    (call, params) => {
      const subscription = subscriptions.existing(call);
      // The processor responds with 404 if a subscription has already ended.
      if (subscription.ended_at !== null) throw missing('subscription', subscription.id);
      return cancelNow(call.store, subscription, {
        prorates: params.prorate ?? false,
        invoicesNow: params.invoice_now ?? false,
        ...params.cancellation_details,
      });
    },
  ),
  subscriptions.operation('delete_discount', 'DELETE */discount', {}, (call) => {
    const subscription = subscriptions.existing(call);
    const [last] = subscription.discounts.slice(-1);
    const discount = call.store.discounts.get(last);
    if (discount === undefined) throw missing('discount', subscription.id);
    endDiscounts(call.store, subscription, [discount.id]);
    const { end: _, ...rest } = discount;
    return { ...rest, deleted: true };
  }),
  subscriptions.action('resume', resumeParams, resume),
  subscriptions.list(
    { ...p.each(p.text(), 'customer price test_clock'), status: p.oneOf(...statuses) },
    {
      handled: ['price', 'status'],
      check: (store, { test_clock: id }) => {
        if (id !== undefined) store.testClocks.existing(id, 'test_clock');
      },
      // Subscriptions of a test clock are listed only by their clock or their customer.
      where: ({ items, status, test_clock: clock }, params) =>
        (clock === null || (params.customer ?? params.test_clock) !== undefined) &&
        hasStatus(status, params.status) &&
        (params.price === undefined || items.data.some(({ price }) => price.id === params.price)),
    },
  ),
  subscriptions.search(),
];

function create(call: Call, params: p.Parsed<typeof createParams>): Subscription {
  const { store, version } = call;
  const customer = existingCustomer(store, params.customer);
  if (params.items.length === 0) throw missingParam('items', 'A subscription needs at least one item.');
  const items = params.items.map(({ quantity, ...item }, index) => {
    const path = (field: string) => `items[${index}][${field}]`;
    const price = terms.itemPrice(store, item, path, params.currency);
    if (price === undefined) throw missingParam(path('price'));
    terms.checkQuantity(price, quantity, path('quantity'));
    const taxRates = taxRatesFrom(store, item.tax_rates, path('tax_rates'));
    return { price, quantity, metadata: p.applyMetadata({}, item.metadata), taxRates };
  });
  const mode = terms.billingModeOf(params.billing_mode, version);
  const prices = items.map(({ price }) => price);
  terms.checkPrices(prices, mode.type);
  terms.checkMethod(store, params.default_payment_method, customer.id);
  const trialEnds = trialEndOf(store, params, items);
  checkDates(store, params, items, trialEnds);
  const code = items[0]?.price.currency ?? '';
  const { payment_settings: settings } = params;
  return createSubscription(store, {
    customer: customer.id,
    items,
    trialEnd: trialEnds,
    added: addedItemsFrom(call, params.add_invoice_items ?? [], { customer: customer.id, currency: code }),
    anchor: params.billing_cycle_anchor ?? null,
    startDate: params.backdate_start_date ?? null,
    prorates: params.proration_behavior !== 'none',
    cancelAt: params.cancel_at ?? null,
    details: {
      ...terms.billingFrom(store, params, {
        collection_method: 'charge_automatically',
        customer: customer.id,
        days_until_due: null,
      }),
      ...p.present({
        default_payment_method: params.default_payment_method,
        description: params.description,
      }),
      ...terms.trialSettingsFrom(params),
      billing_mode: mode,
      metadata: p.applyMetadata({}, params.metadata),
      payment_settings: {
        payment_method_options: null,
        payment_method_types: terms.listOrNull(settings?.payment_method_types),
        save_default_payment_method: settings?.save_default_payment_method ?? 'off',
      },
    },
    behavior: params.payment_behavior ?? 'allow_incomplete',
    cancelsAtPeriodEnd: params.cancel_at_period_end ?? false,
    discounts: wantedDiscounts(store, params.discounts ?? oldDiscounts(call, params) ?? [], {
      customer: customer.id,
      items,
      discounts: [],
    }),
    offSession: params.off_session ?? false,
  });
}

function resume(call: Call, before: Subscription, params: p.Parsed<typeof resumeParams>): Subscription {
  const { billing_cycle_anchor: anchor, payment_behavior: behavior } = params;
  terms.checkAnchor(call, anchor);
  return resumeSubscription(call.store, before, {
    anchor: anchor?.type ?? 'now',
    onSuccess: behavior === 'resume_on_payment_success',
  });
}

function hasStatus(status: string, wanted: string | undefined): boolean {
  if (wanted === undefined) return status !== 'canceled';
  if (wanted === 'all') return true;
  if (wanted === 'ended') return status === 'canceled' || status === 'incomplete_expired';
  return status === wanted;
}

/** The dates of a new subscription that are not now. */
function checkDates(
  store: Store,
  params: p.Parsed<typeof createParams>,
  items: readonly { readonly price: Price }[],
  trialEnds: number | null,
): void {
  const { backdate_start_date: start, billing_cycle_anchor: anchor, cancel_at: cancelAt } = params;
  const now = store.now();
  if (cancelAt !== undefined && params.cancel_at_period_end === true)
    throw badParam('Received both cancel_at_period_end and cancel_at parameters. Please pass in only one.');
  if (cancelAt !== undefined && cancelAt <= now)
    throw badParam('cancel_at must be in the future.', 'cancel_at');
  if (start !== undefined && start > now)
    throw badParam('backdate_start_date must be in the past.', 'backdate_start_date');
  if (anchor === undefined) return;
  if (trialEnds !== null)
    throw badParam('The sandbox cannot combine billing_cycle_anchor with a trial.', 'billing_cycle_anchor');
  const latest = Math.min(...items.map(({ price }) => cycleAt(price, now, now).end));
  if (anchor <= now || anchor > latest)
    throw badParam(
      `billing_cycle_anchor must be in the future, and cannot be later than the next natural billing date (${latest}).`,
      'billing_cycle_anchor',
    );
}

function trialEndOf(
  store: Store,
  params: Pick<p.Parsed<typeof createParams>, 'trial_end' | 'trial_from_plan' | 'trial_period_days'>,
  items: readonly { readonly price: Price }[],
): number | null {
  const { trial_end: end, trial_from_plan: fromPlan = false } = params;
  const ofPlan = items.find(({ price }) => price.recurring?.trial_period_days != null)?.price.recurring;
  const days = params.trial_period_days ?? (fromPlan ? (ofPlan?.trial_period_days ?? undefined) : undefined);
  if (end !== undefined && days !== undefined) throw exclusiveParams('trial_end', 'trial_period_days');
  if (days === 0 || end === 'now') return null;
  if (days !== undefined) return store.now() + days * 86_400;
  return end === undefined ? null : terms.checkTrialEnd(store, end);
}
