import { newLine } from '../checkout/session.ts';
import { country, shipping } from '../payments/address.ts';
import { currency } from '../payments/money.ts';
import type { Store } from '../state/store.ts';
import { olderUiModes } from '../versions/older-objects.ts';
import { mayUseOld } from '../wire/api-version.ts';
import type { LineItem, Price } from '../wire/objects.ts';
import type { Call } from '../wire/operation.ts';
import * as p from '../wire/params.ts';
import { badParam, exclusiveParams, missingParam, WireError } from '../wire/wire-error.ts';
import { discountsParam } from './discount-params.ts';
import { locale } from './locale.ts';
import { intentParams } from './payment-intents.ts';
import { methodOptions, typesParam } from './payment-method-types.ts';
import { priceFrom } from './prices.ts';
import { inlinePriceParams, productParams } from './products.ts';
import { billingMode, checkQuantity, trialDaysMax, trialSettings } from './subscription-params.ts';

/** The processor's own limits. */
const linesMax = 100;
const quantityMax = 999_999;

/** More than the number of countries. */
const countriesMax = 300;

const enabled = { enabled: p.required(p.bool) };
const { name, tax_code, unit_label } = productParams;

export const lineFields = {
  adjustable_quantity: p.object({
    ...enabled,
    maximum: p.integer(1, quantityMax),
    minimum: p.integer(0, quantityMax),
  }),
  metadata: p.metadata,
  price: p.text(),
  price_data: p.object({
    ...inlinePriceParams,
    product: p.text(),
    product_data: p.object({
      name,
      description: p.text(),
      images: p.ignored,
      metadata: p.metadata,
      tax_code,
      unit_label,
    }),
    unit_amount: p.integer(),
  }),
  quantity: p.integer(0, quantityMax),
};

export const createParams = {
  allow_promotion_codes: p.bool,
  billing_address_collection: p.oneOf('auto', 'required'),
  cancel_url: p.url,
  client_reference_id: p.text(200),
  customer_email: p.text(800),
  locale,
  submit_type: p.oneOf('auto', 'book', 'donate', 'pay', 'subscribe'),
  success_url: p.url,
  ...typesParam,
  allowed_payment_method_types: typesParam.payment_method_types,
  automatic_tax: p.object({ ...enabled, liability: p.ignored }),
  currency,
  customer: p.text(),
  customer_creation: p.oneOf('always', 'if_required'),
  customer_update: p.object(p.each(p.oneOf('auto', 'never'), 'address name shipping')),
  discounts: discountsParam,
  expires_at: p.integer(),
  invoice_creation: p.object({
    ...enabled,
    invoice_data: p.object({ description: p.text(), footer: p.text(), metadata: p.metadata }),
  }),
  line_items: p.array(p.object(lineFields), linesMax),
  metadata: p.metadata,
  mode: p.required(p.oneOf('payment', 'setup', 'subscription')),
  payment_intent_data: p.object({
    ...intentParams,
    description: p.text(1_000),
    receipt_email: p.text(),
    setup_future_usage: p.oneOf('off_session', 'on_session'),
    shipping,
  }),
  payment_method_collection: p.oneOf('always', 'if_required'),
  payment_method_options: methodOptions,
  phone_number_collection: p.object(enabled),
  redirect_on_completion: p.oneOf('always', 'if_required', 'never'),
  return_url: p.url,
  shipping_address_collection: p.object({ allowed_countries: p.required(p.array(country, countriesMax)) }),
  ...p.each(
    p.ignored,
    'adaptive_pricing branding_settings consent_collection custom_fields custom_text origin_context',
    'saved_payment_method_options wallet_options',
  ),
  setup_intent_data: p.object({ description: p.text(1_000), metadata: p.metadata }),
  subscription_data: p.object({
    billing_mode: billingMode,
    description: p.text(500),
    metadata: p.metadata,
    proration_behavior: p.ignored,
    trial_end: p.integer(),
    trial_period_days: p.integer(1, trialDaysMax),
    trial_settings: trialSettings,
  }),
  tax_id_collection: p.object({ ...enabled, required: p.ignored }),
  ui_mode: p.text(),
};
export type CreateParams = p.Parsed<typeof createParams>;

