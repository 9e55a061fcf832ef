import { followPaymentIntent } from '../billing/collect.ts';
import { checkNotInCheckout } from '../checkout/session.ts';
import { shipping } from '../payments/address.ts';
import { existingCustomer } from '../payments/customer.ts';
import { type Intent, intentError, nounOf, unexpectedState } from '../payments/intent.ts';
import { checkChargeable, checkRound, currency } from '../payments/money.ts';
import * as payments from '../payments/payment-intent.ts';
import { createPaymentMethod, paymentMethodData, usablePaymentMethod } from '../payments/payment-method.ts';
import { cardStatementDescriptor, statementDescriptor } from '../payments/statement-descriptor.ts';
import type { Store } from '../state/store.ts';
import { sees } from '../wire/api-version.ts';
import type { PaymentIntent, PaymentMethod } from '../wire/objects.ts';
import type { Call } from '../wire/operation.ts';
import * as p from '../wire/params.ts';
import { badParam, exclusiveParams, WireError, wrongState } from '../wire/wire-error.ts';
import { withConfirmationToken } from './confirmation-tokens.ts';
import * as methods from './payment-method-types.ts';
import { Resource } from './resource.ts';

/** The parameters of a confirmation, on its own or as part of the creation. */
export const confirmationParams = {
  ...methods.typesParam,
  confirmation_token: p.text(),
  payment_method: p.text(),
  payment_method_data: paymentMethodData,
  payment_method_options: methods.methodOptions,
  return_url: p.url,
  off_session: p.bool,
  setup_future_usage: p.clearable(p.oneOf('off_session', 'on_session')),
  receipt_email: p.clearable(p.text()),
  shipping: p.clearable(shipping),
  use_stripe_sdk: p.bool,
  error_on_requires_action: p.bool,
};

/** The payments of a checkout session have these parameters too. */
export const intentParams = {
  capture_method: p.oneOf('automatic', 'automatic_async', 'manual'),
  description: p.text(),
  metadata: p.metadata,
  statement_descriptor: cardStatementDescriptor,
  statement_descriptor_suffix: statementDescriptor,
};

const createParams = {
  ...confirmationParams,
  ...intentParams,
  amount: p.required(p.integer(0)),
  currency: p.required(currency),
  ...methods.methodChoiceParams,
  confirm: p.bool,
  confirmation_method: p.oneOf('automatic', 'manual'),
  customer: p.text(),
};

const paymentIntents = new Resource('payment_intents', (store) => store.paymentIntents);

