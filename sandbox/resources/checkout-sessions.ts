import { checkedDiscounts, paidDiscounts, reprice } from '../checkout/change.ts';
import { completeSession } from '../checkout/complete.ts';
import { checkOpen, expireSession, shownSession } from '../checkout/session.ts';
import { newId } from '../ids.ts';
import { existingCustomer } from '../payments/customer.ts';
import { cardError } from '../payments/payment-intent.ts';
import { usablePaymentMethod } from '../payments/payment-method.ts';
import { createSetupIntent } from '../payments/setup-intent.ts';
import { nulls } from '../wire/nulls.ts';
import type { CheckoutSession, CheckoutTerms, Customer } from '../wire/objects.ts';
import { type Call, operation } from '../wire/operation.ts';
import * as p from '../wire/params.ts';
import { badParam, exclusiveParams, missingParam } from '../wire/wire-error.ts';
import * as checkout from './checkout-params.ts';
import { pageOf, pageParams } from './listing.ts';
import { intentFields } from './payment-intents.ts';
import { listedTypes, shownOptions } from './payment-method-types.ts';
import { Resource } from './resource.ts';
import { billingModeOf, checkTrialEnd, listOrNull, trialSettingsFrom } from './subscription-params.ts';

const sessions = new Resource('checkout_sessions', (store) => store.checkoutSessions, {
  path: 'checkout/sessions',
  show: (_, session) => shownSession(session),
});

export const checkoutSessionOperations = [
  sessions.create(checkout.createParams, (call, params) => shownSession(create(call, params))),
  sessions.retrieve(),
  sessions.update(
    { line_items: p.array(p.object({ ...checkout.lineFields, id: p.text() }), 100), metadata: p.metadata },
    ({ store }, before, params) => {
      const changed = store.change(store.checkoutSessions, before, {
        metadata: p.applyMetadata(before.metadata ?? {}, params.metadata),
      });
      if (params.line_items === undefined) return changed;
      checkOpen(before, 'updated');
      const lines = checkout.linesFrom(store, params.line_items, before.mode, before.terms.lines);
      return reprice(store, changed, lines, paidDiscounts(store, before));
    },
  ),
  sessions.action('expire', {}, ({ store }, before) => expireSession(store, before)),
  sessions.operation('list_line_items', 'GET */line_items', pageParams, (call, params) => ({
    object: 'list',
    ...pageOf(sessions.existing(call).terms.lines, params),
    url: `/v1/checkout/sessions/${call.id}/line_items`,
  })),
  sessions.list(
    {
      ...p.each(p.text(), 'customer payment_intent payment_link subscription'),
      customer_details: p.object({ email: p.required(p.text()) }),
      status: p.oneOf('complete', 'expired', 'open'),
    },
    {
      handled: ['customer_details'],
      where: ({ customer_details: known }, { customer_details: wanted }) =>
        wanted === undefined || known?.email === wanted.email,
    },
  ),
  // The processor's own page uses these routes, and so do the triggers of its command line.
  operation({ name: 'payment_pages.retrieve', method: 'GET', path: 'payment_pages/*' }, {}, (call) =>
    shownSession(sessions.existing(call)),
  ),
  operation(
    { name: 'payment_pages.confirm', method: 'POST', path: 'payment_pages/*/confirm' },
    { payment_method: p.required(p.text()), expected_amount: p.integer() },
    (call, params) => {
      const { store } = call;
      const before = sessions.existing(call);
      if (params.expected_amount !== undefined && params.expected_amount !== (before.amount_total ?? 0))
        throw badParam('The amount of this Checkout Session has changed.', 'expected_amount');
      const method = usablePaymentMethod(store, params.payment_method, before.customer);
      const buyer = { method, details: method.billing_details, shipping: null };
      const { session, failure } = completeSession(store, before, buyer);
      if (failure !== null) throw cardError(failure);
      return shownSession(session);
    },
  ),
];

