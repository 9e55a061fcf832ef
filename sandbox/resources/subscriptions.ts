import { createSubscription } from '../billing/create-subscription.ts';
import { endDiscounts } from '../billing/discount.ts';
import { resumeSubscription } from '../billing/pause.ts';
import { cycleAt } from '../billing/subscription-items.ts';
import { cancelNow } from '../billing/subscription-life.ts';
import { existingCustomer } from '../payments/customer.ts';
import { currency } from '../payments/money.ts';
import type { Store } from '../state/store.ts';
import { existing } from '../wire/existing.ts';
import type { Price, Subscription } from '../wire/objects.ts';
import type { Call, Operation } from '../wire/operation.ts';
import {
  applyMetadata,
  array,
  bool,
  integer,
  metadata,
  object,
  oneOf,
  type Parsed,
  required,
  text,
} from '../wire/params.ts';
import { badParam, missing } from '../wire/wire-error.ts';
import { discountsParam, oldDiscountParams, oldDiscounts, wantedDiscounts } from './discount-params.ts';
import { addedItemsFrom, addedItemsParam } from './invoice-item-amount.ts';
import { Resource } from './resource.ts';
import {
  anchorParam,
  billingFrom,
  billingMode,
  billingModeOf,
  billingParams,
  cancellationDetails,
  checkAnchor,
  checkMethod,
  checkPrices,
  checkQuantity,
  checkTrialEnd,
  itemPrice,
  itemPriceFields,
  itemsMax,
  listOrNull,
  paymentBehavior,
  paymentSettings,
  prorationBehavior,
  quantityMax,
  trialDaysMax,
  trialEnd,
  trialSettings,
} from './subscription-params.ts';
import { updateFrom, updateParams } from './subscription-update.ts';
import { taxRatesFrom } from './tax-rates.ts';

const createParams = {
  customer: required(text()),
  items: required(
    array(object({ ...itemPriceFields, quantity: integer(0, quantityMax), metadata }), itemsMax),
  ),
  ...billingParams,
  ...oldDiscountParams,
  add_invoice_items: addedItemsParam,
  backdate_start_date: integer(),
  billing_cycle_anchor: integer(),
  billing_mode: billingMode,
  cancel_at: integer(),
  cancel_at_period_end: bool,
  currency,
  default_payment_method: text(),
  description: text(500),
  discounts: discountsParam,
  metadata,
  off_session: bool,
  payment_behavior: paymentBehavior,
  payment_settings: paymentSettings,
  proration_behavior: prorationBehavior,
  trial_end: trialEnd,
  trial_from_plan: bool,
  trial_period_days: integer(0, trialDaysMax),
  trial_settings: trialSettings,
};

const resumeParams = {
  billing_cycle_anchor: anchorParam,
  payment_behavior: oneOf('resume_on_payment_attempt', 'resume_on_payment_success'),
  proration_behavior: prorationBehavior,
  proration_date: integer(),
};

const statuses = [
  'active',
  'canceled',
  'incomplete',
  'incomplete_expired',
  'past_due',
  'paused',
  'trialing',
  'unpaid',
] as const;

const subscriptions = new Resource('subscriptions', (store) => store.subscriptions);

export const subscriptionOperations: readonly Operation[] = [
  subscriptions.operation('create', 'POST', createParams, create),
  subscriptions.retrieve(),
  subscriptions.operation('update', 'POST *', updateParams, (call, params) =>
    updateFrom(call, subscriptions.existing(call), params),
  ),
  subscriptions.operation(
    'cancel',
    'DELETE *',
    { invoice_now: bool, prorate: bool, cancellation_details: cancellationDetails },
    (call, params) => {
      const subscription = subscriptions.existing(call);
      // The processor responds with 404 if a subscription has already ended.
      if (subscription.ended_at !== null) throw missing('subscription', subscription.id);
      return cancelNow(
        call.store,
        subscription,
        {
          prorates: params.prorate ?? false,
          invoicesNow: params.invoice_now ?? false,
          ...params.cancellation_details,
        },
        call.baseUrl,
      );
    },
  ),
  subscriptions.operation('delete_discount', 'DELETE */discount', {}, (call) => {
    const subscription = subscriptions.existing(call);
    const [last] = subscription.discounts.slice(-1);
    const discount = last === undefined ? undefined : call.store.discounts.get(last);
    if (discount === undefined) throw missing('discount', subscription.id);
    endDiscounts(call.store, subscription, [discount.id]);
    const { end: _, ...rest } = discount;
    return { ...rest, deleted: true };
  }),
  subscriptions.operation('resume', 'POST */resume', resumeParams, resume),
  subscriptions.list(
    { customer: text(), price: text(), status: oneOf(...statuses, 'all', 'ended'), test_clock: text() },
    {
      check: (store, { test_clock: id }) => {
        if (id !== undefined) existing(store.testClocks, id, 'test_clock');
      },
      within: ({ customer, test_clock }) => ({ customer, test_clock }),
      // Subscriptions of a test clock are listed only by their clock or their customer.
      where: (_store, params) => (subscription) =>
        (subscription.test_clock === null || (params.customer ?? params.test_clock) !== undefined) &&
        hasStatus(subscription.status, params.status) &&
        (params.price === undefined ||
          subscription.items.data.some(({ price }) => price.id === params.price)),
    },
  ),
  subscriptions.search(),
];