export const paymentIntentOperations = [
  paymentIntents.create(createParams, create),
  ...methods.browserOperations(paymentIntents, confirmationParams, confirmShown, shownTo),
  paymentIntents.update(
    {
      ...methods.typesParam,
      amount: p.integer(0),
      customer: p.text(),
      description: p.clearable(p.text()),
      metadata: p.metadata,
      payment_method: p.text(),
      payment_method_options: methods.methodOptions,
      receipt_email: p.clearable(p.text()),
      shipping: p.clearable(shipping),
      setup_future_usage: p.clearable(p.oneOf('off_session', 'on_session')),
    },
    (call, before, params) => {
      const { store } = call;
      const { description, payment_method_options: options, receipt_email, shipping } = params;
      checkNotInCheckout(store, before);
      const changesPayment = params.amount ?? params.customer ?? params.payment_method;
      if (!isOpen(before) && changesPayment !== undefined) throw unexpectedState(before, 'updated');
      if (params.amount !== undefined) checkChargeable(params.amount, before.currency);
      if (params.customer !== undefined) existingCustomer(store, params.customer);
      const customer = params.customer ?? before.customer;
      const method = methodFrom(store, params, customer);
      return store.change(store.paymentIntents, before, {
        amount: params.amount ?? before.amount,
        customer,
        metadata: p.applyMetadata(before.metadata, params.metadata),
        ...p.present({ description, receipt_email, shipping, setup_future_usage: params.setup_future_usage }),
        ...typesChange(call, params),
        ...(options !== undefined && { payment_method_options: methods.shownOptions(options) }),
        ...(method !== undefined && methods.withMethod(method)),
      });
    },
  ),
  paymentIntents.action(
    'capture',
    { amount_to_capture: p.integer(1), metadata: p.metadata },
    ({ store }, intent, params) => {
      const amount = params.amount_to_capture ?? intent.amount_capturable;
      if (intent.status === 'requires_capture' && amount > intent.amount_capturable)
        throw badParam(
          'The amount is greater than the amount that can be captured.',
          'amount_to_capture',
          'amount_too_large',
        );
      if (amount !== intent.amount_capturable) checkRound(amount, intent.currency, 'amount_to_capture');
      const metadata = p.applyMetadata(intent.metadata, params.metadata);
      const captured = payments.capturePaymentIntent(store, intent, amount, metadata);
      for (const session of store.checkoutSessions.allWithin('intent', intent.id))
        store.change(store.checkoutSessions, session, { payment_status: 'paid' });
      return captured;
    },
  ),
  paymentIntents.action(
    'cancel',
    { cancellation_reason: p.oneOf('abandoned', 'duplicate', 'fraudulent', 'requested_by_customer') },
    ({ store }, intent, params) => {
      checkNotInCheckout(store, intent);
      if (store.invoicePayments.allWithin('payment_intent', intent.id).length > 0)
        throw wrongState(
          'This PaymentIntent belongs to an invoice. Void the invoice instead.',
          'payment_intent_unexpected_state',
        );
      return payments.cancelPaymentIntent(store, intent, params.cancellation_reason ?? null);
    },
  ),
  paymentIntents.list({ customer: p.text() }),
  paymentIntents.search(),
];

function create(call: Call, params: p.Parsed<typeof createParams>): PaymentIntent {
  const { store } = call;
  checkChargeable(params.amount, params.currency);
  const customer = params.customer === undefined ? null : existingCustomer(store, params.customer).id;
  const method = methodFrom(store, params, customer);
  if (params.confirm !== true && params.off_session !== undefined)
    throw badParam('off_session can only be given together with confirm.', 'off_session');
  if (params.confirm !== true && params.confirmation_token !== undefined)
    throw badParam('confirmation_token can only be given together with confirm.', 'confirmation_token');
  const intent = payments.createPaymentIntent(store, {
    amount: params.amount,
    currency: params.currency,
    customer,
    ...intentFields(call, params),
    ...methods.chosenMethods(call, params),
    payment_method: method?.id ?? null,
    confirmation_method: params.confirmation_method ?? 'automatic',
    payment_method_options: methods.shownOptions(params.payment_method_options),
  });
  return params.confirm === true ? confirm(call, intent, params) : intent;
}

type IntentFields = typeof intentParams &
  Pick<typeof confirmationParams, 'receipt_email' | 'setup_future_usage' | 'shipping'>;

/** What the parameters set on a new intent. */
export function intentFields(call: Call, params: Partial<p.Parsed<IntentFields>>): Partial<PaymentIntent> {
  const { description, receipt_email, setup_future_usage, shipping, statement_descriptor_suffix } = params;
  const standard = sees(call.version, 'asynchronousCapture') ? 'automatic_async' : 'automatic';
  return {
    ...p.present({ description, receipt_email, setup_future_usage, shipping, statement_descriptor_suffix }),
    capture_method: params.capture_method ?? standard,
    metadata: p.applyMetadata({}, params.metadata),
  };
}

/** Whether the intent can still be confirmed. */
function isOpen({ status }: PaymentIntent): boolean {
  return ['requires_payment_method', 'requires_confirmation', 'requires_action'].includes(status);
}

/** Removes from a response to a browser what only the merchant may see. */
function shownTo(call: Call, intent: Partial<PaymentIntent>): object {
  if (!call.fromBrowser) return intent;
  const { metadata: _metadata, customer: _customer, latest_charge: _charge, ...shown } = intent;
  return shown;
}