function create(call: Call, params: checkout.CreateParams): CheckoutSession {
  const { store } = call;
  const uiMode = checkout.uiModeOf(call, params);
  checkout.checkCreation(params, uiMode);
  const customer = params.customer === undefined ? null : existingCustomer(store, params.customer);
  checkTaxLocation(customer, params);
  const blank = sessionObject(call, params, customer, uiMode);
  if (params.mode !== 'setup') {
    const lines = checkout.linesFrom(store, params.line_items ?? [], params.mode);
    const session = { ...blank, currency: lines[0]?.currency ?? null };
    return reprice(store, session, lines, checkedDiscounts(store, params.discounts ?? [], session, lines));
  }
  const types = listedTypes(call, params) ?? params.allowed_payment_method_types;
  if (params.currency === undefined && types === undefined)
    throw missingParam(
      'currency',
      'You must provide `currency` in `setup` mode, unless you limit the payment method types.',
    );
  const intent = createSetupIntent(store, {
    customer: blank.customer,
    description: params.setup_intent_data?.description ?? null,
    metadata: p.applyMetadata({}, params.setup_intent_data?.metadata),
  });
  return store.put(store.checkoutSessions, {
    ...blank,
    setup_intent: intent.id,
    terms: { ...blank.terms, intent: intent.id },
  });
}

function checkTaxLocation(customer: Customer | null, params: checkout.CreateParams): void {
  const { address, shipping } = params.customer_update ?? {};
  const isKnown = customer?.address != null || address === 'auto' || shipping === 'auto';
  if (customer !== null && params.automatic_tax?.enabled === true && !isKnown)
    throw badParam(
      "Automatic tax calculation in Checkout requires a valid address on the Customer. Add a valid address to the Customer or set either `customer_update[address]` to 'auto' or `customer_update[shipping]` to 'auto' to save the address entered in Checkout to the Customer.",
      'automatic_tax',
      'customer_tax_location_invalid',
    );
}

/** A new session without its lines and amounts. */
function sessionObject(
  call: Call,
  params: checkout.CreateParams,
  customer: Customer | null,
  uiMode: checkout.UiMode,
): CheckoutSession {
  const { store } = call;
  const blank = store.blank(store.checkoutSessions, 'checkout.session', store.worldNow());
  const { id } = blank;
  const email = customer?.email ?? params.customer_email ?? null;
  const isHosted = uiMode === 'hosted_page';
  return {
    ...blank,
    ...unusedSessionParts,
    ...shownAsGiven(params),
    client_secret: isHosted ? null : newId(`${id}_secret_`),
    currency: params.currency ?? null,
    customer: customer?.id ?? null,
    customer_creation:
      customer !== null
        ? null
        : params.mode === 'subscription'
          ? 'always'
          : (params.customer_creation ?? 'if_required'),
    customer_details:
      email === null
        ? null
        : { ...noDetails, email, name: customer?.name ?? null, phone: customer?.phone ?? null },
    expires_at: checkout.expiryOf(store, params),
    metadata: p.applyMetadata({}, params.metadata),
    mode: params.mode,
    payment_method_collection:
      params.payment_method_collection ?? (params.mode === 'payment' ? 'if_required' : 'always'),
    payment_method_types: listedTypes(call, params) ?? [...(params.allowed_payment_method_types ?? ['card'])],
    payment_status: params.mode === 'setup' ? 'no_payment_required' : 'unpaid',
    status: 'open',
    terms: termsFrom(call, params),
    ui_mode: uiMode,
    url: isHosted ? `${store.baseUrl()}/c/pay/${id}` : null,
    ...(isHosted ? {} : { redirect_on_completion: params.redirect_on_completion ?? 'always' }),
    ...(params.return_url !== undefined && { return_url: params.return_url }),
  };
}

const noDetails = {
  ...nulls('address business_name email individual_name name phone tax_ids'),
  tax_exempt: 'none',
};