function create(call: Call, params: Parsed<typeof createParams>): Subscription {
  const { store, baseUrl, version } = call;
  const customer = existingCustomer(store, params.customer);
  if (params.items.length === 0)
    throw badParam('A subscription needs at least one item.', 'items', 'parameter_missing');
  const items = params.items.map(({ quantity, ...item }, index) => {
    const path = (field: string) => `items[${index}][${field}]`;
    const price = itemPrice(store, item, path, params.currency);
    if (price === undefined)
      throw badParam(`Missing required param: ${path('price')}.`, path('price'), 'parameter_missing');
    checkQuantity(price, quantity, path('quantity'));
    const taxRates = taxRatesFrom(store, item.tax_rates, path('tax_rates'));
    return { price, quantity, metadata: applyMetadata({}, item.metadata), taxRates };
  });
  const mode = billingModeOf(params.billing_mode, version);
  checkPrices(
    items.map(({ price }) => price),
    mode.type,
  );
  checkMethod(store, params.default_payment_method, customer.id);
  const trialEnds = trialEndOf(store, params, items);
  checkDates(store, params, items, trialEnds);
  const code = items[0]?.price.currency ?? '';
  return createSubscription(
    store,
    {
      customer: customer.id,
      items,
      trialEnd: trialEnds,
      added: addedItemsFrom(call, params.add_invoice_items ?? [], { customer: customer.id, currency: code }),
      anchor: params.billing_cycle_anchor ?? null,
      startDate: params.backdate_start_date ?? null,
      prorates: params.proration_behavior !== 'none',
      cancelAt: params.cancel_at ?? null,
      details: billingFrom(store, params, {
        collection_method: 'charge_automatically',
        customer: customer.id,
        days_until_due: null,
      }),
      billingMode: mode,
      behavior: params.payment_behavior ?? 'allow_incomplete',
      defaultPaymentMethod: params.default_payment_method ?? null,
      savesPaymentMethod: params.payment_settings?.save_default_payment_method === 'on_subscription',
      paymentMethodTypes: listOrNull(params.payment_settings?.payment_method_types),
      missingPaymentMethod: params.trial_settings?.end_behavior.missing_payment_method ?? 'create_invoice',
      cancelAtPeriodEnd: params.cancel_at_period_end ?? false,
      description: params.description ?? null,
      discounts: wantedDiscounts(store, params.discounts ?? oldDiscounts(call, params) ?? [], {
        customer: customer.id,
        items,
        discounts: [],
      }),
      metadata: applyMetadata({}, params.metadata),
      offSession: params.off_session ?? false,
    },
    baseUrl,
  );
}

function resume(call: Call, params: Parsed<typeof resumeParams>): Subscription {
  const { billing_cycle_anchor: anchor, payment_behavior: behavior } = params;
  checkAnchor(call, anchor);
  return resumeSubscription(
    call.store,
    subscriptions.existing(call),
    { anchor: anchor?.type ?? 'now', onSuccess: behavior === 'resume_on_payment_success' },
    call.baseUrl,
  );
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
  params: Parsed<typeof createParams>,
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
  params: Pick<Parsed<typeof createParams>, 'trial_end' | 'trial_from_plan' | 'trial_period_days'>,
  items: readonly { readonly price: Price }[],
): number | null {
  const { trial_end: end, trial_from_plan: fromPlan = false } = params;
  const ofPlan = items.find(({ price }) => price.recurring?.trial_period_days != null)?.price.recurring;
  const days = params.trial_period_days ?? (fromPlan ? (ofPlan?.trial_period_days ?? undefined) : undefined);
  if (end !== undefined && days !== undefined)
    throw badParam(
      'Only one of trial_end and trial_period_days may be given.',
      'trial_end',
      'parameters_exclusive',
    );
  if (days === 0 || end === 'now') return null;
  if (days !== undefined) return store.now() + days * 86_400;
  return end === undefined ? null : checkTrialEnd(store, end);
}