/** Confirms an intent. An error contains the intent, too. */
function confirmShown(call: Call, before: PaymentIntent, params: Confirmation): object {
  try {
    return shownTo(call, confirm(call, before, params));
  } catch (error) {
    if (!(error instanceof WireError) || error.body.payment_intent === undefined) throw error;
    const payment_intent = shownTo(call, error.body.payment_intent);
    throw new WireError(error.status, { ...error.body, payment_intent }, error);
  }
}

type Confirmation = p.Parsed<typeof confirmationParams>;

export function confirm(call: Call, given: PaymentIntent, sent: Confirmation): PaymentIntent {
  const { store } = call;
  checkNotInCheckout(store, given);
  if (call.fromBrowser && given.confirmation_method === 'manual')
    throw wrongState(
      'This PaymentIntent has the confirmation_method `manual`, so it must be confirmed with a secret key.',
      'payment_intent_invalid_parameter',
    );
  const params = withConfirmationToken(store, given, sent);
  const { payment_method_options: options } = params;
  const before = {
    ...given,
    ...typesChange(call, params),
    ...(options !== undefined && { payment_method_options: methods.shownOptions(options) }),
  };
  if (!isOpen(before)) throw unexpectedState(before, 'confirmed');
  const method = confirmingMethod(store, before, params);
  const { receipt_email, shipping: sentTo, setup_future_usage } = params;
  const intent = { ...before, ...p.present({ receipt_email, shipping: sentTo, setup_future_usage }) };
  const attempt = payments.attemptPayment(store, intent, method, {
    offSession: params.off_session === true || params.error_on_requires_action === true,
    returnUrl: params.return_url,
    usesSdk: params.use_stripe_sdk === true,
  });
  followPaymentIntent(store, attempt.intent);
  if (attempt.failure !== null) throw payments.cardError(attempt.failure);
  return attempt.intent;
}

/** The payment method with which a request confirms an intent: its own, or else that of the intent. */
export function confirmingMethod(
  store: Store,
  intent: Intent,
  params: Pick<p.Parsed<typeof confirmationParams>, MethodParams | 'return_url' | 'use_stripe_sdk'>,
): PaymentMethod {
  const mayRedirect = intent.automatic_payment_methods?.allow_redirects === 'always';
  if (mayRedirect && params.return_url === undefined && params.use_stripe_sdk !== true)
    throw badParam(
      `This ${nounOf(intent)} accepts payment methods that may redirect the customer, so a \`return_url\` is required to confirm it. To accept only payment methods without redirects, set \`automatic_payment_methods[allow_redirects]\` to \`never\` when you create it.`,
      'return_url',
    );
  const { customer, payment_method: own } = intent;
  const method = methodFrom(store, params, customer);
  if (method !== undefined) return method;
  if (own !== null) return usablePaymentMethod(store, own, customer);
  throw intentError(intent, `This ${nounOf(intent)} has no payment method. Add one before you confirm it.`);
}

type MethodParams = 'payment_method' | 'payment_method_data';

/** The payment method that the request names or creates. */
export function methodFrom(
  store: Store,
  params: Pick<Partial<p.Parsed<typeof confirmationParams>>, MethodParams>,
  customer: string | null,
): PaymentMethod | undefined {
  if (params.payment_method !== undefined && params.payment_method_data !== undefined)
    throw exclusiveParams('payment_method', 'payment_method_data');
  if (params.payment_method_data !== undefined) return createPaymentMethod(store, params.payment_method_data);
  return params.payment_method === undefined
    ? undefined
    : usablePaymentMethod(store, params.payment_method, customer);
}

/** A list of types replaces the processor's choice. */
export function typesChange(call: Call, params: p.Parsed<typeof methods.typesParam>) {
  const types = methods.listedTypes(call, params);
  return types === undefined ? {} : { payment_method_types: types, automatic_payment_methods: null };
}
