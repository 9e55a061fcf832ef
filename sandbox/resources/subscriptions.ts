import { createSubscription } from '../billing/create-subscription.ts';
import { cancelSubscription, updateSubscription } from '../billing/subscription-change.ts';
import { periodOf } from '../billing/subscription-life.ts';
import { changedItems, changeItems } from '../billing/update-subscription.ts';
import { existingCustomer } from '../payments/customer.ts';
import type { Store } from '../state/store.ts';
import type { Price, Subscription } from '../wire/objects.ts';
import {
  type Call,
  createdParam,
  cursorOf,
  listOf,
  listParams,
  type Operation,
  operation,
} from '../wire/operation.ts';
import {
  applyMetadata,
  array,
  bool,
  clearable,
  integer,
  metadata,
  object,
  oneOf,
  type Parsed,
  required,
  text,
} from '../wire/params.ts';
import { badParam, missing, wrongState } from '../wire/wire-error.ts';
import { existingPrice } from './prices.ts';
import { searchOperation } from './search.ts';

/** The processor's own limits. */
const itemsMax = 20;
const trialDaysMax = 730;
const quantityMax = 1_000_000;

const cancellationDetails = object({
  comment: clearable(text()),
  feedback: clearable(
    oneOf(
      'customer_service',
      'low_quality',
      'missing_features',
      'other',
      'switched_service',
      'too_complex',
      'too_expensive',
      'unused',
    ),
  ),
});
const paymentSettings = object({ save_default_payment_method: oneOf('off', 'on_subscription') });
const trialSettings = object({
  end_behavior: required(
    object({ missing_payment_method: required(oneOf('cancel', 'create_invoice', 'pause')) }),
  ),
});

const createParams = {
  customer: required(text()),
  items: required(
    array(object({ price: required(text()), quantity: integer(0, quantityMax), metadata }), itemsMax),
  ),
  cancel_at_period_end: bool,
  collection_method: oneOf('charge_automatically'),
  currency: text(3),
  default_payment_method: text(),
  description: text(500),
  metadata,
  off_session: bool,
  payment_behavior: oneOf('allow_incomplete', 'default_incomplete', 'error_if_incomplete'),
  payment_settings: paymentSettings,
  proration_behavior: oneOf('always_invoice', 'create_prorations', 'none'),
  trial_end: integer(),
  trial_period_days: integer(0, trialDaysMax),
  trial_settings: trialSettings,
};

