import type Stripe from 'stripe';
import type { Store } from '../state/store.ts';
import type { PortalConfiguration } from '../wire/objects.ts';
import type { Call } from '../wire/operation.ts';
import * as p from '../wire/params.ts';
import { Resource } from './resource.ts';
import { feedbackOptions, prorationBehavior } from './subscription-params.ts';

/** The processor's own limits. */
const headlineLengthMax = 60;
const productsMax = 10;
const pricesMax = 100;

const productParam = p.object({
  product: p.required(p.text()),
  prices: p.required(p.array(p.text(), pricesMax)),
  adjustable_quantity: p.object({ enabled: p.required(p.bool), minimum: p.integer(), maximum: p.integer(1) }),
});
type Product = Stripe.BillingPortal.Configuration.Features.SubscriptionUpdate.Product;
const products: p.Parser<Product[]> = (node, path) =>
  listOf(productParam, productsMax)(node, path).map(
    ({ product, prices, adjustable_quantity: adjustable }) => ({
      adjustable_quantity: {
        enabled: adjustable?.enabled ?? false,
        maximum: adjustable?.maximum ?? null,
        minimum: adjustable?.minimum ?? 1,
      },
      prices: [...prices],
      product,
    }),
  );

const condition = p.object({ type: p.required(p.oneOf('decreasing_item_amount', 'shortening_interval')) });

const features = p.object({
  customer_update: p.object({
    allowed_updates: wordsOf('address', 'email', 'name', 'phone', 'shipping', 'tax_id'),
    enabled: p.bool,
  }),
  invoice_history: p.object({ enabled: p.required(p.bool) }),
  payment_method_update: p.object({
    enabled: p.required(p.bool),
    payment_method_configuration: p.clearable(p.text()),
  }),
  subscription_cancel: p.object({
    cancellation_reason: p.object({ enabled: p.required(p.bool), options: wordsOf(...feedbackOptions) }),
    enabled: p.bool,
    mode: p.oneOf('at_period_end', 'immediately'),
    proration_behavior: prorationBehavior,
  }),
  subscription_pause: p.object({ enabled: p.bool }),
  subscription_update: p.object({
    billing_cycle_anchor: p.oneOf('now', 'unchanged'),
    default_allowed_updates: wordsOf('price', 'promotion_code', 'quantity'),
    enabled: p.bool,
    products,
    proration_behavior: prorationBehavior,
    schedule_at_period_end: p.object({ conditions: listOf(condition, 2) }),
    trial_update_behavior: p.oneOf('continue_trial', 'end_trial'),
  }),
});

const params = {
  business_profile: p.object({
    headline: p.clearable(p.text(headlineLengthMax)),
    ...p.each(p.clearable(p.url), 'privacy_policy_url terms_of_service_url'),
  }),
  default_return_url: p.clearable(p.url),
  features,
  login_page: p.object({ enabled: p.required(p.bool) }),
  metadata: p.metadata,
  name: p.clearable(p.text()),
};
const updateParams = { ...params, active: p.bool };

const configurations = new Resource('portal_configurations', (store) => store.portalConfigurations, {
  path: 'billing_portal/configurations',
});

export const portalConfigurationOperations = [
  configurations.create({ ...params, features: p.required(features) }, (call, given) =>
    create(call, given, false),
  ),
  configurations.update(updateParams, (call, before, given) =>
    call.store.update(
      'billing_portal.configuration.updated',
      call.store.portalConfigurations,
      before,
      changed(call, before, given),
    ),
  ),
  configurations.retrieve(),
  configurations.list(p.each(p.bool, 'active is_default'), { hasCreated: false }),
];

/**
 * The configuration of sessions that name none. The processor creates it when somebody saves the settings in its
 * dashboard. The sandbox has no dashboard, so it creates it on first use: with everything but changes of plans.
 */
export function defaultConfiguration(call: Call): PortalConfiguration {
  const { data } = call.store.portalConfigurations.list({ limit: 1, where: ({ is_default }) => is_default });
  return data[0] ?? create(call, { features: defaultFeatures }, true);
}