const expiresAfterSeconds = { min: 30 * 60, max: 24 * 60 * 60 } as const;

export function expiryOf(store: Store, { expires_at: at }: CreateParams): number {
  const now = store.worldNow();
  const rule = 'The `expires_at` timestamp must be';
  if (at !== undefined && at < now + expiresAfterSeconds.min)
    throw badParam(`${rule} at least 30 minutes from Checkout Session creation.`, 'expires_at');
  if (at !== undefined && at > now + expiresAfterSeconds.max)
    throw badParam(`${rule} less than 24 hours from Checkout Session creation.`, 'expires_at');
  return at ?? now + expiresAfterSeconds.max;
}

const uiModes = ['elements', 'embedded_page', 'form', 'hosted_page'] as const;
export type UiMode = (typeof uiModes)[number];

/** The UI mode in the parameters, by its current or its older name. */
export function uiModeOf({ version }: Call, { ui_mode: given = 'hosted_page' }: CreateParams): UiMode {
  const mode = uiModes.find(
    (name) =>
      name === given || (name !== 'form' && olderUiModes[name] === given && mayUseOld(version, 'uiModes')),
  );
  if (mode === undefined) throw badParam(`Invalid ui_mode: must be one of ${uiModes.join(', ')}`, 'ui_mode');
  return mode;
}

/** Parameters that only some modes have. */
const modesOf: Readonly<Partial<Record<keyof CreateParams, readonly string[]>>> = {
  allow_promotion_codes: ['payment', 'subscription'],
  customer_creation: ['payment', 'setup'],
  discounts: ['payment', 'subscription'],
  invoice_creation: ['payment'],
  line_items: ['payment', 'subscription'],
  payment_intent_data: ['payment'],
  payment_method_collection: ['subscription'],
  setup_intent_data: ['setup'],
  shipping_address_collection: ['payment', 'subscription'],
  submit_type: ['payment', 'subscription'],
  subscription_data: ['subscription'],
};

/** Rejects parameters that exclude each other, or that another parameter requires. */
export function checkCreation(params: CreateParams, uiMode: UiMode): void {
  // The table has only names of parameters.
  for (const [param, modes] of Object.entries(modesOf))
    if (params[param as keyof CreateParams] !== undefined && !modes.includes(params.mode))
      throw badParam(`You can not pass \`${param}\` in \`${params.mode}\` mode.`, param);
  for (const [a, b] of [
    ['customer', 'customer_email'],
    ['customer', 'customer_creation'],
    ['allow_promotion_codes', 'discounts'],
    ['allowed_payment_method_types', 'payment_method_types'],
  ] as const)
    if (params[a] !== undefined && params[b] !== undefined) throw exclusiveParams(a, b);
  if (params.customer_update !== undefined && params.customer === undefined)
    throw badParam('`customer_update` can only be used with `customer`.', 'customer_update');
  checkUrls(params, uiMode);
  checkCollection(params);
}

function checkUrls(params: CreateParams, uiMode: UiMode): void {
  const isHosted = uiMode === 'hosted_page';
  const [needed, others] = isHosted
    ? (['success_url', ['return_url', 'redirect_on_completion']] as const)
    : (['return_url', ['success_url', 'cancel_url']] as const);
  for (const param of others)
    if (params[param] !== undefined)
      throw badParam(`You can not pass \`${param}\` when \`ui_mode\` is \`${uiMode}\`.`, param);
  if (params[needed] === undefined && params.redirect_on_completion !== 'never') throw missingParam(needed);
}

/** With an existing customer, what taxes need is saved with it. */
function checkCollection({ customer, customer_update: update, ...params }: CreateParams): void {
  if (customer === undefined) return;
  if (params.tax_id_collection?.enabled === true && update?.name !== 'auto')
    throw badParam(
      'Tax ID collection requires updating business name on the customer. To enable tax ID collection for an existing customer, please set `customer_update[name]` to `auto`.',
      'customer_update[name]',
    );
}