const updateParams = {
  items: array(
    object({ id: text(), price: text(), quantity: integer(0, quantityMax), deleted: bool, metadata }),
    itemsMax,
  ),
  cancel_at: clearable(integer()),
  cancel_at_period_end: bool,
  cancellation_details: cancellationDetails,
  default_payment_method: clearable(text()),
  description: clearable(text(500)),
  metadata,
  off_session: bool,
  payment_behavior: createParams.payment_behavior,
  payment_settings: paymentSettings,
  proration_behavior: createParams.proration_behavior,
  trial_settings: trialSettings,
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

export const subscriptionOperations: readonly Operation[] = [
  operation({ name: 'subscriptions.create', method: 'POST', path: 'subscriptions' }, createParams, create),
  operation({ name: 'subscriptions.retrieve', method: 'GET', path: 'subscriptions/*' }, {}, existing),
  operation({ name: 'subscriptions.update', method: 'POST', path: 'subscriptions/*' }, updateParams, update),
  operation(
    { name: 'subscriptions.cancel', method: 'DELETE', path: 'subscriptions/*' },
    { invoice_now: bool, prorate: bool, cancellation_details: cancellationDetails },
    (call, params) => {
      const subscription = existing(call);
      // One that has ended cannot be found any more by whoever wants to end it.
      if (subscription.ended_at !== null) throw missing('subscription', subscription.id);
      return cancelSubscription(call.store, subscription, 'cancellation_requested', {
        comment: params.cancellation_details?.comment ?? null,
        feedback: params.cancellation_details?.feedback ?? null,
      });
    },
  ),
  operation(
    { name: 'subscriptions.list', method: 'GET', path: 'subscriptions' },
    {
      ...listParams,
      ...createdParam,
      customer: text(),
      price: text(),
      status: oneOf(...statuses, 'all', 'ended'),
    },
    ({ store }, params) =>
      listOf(
        '/v1/subscriptions',
        store.subscriptions.list({
          ...cursorOf(params, (id) => store.subscriptions.get(id) !== undefined),
          created: params.created,
          within: params.customer === undefined ? undefined : { index: 'customer', key: params.customer },
          where: ({ status, items }) =>
            hasStatus(status, params.status) &&
            (params.price === undefined || items.data.some(({ price }) => price.id === params.price)),
        }),
      ),
  ),
  searchOperation('subscriptions', (store) => store.subscriptions),
];

function create({ store, baseUrl }: Call, params: Parsed<typeof createParams>): Subscription {
  const customer = existingCustomer(store, params.customer);
  if (params.items.length === 0)
    throw badParam('A subscription needs at least one item.', 'items', 'parameter_missing');
  const items = params.items.map((item, index) => ({
    price: billablePrice(store, item.price, `items[${index}][price]`),
    quantity: item.quantity ?? 1,
    metadata: applyMetadata({}, item.metadata),
  }));
  checkAlike(items.map(({ price }) => price));
  checkMethod(store, params.default_payment_method, customer.id);
  return createSubscription(
    store,
    {
      customer: customer.id,
      items,
      trialEnd: trialEndOf(store, params),
      behavior: params.payment_behavior ?? 'allow_incomplete',
      defaultPaymentMethod: params.default_payment_method ?? null,
      savesPaymentMethod: params.payment_settings?.save_default_payment_method === 'on_subscription',
      missingPaymentMethod: params.trial_settings?.end_behavior.missing_payment_method ?? 'create_invoice',
      cancelAtPeriodEnd: params.cancel_at_period_end ?? false,
      description: params.description ?? null,
      metadata: applyMetadata({}, params.metadata),
      offSession: params.off_session ?? false,
    },
    baseUrl,
  );
}

function update(call: Call, params: Parsed<typeof updateParams>): Subscription {
  const { store } = call;
  const before = existing(call);
  const { metadata: _, cancellation_details: __, ...others } = params;
  if (before.ended_at !== null && Object.keys(others).length > 0)
    throw wrongState(
      'A canceled subscription can only update its cancellation_details and metadata.',
      'invalid_canceled_subscription_fields',
    );
  if (params.default_payment_method !== null)
    checkMethod(store, params.default_payment_method, before.customer);
  const moved = params.items === undefined ? before : moveItems(call, before, params.items);
  return updateSubscription(store, moved, {
    ...cancellationOf(store, moved, params),
    ...(params.default_payment_method === undefined
      ? {}
      : { default_payment_method: params.default_payment_method }),
    ...(params.description === undefined ? {} : { description: params.description }),
    ...(params.metadata === undefined ? {} : { metadata: applyMetadata(before.metadata, params.metadata) }),
    ...(params.payment_settings?.save_default_payment_method === undefined || before.payment_settings === null
      ? {}
      : {
          payment_settings: {
            ...before.payment_settings,
            save_default_payment_method: params.payment_settings.save_default_payment_method,
          },
        }),
    ...(params.trial_settings === undefined
      ? {}
      : {
          trial_settings: {
            end_behavior: { billing_cycle_anchor: null, ...params.trial_settings.end_behavior },
          },
        }),
  });
}

function moveItems(
  { store, baseUrl }: Call,
  before: Subscription,
  given: NonNullable<Parsed<typeof updateParams>['items']>,
): Subscription {
  const changes = given.map((item, index) => ({
    id: item.id,
    price: item.price === undefined ? undefined : billablePrice(store, item.price, `items[${index}][price]`),
    quantity: item.quantity,
    metadata: item.metadata === undefined ? undefined : applyMetadata({}, item.metadata),
    deleted: item.deleted ?? false,
  }));
  const items = changedItems(store, before, changes);
  checkAlike(items.data.map(({ price }) => price));
  if (items.data[0]?.price.currency !== before.currency)
    throw badParam(`The price must be in ${before.currency}, as the subscription is.`, 'items');
  return changeItems(store, before, items, baseUrl);
}

function cancellationOf(
  store: Store,
  subscription: Subscription,
  params: Parsed<typeof updateParams>,
): Partial<Subscription> {
  const { cancel_at: at, cancel_at_period_end: atPeriodEnd, cancellation_details: details } = params;
  if (at != null && atPeriodEnd !== undefined)
    throw badParam(
      'Only one of cancel_at and cancel_at_period_end may be given.',
      'cancel_at',
      'parameters_exclusive',
    );
  if (at != null && at <= store.now()) throw badParam('cancel_at must be in the future.', 'cancel_at');
  const cancelAt = atPeriodEnd === true ? periodOf(subscription).end : atPeriodEnd === false ? null : at;
  return {
    ...(cancelAt === undefined
      ? {}
      : {
          cancel_at: cancelAt,
          cancel_at_period_end: atPeriodEnd ?? false,
          canceled_at: cancelAt === null ? null : store.now(),
        }),
    ...(cancelAt === undefined && details === undefined
      ? {}
      : {
          cancellation_details: {
            comment: details?.comment ?? subscription.cancellation_details?.comment ?? null,
            feedback: details?.feedback ?? subscription.cancellation_details?.feedback ?? null,
            feedback_option: null,
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

function existing({ store, ids: [id = ''] }: Call): Subscription {
  const subscription = store.subscriptions.get(id);
  if (subscription === undefined) throw missing('subscription', id);
  return subscription;
}

function hasStatus(status: string, wanted: string | undefined): boolean {
  if (wanted === undefined) return status !== 'canceled';
  if (wanted === 'all') return true;
  if (wanted === 'ended') return status === 'canceled' || status === 'incomplete_expired';
  return status === wanted;
}

function billablePrice(store: Store, id: string, param: string): Price {
  const price = existingPrice(store, id, param);
  if (!price.active)
    throw badParam('The price specified is inactive. This field only accepts active prices.', param);
  if (price.recurring === null)
    throw badParam(
      `The price specified is set to \`type=one_time\` but this field only accepts prices with \`type=recurring\`.`,
      param,
    );
  return price;
}

/** All items are billed together, so they must agree on currency and interval. */
function checkAlike(prices: readonly Price[]): void {
  const [first, ...others] = prices;
  for (const price of others) {
    if (price.currency !== first?.currency)
      throw badParam('All prices on a subscription must be in one currency.', 'items');
    if (
      price.recurring?.interval !== first.recurring?.interval ||
      price.recurring?.interval_count !== first.recurring?.interval_count
    )
      throw badParam('All prices on a subscription must have the same `recurring.interval`.', 'items');
  }
}

function checkMethod(store: Store, id: string | undefined, customer: string): void {
  if (id !== undefined && store.paymentMethods.get(id)?.customer !== customer)
    throw missing('PaymentMethod', id, 'default_payment_method');
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
  if (end !== undefined && (end <= store.now() || end > store.now() + trialDaysMax * 86_400))
    throw badParam('trial_end must be in the future, by two years at most.', 'trial_end');
  if (days === 0) return null;
  return days === undefined ? (end ?? null) : store.now() + days * 86_400;
}
