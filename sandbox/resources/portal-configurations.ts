import type Stripe from 'stripe';
import type { Store } from '../state/store.ts';
import { existing } from '../wire/existing.ts';
import type { PortalConfiguration } from '../wire/objects.ts';
import type { Call, Operation } from '../wire/operation.ts';
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
  type Parser,
  required,
  text,
  url,
} from '../wire/params.ts';
import { Resource } from './resource.ts';
import { prorationBehavior } from './subscription-params.ts';

/** The processor's own limits. */
const headlineLengthMax = 60;
const productsMax = 10;
const pricesMax = 100;

const feedbackOptions = [
  'customer_service',
  'low_quality',
  'missing_features',
  'other',
  'switched_service',
  'too_complex',
  'too_expensive',
  'unused',
] as const;

const productParam = object({
  product: required(text()),
  prices: required(array(text(), pricesMax)),
  adjustable_quantity: object({ enabled: required(bool), minimum: integer(), maximum: integer(1) }),
});
type Product = Stripe.BillingPortal.Configuration.Features.SubscriptionUpdate.Product;
const products: Parser<Product[]> = (node, path) =>
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

const features = object({
  customer_update: object({
    allowed_updates: wordsOf('address', 'email', 'name', 'phone', 'shipping', 'tax_id'),
    enabled: bool,
  }),
  invoice_history: object({ enabled: required(bool) }),
  payment_method_update: object({ enabled: required(bool), payment_method_configuration: clearable(text()) }),
  subscription_cancel: object({
    cancellation_reason: object({ enabled: required(bool), options: wordsOf(...feedbackOptions) }),
    enabled: bool,
    mode: oneOf('at_period_end', 'immediately'),
    proration_behavior: prorationBehavior,
  }),
  subscription_pause: object({ enabled: bool }),
  subscription_update: object({
    billing_cycle_anchor: oneOf('now', 'unchanged'),
    default_allowed_updates: wordsOf('price', 'promotion_code', 'quantity'),
    enabled: bool,
    products,
    proration_behavior: prorationBehavior,
    schedule_at_period_end: object({
      conditions: (node, path) =>
        listOf(object({ type: required(oneOf('decreasing_item_amount', 'shortening_interval')) }), 2)(
          node,
          path,
        ),
    }),
    trial_update_behavior: oneOf('continue_trial', 'end_trial'),
  }),
});

const params = {
  business_profile: object({
    headline: clearable(text(headlineLengthMax)),
    privacy_policy_url: clearable(url),
    terms_of_service_url: clearable(url),
  }),
  default_return_url: clearable(url),
  features,
  login_page: object({ enabled: required(bool) }),
  metadata,
  name: clearable(text()),
};
const updateParams = { ...params, active: bool };

const configurations = new Resource('portal_configurations', (store) => store.portalConfigurations, {
  path: 'billing_portal/configurations',
});

export const portalConfigurationOperations: readonly Operation[] = [
  configurations.operation('create', 'POST', { ...params, features: required(features) }, (call, given) =>
    create(call, given, false),
  ),
  configurations.operation('update', 'POST *', updateParams, (call, given) => {
    const { store } = call;
    const before = configurations.existing(call);
    const after = store.put(store.portalConfigurations, changed(call, before, given));
    store.emitUpdated('billing_portal.configuration.updated', before, after);
    return after;
  }),
  configurations.retrieve(),
  configurations.listWithoutCreated({ active: bool, is_default: bool }, { equal: ['active', 'is_default'] }),
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

type Given = Omit<Partial<Parsed<typeof updateParams>>, 'features'> & {
  readonly features?: object | undefined;
};

function create(call: Call, given: Given, isDefault: boolean): PortalConfiguration {
  const { store } = call;
  const now = store.worldNow();
  const blank: PortalConfiguration = {
    id: store.portalConfigurations.newId(),
    object: 'billing_portal.configuration',
    active: true,
    application: null,
    business_profile: { headline: null, privacy_policy_url: null, terms_of_service_url: null },
    created: now,
    default_return_url: null,
    features: noFeatures,
    is_default: isDefault,
    livemode: false,
    login_page: { enabled: false, url: null },
    metadata: {},
    name: null,
    updated: now,
  };
  const created = store.put(store.portalConfigurations, changed(call, blank, given));
  store.emit('billing_portal.configuration.created', created);
  return created;
}

function changed({ store, baseUrl }: Call, before: PortalConfiguration, given: Given): PortalConfiguration {
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
            url: login.enabled ? `${baseUrl}/sandbox/portal_logins/${before.id}` : null,
          },
    metadata: applyMetadata(before.metadata ?? {}, given.metadata),
    name: overlaid(before.name, given.name),
    updated: store.worldNow(),
  };
  checkProducts(store, after.features.subscription_update.products ?? []);
  return after;
}

function checkProducts(store: Store, given: readonly Product[]): void {
  for (const [index, { product, prices }] of given.entries()) {
    const param = `features[subscription_update][products][${index}]`;
    existing(store.products, product, `${param}[product]`);
    for (const [place, price] of prices.entries())
      existing(store.prices, price, `${param}[prices][${place}]`);
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
function listOf<T>(item: Parser<T>, lengthMax: number): Parser<T[]> {
  return (node, path) => (node === '' ? [] : [...array(item, lengthMax)(node, path)]);
}

function wordsOf<const T extends string>(...words: readonly T[]): Parser<T[]> {
  return listOf(oneOf(...words), words.length);
}
