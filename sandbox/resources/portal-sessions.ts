import { existingCustomer } from '../payments/customer.ts';
import type { Store } from '../state/store.ts';
import { nulls } from '../wire/nulls.ts';
import type { PortalConfiguration, PortalSession, Subscription } from '../wire/objects.ts';
import type { Call } from '../wire/operation.ts';
import * as p from '../wire/params.ts';
import { missing, missingParam, wrongState } from '../wire/wire-error.ts';
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

const subscription = p.required(p.text());
const flowParams = {
  // The names of an object are its keys.
  type: p.required(p.oneOf(...(Object.keys(flowFeatures) as FlowType[]))),
  after_completion: p.object({
    type: p.required(p.oneOf('hosted_confirmation', 'portal_homepage', 'redirect')),
    hosted_confirmation: p.object({ custom_message: p.text(500) }),
    redirect: p.object({ return_url: p.required(p.url) }),
  }),
  subscription_cancel: p.object({
    subscription,
    retention: p.object({
      type: p.required(p.oneOf('coupon_offer')),
      coupon_offer: p.required(p.object({ coupon: p.required(p.text()) })),
    }),
  }),
  subscription_update: p.object({ subscription }),
  subscription_update_confirm: p.object({
    subscription,
    items: p.required(
      p.array(
        p.object({ id: p.required(p.text()), price: p.text(), quantity: p.integer(0, quantityMax) }),
        1,
      ),
    ),
    discounts: p.array(p.object({ coupon: p.text(), promotion_code: p.text() }), 1),
  }),
};
type FlowParams = p.Parsed<typeof flowParams>;

const sessions = new Resource('portal_sessions', (store) => store.portalSessions, {
  path: 'billing_portal/sessions',
});

export const portalSessionOperations = [
  sessions.create(
    {
      configuration: p.text(),
      customer: p.required(p.text()),
      flow_data: p.object(flowParams),
      locale,
      return_url: p.url,
    },
    (call, params) => {
      const { store } = call;
      const customer = existingCustomer(store, params.customer);
      const configuration =
        params.configuration === undefined
          ? defaultConfiguration(call)
          : store.portalConfigurations.existing(params.configuration, 'configuration');
      if (!configuration.active)
        throw wrongState(`The configuration ${configuration.id} is not active, so it cannot be used.`);
      const blank = store.blank(store.portalSessions, 'billing_portal.session', store.worldNow());
      return store.record('billing_portal.session.created', store.portalSessions, {
        ...blank,
        configuration: configuration.id,
        customer: customer.id,
        customer_account: null,
        flow:
          params.flow_data === undefined
            ? null
            : flowFrom(call, configuration, customer.id, params.flow_data),
        locale: params.locale ?? null,
        on_behalf_of: null,
        return_url: params.return_url ?? configuration.default_return_url,
        url: `${store.baseUrl()}/sandbox/portal/${blank.id}`,
      });
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
  const { type, subscription_cancel: cancel, subscription_update_confirm: confirm } = given;
  if (!configuration.features[flowFeatures[type]].enabled) throw disabled(type);
  const flow = {
    ...nulls('customer_update subscription_cancel subscription_pause subscription_update'),
    subscription_update_confirm: null,
    after_completion: completionFrom(given.after_completion),
    type,
  };
  if (type === 'payment_method_update') return flow;
  if (type === 'customer_update') return { ...flow, customer_update: {} };
  const details = given[type];
  if (details === undefined) throw missingParam(`flow_data[${type}]`);
  const { subscription } = details;
  const found = subscriptionOf(store, customer, subscription, `flow_data[${type}][subscription]`);
  if (type === 'subscription_cancel') {
    checkCancelable(found);
    return {
      ...flow,
      subscription_cancel: { subscription, retention: retentionFrom(store, cancel?.retention) },
    };
  }
  checkUpdatable(found);
  if (type === 'subscription_update') return { ...flow, subscription_update: { subscription } };
  const { discounts, items = [] } = confirm ?? {};
  checkConfirmable(configuration, found, items);
  return {
    ...flow,
    subscription_update_confirm: {
      discounts:
        discounts?.map((given) => ({ ...nulls('coupon promotion_code'), ...p.present(given) })) ?? null,
      items: items.map(({ id, ...change }) => ({ id, price: null, ...p.present(change) })),
      subscription,
    },
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
    coupon_offer: { coupon: store.coupons.existing(given.coupon_offer.coupon, param).id },
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
  const found = store.subscriptions.existing(id, param);
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
