import { existingCustomer } from '../payments/customer.ts';
import type { Store } from '../state/store.ts';
import { existing } from '../wire/existing.ts';
import type { PortalConfiguration, PortalSession, Subscription } from '../wire/objects.ts';
import type { Call, Operation } from '../wire/operation.ts';
import { array, integer, object, oneOf, type Parsed, required, text, url } from '../wire/params.ts';
import { badParam, missing, wrongState } from '../wire/wire-error.ts';
import { locale } from './locale.ts';
import { defaultConfiguration } from './portal-configurations.ts';
import { Resource } from './resource.ts';
import { quantityMax } from './subscription-params.ts';

/** The feature of the configuration that each flow needs. */
const flowFeatures = {
  customer_update: 'customer_update',
  payment_method_update: 'payment_method_update',
  subscription_cancel: 'subscription_cancel',
  subscription_update: 'subscription_update',
  subscription_update_confirm: 'subscription_update',
} as const;
type FlowType = keyof typeof flowFeatures;

const subscription = required(text());
const flowParams = {
  // The names of an object are its keys.
  type: required(oneOf(...(Object.keys(flowFeatures) as FlowType[]))),
  after_completion: object({
    type: required(oneOf('hosted_confirmation', 'portal_homepage', 'redirect')),
    hosted_confirmation: object({ custom_message: text(500) }),
    redirect: object({ return_url: required(url) }),
  }),
  subscription_cancel: object({
    subscription,
    retention: object({
      type: required(oneOf('coupon_offer')),
      coupon_offer: required(object({ coupon: required(text()) })),
    }),
  }),
  subscription_update: object({ subscription }),
  subscription_update_confirm: object({
    subscription,
    items: required(
      array(object({ id: required(text()), price: text(), quantity: integer(0, quantityMax) }), 1),
    ),
    discounts: array(object({ coupon: text(), promotion_code: text() }), 1),
  }),
};
type FlowParams = Parsed<typeof flowParams>;

const sessions = new Resource('portal_sessions', (store) => store.portalSessions, {
  path: 'billing_portal/sessions',
});

export const portalSessionOperations: readonly Operation[] = [
  sessions.operation(
    'create',
    'POST',
    {
      configuration: text(),
      customer: required(text()),
      flow_data: object(flowParams),
      locale,
      return_url: url,
    },
    (call, params) => {
      const { store, baseUrl } = call;
      const customer = existingCustomer(store, params.customer);
      const configuration =
        params.configuration === undefined
          ? defaultConfiguration(call)
          : existing(store.portalConfigurations, params.configuration, 'configuration');
      if (!configuration.active)
        throw wrongState(`The configuration ${configuration.id} is not active, so it cannot be used.`);
      const id = store.portalSessions.newId();
      const session = store.put(store.portalSessions, {
        id,
        object: 'billing_portal.session',
        configuration: configuration.id,
        created: store.worldNow(),
        customer: customer.id,
        customer_account: null,
        flow:
          params.flow_data === undefined
            ? null
            : flowFrom(call, configuration, customer.id, params.flow_data),
        livemode: false,
        locale: params.locale ?? null,
        on_behalf_of: null,
        return_url: params.return_url ?? configuration.default_return_url,
        url: `${baseUrl}/sandbox/portal/${id}`,
      });
      store.emit('billing_portal.session.created', session);
      return session;
    },
  ),
];

type Flow = NonNullable<PortalSession['flow']>;