/** The processor's own limit, which is lower than that of a subscription. */
const recurringLinesMax = 20;

/** The lines in the parameter. A line with the id of an existing one changes it. */
export function linesFrom(
  store: Store,
  params: readonly (p.Parsed<typeof lineFields> & { readonly id?: string | undefined })[],
  mode: CreateParams['mode'],
  current: readonly LineItem[] = [],
): LineItem[] {
  const lines = params.map((given, index) => lineFrom(store, given, `line_items[${index}]`, current));
  const [first] = lines;
  if (first === undefined) throw missingParam('line_items');
  if (mode === 'payment' && lines.some(({ price }) => price.recurring !== null))
    throw badParam(
      'You specified `payment` mode but passed a recurring price. Either switch to `subscription` mode or use only one-time prices.',
      'mode',
    );
  if (mode === 'subscription' && lines.every(({ price }) => price.recurring === null))
    throw badParam(
      'You must provide at least one recurring price in `subscription` mode when using prices.',
      'mode',
    );
  if (lines.filter(({ price }) => price.recurring !== null).length > recurringLinesMax)
    throw badParam(
      `A Checkout Session can have at most ${recurringLinesMax} line items with recurring prices.`,
      'line_items',
    );
  const other = lines.findIndex((line) => line.currency !== first.currency);
  if (other >= 0)
    throw badParam(
      `This \`price\` has \`currency=${lines[other]?.currency}\`, but other items use \`currency=${first.currency}\`. All items must have pricing in the same currency.`,
      `line_items[${other}][price]`,
    );
  return lines;
}

function lineFrom(
  store: Store,
  given: p.Parsed<typeof lineFields> & { readonly id?: string | undefined },
  path: string,
  current: readonly LineItem[],
): LineItem {
  const before = current.find(({ id }) => id === given.id);
  if (given.id !== undefined && before === undefined)
    throw badParam(`No such line item: '${given.id}'`, `${path}[id]`, 'resource_missing');
  const price =
    before !== undefined && given.price === undefined && given.price_data === undefined
      ? before.price
      : linePrice(store, given, path);
  const isMetered = price.recurring?.usage_type === 'metered';
  checkQuantity(price, given.quantity, `${path}[quantity]`);
  const quantity = given.quantity ?? before?.quantity ?? null;
  if (quantity === null && !isMetered)
    throw badParam(`Quantity is required. Add \`quantity\` to \`${path}\``, path);
  const adjustable = given.adjustable_quantity;
  const line = newLine(store, price, {
    adjustable_quantity:
      adjustable?.enabled === true
        ? { enabled: true, maximum: adjustable.maximum ?? 99, minimum: adjustable.minimum ?? 0 }
        : (before?.adjustable_quantity ?? null),
    metadata: p.applyMetadata(before?.metadata ?? {}, given.metadata),
    quantity,
  });
  return before === undefined ? line : { ...line, id: before.id };
}

/** An existing price, or one only for this session. */
function linePrice(store: Store, given: p.Parsed<typeof lineFields>, path: string): Price {
  const { price: id, price_data: data } = given;
  if ((id === undefined) === (data === undefined))
    throw badParam(
      `You must specify either \`price\` or \`price_data\` for each of \`line_items\`.`,
      `${path}[price]`,
    );
  if (data === undefined) {
    const price = store.prices.existing(id ?? '', `${path}[price]`);
    if (!price.active)
      throw badParam(
        'The price specified is inactive. This field only accepts active prices.',
        `${path}[price]`,
      );
    return price;
  }
  return named(`${path}[price_data]`, () =>
    priceFrom(store, {
      ...data,
      active: false,
      ...(data.product_data !== undefined && { product_data: { ...data.product_data, active: false } }),
    }),
  );
}

/** Names the parameter in an error by its whole path. */
export function named<T>(path: string, work: () => T): T {
  try {
    return work();
  } catch (error) {
    if (!(error instanceof WireError) || error.body.param === undefined) throw error;
    const param = error.body.param.replace(/^[^[]+/, (first) => `${path}[${first}]`);
    throw new WireError(error.status, { ...error.body, param }, error);
  }
}