/** What the session shows of its parameters. */
function shownAsGiven(params: checkout.CreateParams) {
  const { automatic_tax: tax, invoice_creation: invoice, shipping_address_collection: sentTo } = params;
  return {
    allow_promotion_codes: params.allow_promotion_codes ?? null,
    allowed_payment_method_types: listOrNull(params.allowed_payment_method_types),
    automatic_tax: {
      enabled: tax?.enabled ?? false,
      liability: tax?.enabled === true ? { type: 'self' } : null,
      provider: null,
      status: tax?.enabled === true ? 'requires_location_inputs' : null,
    },
    billing_address_collection: params.billing_address_collection ?? null,
    cancel_url: params.cancel_url ?? null,
    client_reference_id: params.client_reference_id ?? null,
    customer_email: params.customer_email ?? null,
    invoice_creation:
      params.mode !== 'payment'
        ? null
        : {
            enabled: invoice?.enabled ?? false,
            invoice_data: {
              ...nulls('account_tax_ids custom_fields issuer rendering_options'),
              description: invoice?.invoice_data?.description ?? null,
              footer: invoice?.invoice_data?.footer ?? null,
              metadata: p.applyMetadata({}, invoice?.invoice_data?.metadata),
            },
          },
    locale: params.locale ?? null,
    phone_number_collection: { enabled: params.phone_number_collection?.enabled ?? false },
    shipping_address_collection:
      sentTo === undefined ? null : { allowed_countries: [...sentTo.allowed_countries] },
    submit_type: params.submit_type ?? null,
    success_url: params.success_url ?? null,
    tax_id_collection: { enabled: params.tax_id_collection?.enabled ?? false, required: 'never' },
  };
}

function termsFrom(call: Call, params: checkout.CreateParams): CheckoutTerms {
  const { payment_intent_data: payment, subscription_data: subscription } = params;
  return {
    lines: [],
    taken: [],
    discounts: [],
    updates: {
      address: params.customer_update?.address === 'auto',
      name: params.customer_update?.name === 'auto',
      shipping: params.customer_update?.shipping === 'auto',
    },
    payment: {
      ...intentFields(call, payment ?? {}),
      payment_method_options: shownOptions(params.payment_method_options),
    },
    subscription: checkout.named('subscription_data', () => ({
      details: {
        billing_mode: billingModeOf(subscription?.billing_mode, call.version),
        description: subscription?.description ?? null,
        metadata: p.applyMetadata({}, subscription?.metadata),
        ...trialSettingsFrom(subscription),
      },
      trialDays: subscription?.trial_period_days ?? null,
      trialEnd: trialEndOf(call, subscription),
    })),
    intent: null,
    customer: null,
    buyer: null,
    shipping: null,
  };
}

/** The buyer has up to a day to complete the session, so that a trial must last longer. */
const trialSecondsMin = 48 * 60 * 60;

function trialEndOf({ store }: Call, data: checkout.CreateParams['subscription_data']): number | null {
  const { trial_end: end, trial_period_days: days } = data ?? {};
  if (end === undefined) return null;
  if (days !== undefined) throw exclusiveParams('trial_end', 'trial_period_days');
  if (end < store.now() + trialSecondsMin)
    throw badParam('The `trial_end` date has to be at least 2 days in the future.', 'trial_end');
  return checkTrialEnd(store, end);
}

/** Fields that the sandbox does not use, or that are set later. Objects are immutable, so all sessions share them. */
const unusedSessionParts = {
  ...nulls(
    'adaptive_pricing after_expiration amount_subtotal amount_total collected_information consent',
    'consent_collection currency_conversion customer_account integration_identifier invoice managed_payments',
    'origin_context payment_intent payment_link payment_method_configuration_details permissions',
    'recovered_from saved_payment_method_options setup_intent shipping_cost',
    'subscription total_details wallet_options',
  ),
  custom_fields: [],
  custom_text: nulls('after_submit shipping_address submit terms_of_service_acceptance'),
  discounts: [],
  payment_method_options: { card: { request_three_d_secure: 'automatic' } },
  shipping_options: [],
} satisfies Partial<CheckoutSession>;