const defaultFeatures = {
  customer_update: { allowed_updates: ['address', 'email', 'name', 'phone', 'tax_id'], enabled: true },
  invoice_history: { enabled: true },
  payment_method_update: { enabled: true },
  subscription_cancel: { enabled: true },
};

/** The features of a configuration that names none. */
const noFeatures: PortalConfiguration['features'] = {
  customer_update: { allowed_updates: [], enabled: false },
  invoice_history: { enabled: false },
  payment_method_update: { enabled: false, payment_method_configuration: null },
  subscription_cancel: {
    cancellation_reason: {
      enabled: false,
      feedback_options: null,
      options: ['too_expensive', 'missing_features', 'switched_service', 'unused', 'other'],
    },
    enabled: false,
    mode: 'at_period_end',
    proration_behavior: 'none',
  },
  subscription_pause: { duration: { interval_options: [], type: 'indefinite' }, enabled: false },
  subscription_update: {
    billing_cycle_anchor: null,
    default_allowed_updates: [],
    enabled: false,
    products: [],
    proration_behavior: 'none',
    schedule_at_period_end: { conditions: [] },
    trial_update_behavior: 'end_trial',
  },
};

type Given = Omit<Partial<p.Parsed<typeof updateParams>>, 'features'> & {
  readonly features?: object | undefined;
};

function create(call: Call, given: Given, isDefault: boolean): PortalConfiguration {
  const { store } = call;
  const now = store.worldNow();
  const blank: PortalConfiguration = {
    ...store.blank(store.portalConfigurations, 'billing_portal.configuration', now),
    active: true,
    application: null,
    business_profile: { headline: null, privacy_policy_url: null, terms_of_service_url: null },
    default_return_url: null,
    features: noFeatures,
    is_default: isDefault,
    login_page: { enabled: false, url: null },
    metadata: {},
    name: null,
    updated: now,
  };
  return store.record(
    'billing_portal.configuration.created',
    store.portalConfigurations,
    changed(call, blank, given),
  );
}

function changed({ store }: Call, before: PortalConfiguration, given: Given): PortalConfiguration {
  const login = given.login_page;
  const after: PortalConfiguration = {
    ...before,
    active: given.active ?? before.active,
    business_profile: overlaid(before.business_profile, given.business_profile),
    default_return_url: overlaid(before.default_return_url, given.default_return_url),
    features: overlaid(before.features, given.features),
    login_page:
      login === undefined
        ? before.login_page
        : {
            enabled: login.enabled,
            url: login.enabled ? `${store.baseUrl()}/sandbox/portal_logins/${before.id}` : null,
          },
    metadata: p.applyMetadata(before.metadata ?? {}, given.metadata),
    name: overlaid(before.name, given.name),
    updated: store.worldNow(),
  };
  checkProducts(store, after.features.subscription_update.products ?? []);
  return after;
}

function checkProducts(store: Store, given: readonly Product[]): void {
  for (const [index, { product, prices }] of given.entries()) {
    const param = `features[subscription_update][products][${index}]`;
    store.products.existing(product, `${param}[product]`);
    for (const [place, price] of prices.entries()) store.prices.existing(price, `${param}[prices][${place}]`);
  }
}

/** The value with the given fields, at any depth. A list replaces the previous one. */
function overlaid<T>(before: T, given: unknown): T {
  if (given === undefined) return before;
  const fields = (value: unknown) =>
    typeof value === 'object' && value !== null && !Array.isArray(value) ? Object.entries(value) : null;
  const old = fields(before);
  const changes = fields(given);
  // The parameters have the names and the types of the fields.
  if (old === null || changes === null) return given as T;
  const kept = Object.fromEntries(old);
  return {
    ...kept,
    ...Object.fromEntries(changes.map(([name, value]) => [name, overlaid(kept[name], value)])),
  } as T;
}

/** An empty value is an empty list. */
function listOf<T>(item: p.Parser<T>, lengthMax: number): p.Parser<T[]> {
  return (node, path) => (node === '' ? [] : [...p.array(item, lengthMax)(node, path)]);
}

function wordsOf<const T extends string>(...words: readonly T[]): p.Parser<T[]> {
  return listOf(p.oneOf(...words), words.length);
}
