import { newId } from '../ids.ts';
import { sees } from '../wire/api-version.ts';
import type { CheckoutSession, CheckoutTerms, Customer } from '../wire/objects.ts';
import type { Call } from '../wire/operation.ts';
import { applyMetadata } from '../wire/params.ts';
import { badParam } from '../wire/wire-error.ts';
import { type CreateParams, expiryOf, named, type UiMode } from './checkout-params.ts';
import { listedTypes } from './payment-method-types.ts';
import { billingModeOf, checkTrialEnd, listOrNull } from './subscription-params.ts';

/** A new session without its lines and amounts. */
export function sessionObject(
  call: Call,
  params: CreateParams,
  customer: Customer | null,
  uiMode: UiMode,
): CheckoutSession {
  const { store } = call;
  const id = store.checkoutSessions.newId();
  const email = customer?.email ?? params.customer_email ?? null;
  const isHosted = uiMode === 'hosted_page';
  return {
    id,
    object: 'checkout.session',
    ...unusedSessionParts,
    ...shownAsGiven(params),
    client_secret: isHosted ? null : newId(`${id}_secret_`),
    created: store.worldNow(),
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
    expires_at: expiryOf(store, params),
    metadata: applyMetadata({}, params.metadata),
    mode: params.mode,
    payment_method_collection:
      params.payment_method_collection ?? (params.mode === 'payment' ? 'if_required' : 'always'),
    payment_method_types: listedTypes(call, params) ?? [...(params.allowed_payment_method_types ?? ['card'])],
    payment_status: params.mode === 'setup' ? 'no_payment_required' : 'unpaid',
    status: 'open',
    terms: termsFrom(call, params),
    ui_mode: uiMode,
    url: isHosted ? `${call.baseUrl}/c/pay/${id}` : null,
    ...(isHosted ? {} : { redirect_on_completion: params.redirect_on_completion ?? 'always' }),
    ...(params.return_url === undefined ? {} : { return_url: params.return_url }),
  };
}

const noDetails = {
  address: null,
  business_name: null,
  email: null,
  individual_name: null,
  name: null,
  phone: null,
  tax_exempt: 'none',
  tax_ids: null,
};

/** What the session shows of its parameters. */
function shownAsGiven(params: CreateParams) {
  const { automatic_tax: tax, invoice_creation: invoice } = params;
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
              account_tax_ids: null,
              custom_fields: null,
              description: invoice?.invoice_data?.description ?? null,
              footer: invoice?.invoice_data?.footer ?? null,
              issuer: null,
              metadata: applyMetadata({}, invoice?.invoice_data?.metadata),
              rendering_options: null,
            },
          },
    locale: params.locale ?? null,
    phone_number_collection: { enabled: params.phone_number_collection?.enabled ?? false },
    submit_type: params.submit_type ?? null,
    success_url: params.success_url ?? null,
    tax_id_collection: { enabled: params.tax_id_collection?.enabled ?? false, required: 'never' },
  };
}

function termsFrom(call: Call, params: CreateParams): CheckoutTerms {
  const { payment_intent_data: payment, subscription_data: subscription } = params;
  return {
    lines: [],
    taken: [],
    discounts: [],
    updates: {
      address: params.customer_update?.address === 'auto',
      name: params.customer_update?.name === 'auto',
    },
    payment: {
      captureMethod:
        payment?.capture_method ??
        (sees(call.version, 'asynchronousCapture') ? 'automatic_async' : 'automatic'),
      description: payment?.description ?? null,
      metadata: applyMetadata({}, payment?.metadata),
      receiptEmail: payment?.receipt_email ?? null,
      setupFutureUsage: payment?.setup_future_usage ?? null,
      shipping: payment?.shipping ?? null,
      statementDescriptorSuffix: payment?.statement_descriptor_suffix ?? null,
    },
    subscription: named('subscription_data', () => ({
      billingMode: billingModeOf(subscription?.billing_mode, call.version),
      description: subscription?.description ?? null,
      metadata: applyMetadata({}, subscription?.metadata),
      missingPaymentMethod:
        subscription?.trial_settings?.end_behavior.missing_payment_method ?? 'create_invoice',
      trialDays: subscription?.trial_period_days ?? null,
      trialEnd: trialEndOf(call, subscription),
    })),
    intent: null,
    customer: null,
    buyer: null,
  };
}

/** The buyer has up to a day to complete the session, so that a trial must last longer. */
const trialSecondsMin = 48 * 60 * 60;

function trialEndOf({ store }: Call, data: CreateParams['subscription_data']): number | null {
  const { trial_end: end, trial_period_days: days } = data ?? {};
  if (end === undefined) return null;
  if (days !== undefined)
    throw badParam(
      'You may only specify one of these parameters: trial_end, trial_period_days.',
      'trial_end',
      'parameters_exclusive',
    );
  if (end < store.now() + trialSecondsMin)
    throw badParam('The `trial_end` date has to be at least 2 days in the future.', 'trial_end');
  return checkTrialEnd(store, end);
}

/** Fields that the sandbox does not use, or that are set later. Objects are immutable, so all sessions share them. */
const unusedSessionParts = {
  adaptive_pricing: null,
  after_expiration: null,
  amount_subtotal: null,
  amount_total: null,
  collected_information: null,
  consent: null,
  consent_collection: null,
  currency_conversion: null,
  custom_fields: [],
  custom_text: {
    after_submit: null,
    shipping_address: null,
    submit: null,
    terms_of_service_acceptance: null,
  },
  customer_account: null,
  discounts: [],
  integration_identifier: null,
  invoice: null,
  livemode: false,
  managed_payments: null,
  origin_context: null,
  payment_intent: null,
  payment_link: null,
  payment_method_configuration_details: null,
  payment_method_options: { card: { request_three_d_secure: 'automatic' } },
  permissions: null,
  recovered_from: null,
  saved_payment_method_options: null,
  setup_intent: null,
  shipping_address_collection: null,
  shipping_cost: null,
  shipping_options: [],
  subscription: null,
  total_details: null,
  wallet_options: null,
} satisfies Partial<CheckoutSession>;
