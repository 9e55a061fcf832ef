import { changeDiscounts } from '../billing/discount.ts';
import { updateSubscription } from '../billing/subscription-change.ts';
import { periodOf } from '../billing/subscription-items.ts';
import { followItems } from '../billing/subscription-schedule.ts';
import { endTrial, moveTrial } from '../billing/trial.ts';
import { changedItems, changeItems } from '../billing/update-subscription.ts';
import type { Store } from '../state/store.ts';
import type { Subscription } from '../wire/objects.ts';
import type { Call } from '../wire/operation.ts';
import {
  applyMetadata,
  array,
  bool,
  clearable,
  integer,
  metadata,
  object,
  type Parsed,
  text,
} from '../wire/params.ts';
import { badParam, wrongState } from '../wire/wire-error.ts';
import { discountsParam, wantedDiscounts } from './discount-params.ts';
import {
  billablePrice,
  cancellationDetails,
  checkAlike,
  checkMethod,
  checkTrialEnd,
  itemsMax,
  pauseCollection,
  paymentBehavior,
  paymentSettings,
  prorationBehavior,
  quantityMax,
  trialEnd,
  trialSettings,
} from './subscription-params.ts';

export const updateParams = {
  items: array(
    object({ id: text(), price: text(), quantity: integer(0, quantityMax), deleted: bool, metadata }),
    itemsMax,
  ),
  cancel_at: clearable(integer()),
  cancel_at_period_end: bool,
  cancellation_details: cancellationDetails,
  default_payment_method: clearable(text()),
  description: clearable(text(500)),
  discounts: discountsParam,
  metadata,
  off_session: bool,
  pause_collection: pauseCollection,
  payment_behavior: paymentBehavior,
  payment_settings: paymentSettings,
  proration_behavior: prorationBehavior,
  trial_end: trialEnd,
  trial_settings: trialSettings,
};

/** Applies the parameters. Once a subscription has ended, only its annotations can change. */
export function updateFrom(
  call: Call,
  before: Subscription,
  params: Parsed<typeof updateParams>,
): Subscription {
  const { store } = call;
  const { metadata: _, cancellation_details: __, ...others } = params;
  if (before.ended_at !== null && Object.keys(others).length > 0)
    throw wrongState(
      'This subscription has ended. Only its metadata and cancellation_details can be changed.',
      'invalid_canceled_subscription_fields',
    );
  checkSchedule(before, params);
  if (params.default_payment_method !== null)
    checkMethod(store, params.default_payment_method, before.customer);
  const discounted = withDiscounts(store, before, params);
  const moved = params.items === undefined ? discounted : moveItems(call, discounted, params.items);
  if (params.items !== undefined) followItems(store, moved);
  const updated = updateSubscription(store, moved, {
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
    ...pauseFrom(store, params),
  });
  // The end of the trial comes last, because it may charge the customer with the other changes.
  const { trial_end: end } = params;
  if (end === undefined) return updated;
  if (end === 'now') return endTrial(store, updated, call.baseUrl);
  return moveTrial(store, updated, checkTrialEnd(store, end), call.baseUrl);
}

/** A schedule decides when its subscription ends. Items can be changed beside it. */
function checkSchedule({ schedule }: Subscription, params: Parsed<typeof updateParams>): void {
  const cancels = params.cancel_at !== undefined || params.cancel_at_period_end !== undefined;
  if (schedule !== null && cancels)
    throw wrongState(
      `The subscription is managed by the subscription schedule \`${schedule}\`, and updating any cancelation behavior directly is not allowed. Please update the schedule instead.`,
    );
}

/** The discounts come first, so that what the other changes bill has them. An empty list changes nothing. */
function withDiscounts(
  store: Store,
  before: Subscription,
  { discounts: given }: Parsed<typeof updateParams>,
): Subscription {
  if (given === undefined || given?.length === 0) return before;
  const items = before.items.data.map(({ price, quantity }) => ({ price, quantity: quantity ?? 1 }));
  const { customer, discounts } = before;
  const wanted = wantedDiscounts(store, given ?? [], { customer, items, discounts });
  return updateSubscription(store, before, { discounts: changeDiscounts(store, before, wanted) });
}

function pauseFrom(
  store: Store,
  { pause_collection: pause }: Parsed<typeof updateParams>,
): Partial<Subscription> {
  if (pause == null) return pause === null ? { pause_collection: null } : {};
  const { behavior, resumes_at: resumesAt = null } = pause;
  if (resumesAt !== null && resumesAt <= store.now())
    throw badParam('pause_collection[resumes_at] must be in the future.', 'pause_collection[resumes_at]');
  return { pause_collection: { behavior, resumes_at: resumesAt } };
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
    throw badParam(`The price must be in ${before.currency}, the currency of the subscription.`, 'items');
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