function flowFrom(
  { store }: Call,
  configuration: PortalConfiguration,
  customer: string,
  given: FlowParams,
): Flow {
  const { type, subscription_cancel: cancel, subscription_update: update } = given;
  const { subscription_update_confirm: confirm } = given;
  if (!configuration.features[flowFeatures[type]].enabled) throw disabled(type);
  if (type !== 'customer_update' && type !== 'payment_method_update') {
    const details = given[type];
    if (details === undefined) throw missingParam(`flow_data[${type}]`);
    const found = subscriptionOf(store, customer, details.subscription, `flow_data[${type}][subscription]`);
    if (type === 'subscription_cancel') checkCancelable(found);
    else checkUpdatable(found);
    if (type === 'subscription_update_confirm') checkConfirmable(configuration, found, confirm?.items ?? []);
  }
  return {
    after_completion: completionFrom(given.after_completion),
    customer_update: type === 'customer_update' ? {} : null,
    subscription_cancel:
      cancel === undefined || type !== 'subscription_cancel'
        ? null
        : { subscription: cancel.subscription, retention: retentionFrom(store, cancel.retention) },
    subscription_pause: null,
    subscription_update:
      update === undefined || type !== 'subscription_update' ? null : { subscription: update.subscription },
    subscription_update_confirm:
      confirm === undefined || type !== 'subscription_update_confirm'
        ? null
        : {
            discounts:
              confirm.discounts?.map(({ coupon = null, promotion_code = null }) => ({
                coupon,
                promotion_code,
              })) ?? null,
            items: confirm.items.map(({ id, price = null, quantity }) => ({
              id,
              price,
              ...(quantity === undefined ? {} : { quantity }),
            })),
            subscription: confirm.subscription,
          },
    type,
  };
}

function retentionFrom(
  store: Store,
  given: NonNullable<FlowParams['subscription_cancel']>['retention'],
): NonNullable<Flow['subscription_cancel']>['retention'] {
  if (given === undefined) return null;
  const param = 'flow_data[subscription_cancel][retention][coupon_offer][coupon]';
  return {
    type: given.type,
    coupon_offer: { coupon: existing(store.coupons, given.coupon_offer.coupon, param).id },
  };
}

function completionFrom(given: FlowParams['after_completion']): Flow['after_completion'] {
  const type = given?.type ?? 'portal_homepage';
  if (type === 'redirect' && given?.redirect === undefined)
    throw missingParam('flow_data[after_completion][redirect]');
  return {
    hosted_confirmation:
      type === 'hosted_confirmation'
        ? { custom_message: given?.hosted_confirmation?.custom_message ?? null }
        : null,
    redirect: type === 'redirect' ? (given?.redirect ?? null) : null,
    type,
  };
}

function subscriptionOf(store: Store, customer: string, id: string, param: string): Subscription {
  const found = existing(store.subscriptions, id, param);
  if (found.customer !== customer) throw missing('subscription', id, param);
  return found;
}

function checkCancelable({ ended_at, cancel_at }: Subscription): void {
  if (ended_at !== null)
    throw wrongState('This subscription cannot be canceled because it has already ended.');
  if (cancel_at !== null) throw wrongState('The subscription is already set to be canceled at period end.');
}

function checkUpdatable({ ended_at, items }: Subscription): void {
  if (ended_at !== null) throw wrongState('This subscription cannot be updated because it has ended.');
  if (items.data.length > 1)
    throw wrongState('This subscription cannot be updated because it contains multiple items.');
}

function checkConfirmable(
  configuration: PortalConfiguration,
  { items }: Subscription,
  given: NonNullable<FlowParams['subscription_update_confirm']>['items'],
): void {
  for (const { id, price, quantity } of given) {
    const item = items.data.find((one) => one.id === id);
    if (item === undefined)
      throw missing('subscription item', id, 'flow_data[subscription_update_confirm][items][0][id]');
    const isOffered = configuration.features.subscription_update.products?.some(
      ({ prices }) => price !== undefined && prices.includes(price),
    );
    if (price !== undefined && price !== item.price.id && !isOffered)
      throw wrongState(
        `Item \`${id}\` cannot be updated to price \`${price}\` because the configuration \`${configuration.id}\` does not include the price in its \`features[subscription_update][products]\`.`,
      );
    if ((price ?? item.price.id) === item.price.id && (quantity ?? item.quantity) === item.quantity)
      throw wrongState('This subscription cannot be updated because there are no changes to confirm.');
  }
}

function disabled(type: FlowType) {
  const isUpdate = flowFeatures[type] === 'subscription_update';
  return wrongState(
    isUpdate
      ? 'This subscription cannot be updated because the subscription update feature in the portal configuration is disabled.'
      : `The flow ${type} cannot be used because this feature of the portal configuration is disabled.`,
  );
}

function missingParam(param: string) {
  return badParam(`Missing required param: ${param}.`, param, 'parameter_missing');
}
