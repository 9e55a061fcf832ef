import { createSubscription } from '../billing/create-subscription.ts';
import { endDiscounts } from '../billing/discount.ts';
import { resumeSubscription } from '../billing/pause.ts';
import { cancelSubscription } from '../billing/subscription-change.ts';
import { existingCustomer } from '../payments/customer.ts';
import type { Store } from '../state/store.ts';
import { existing } from '../wire/existing.ts';
import type { Subscription } from '../wire/objects.ts';
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
import { discountsParam, wantedDiscounts } from './discount-params.ts';
import { Resource } from './resource.ts';
import {
  anchorParam,
  billablePrice,
  billingMode,
  billingModeOf,
  cancellationDetails,
  checkAnchor,
  checkMethod,
  checkPrices,
  checkQuantity,
  checkTrialEnd,
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

const createParams = {
  customer: required(text()),
  items: required(
    array(object({ price: required(text()), quantity: integer(0, quantityMax), metadata }), itemsMax),
  ),
  billing_mode: billingMode,
  cancel_at_period_end: bool,
  collection_method: oneOf('charge_automatically'),
  default_payment_method: text(),
  description: text(500),
  discounts: discountsParam,
  metadata,
  off_session: bool,
  payment_behavior: paymentBehavior,
  payment_settings: paymentSettings,
  proration_behavior: prorationBehavior,
  trial_end: trialEnd,
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
      return cancelSubscription(call.store, subscription, 'cancellation_requested', {
        comment: params.cancellation_details?.comment ?? null,
        feedback: params.cancellation_details?.feedback ?? null,
      });
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

function create({ store, baseUrl, version }: Call, params: Parsed<typeof createParams>): Subscription {
  const customer = existingCustomer(store, params.customer);
  if (params.items.length === 0)
    throw badParam('A subscription needs at least one item.', 'items', 'parameter_missing');
  const items = params.items.map(({ quantity, ...item }, index) => {
    const price = billablePrice(store, item.price, `items[${index}][price]`);
    checkQuantity(price, quantity, `items[${index}][quantity]`);
    return { price, quantity, metadata: applyMetadata({}, item.metadata) };
  });
  const mode = billingModeOf(params.billing_mode, version);
  checkPrices(
    items.map(({ price }) => price),
    mode.type,
  );
  checkMethod(store, params.default_payment_method, customer.id);
  return createSubscription(
    store,
    {
      customer: customer.id,
      items,
      trialEnd: trialEndOf(store, params),
      billingMode: mode,
      behavior: params.payment_behavior ?? 'allow_incomplete',
      defaultPaymentMethod: params.default_payment_method ?? null,
      savesPaymentMethod: params.payment_settings?.save_default_payment_method === 'on_subscription',
      paymentMethodTypes: listOrNull(params.payment_settings?.payment_method_types),
      missingPaymentMethod: params.trial_settings?.end_behavior.missing_payment_method ?? 'create_invoice',
      cancelAtPeriodEnd: params.cancel_at_period_end ?? false,
      description: params.description ?? null,
      discounts: wantedDiscounts(store, params.discounts ?? [], {
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

function trialEndOf(
  store: Store,
  params: Pick<Parsed<typeof createParams>, 'trial_end' | 'trial_period_days'>,
): number | null {
  const { trial_end: end, trial_period_days: days } = params;
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
