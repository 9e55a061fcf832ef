import { checkNotInCheckout } from '../checkout/session.ts';
import { shipping } from '../payments/address.ts';
import { existingCustomer } from '../payments/customer.ts';
import { unexpectedState } from '../payments/intent.ts';
import { checkChargeable, checkRound, currency } from '../payments/money.ts';
import {
  cancelPaymentIntent,
  capturePaymentIntent,
  createPaymentIntent,
} from '../payments/payment-intent.ts';
import { cardStatementDescriptor, statementDescriptor } from '../payments/statement-descriptor.ts';
import { sees } from '../wire/api-version.ts';
import type { PaymentIntent } from '../wire/objects.ts';
import type { Call } from '../wire/operation.ts';
import * as p from '../wire/params.ts';
import { badParam, WireError, wrongState } from '../wire/wire-error.ts';
import { openedIntent } from './client-secret.ts';
import { confirm, confirmationParams, methodFrom, typesChange } from './payment-intent-confirmation.ts';
import {
  chosenMethods,
  methodChoiceParams,
  methodOptions,
  shownOptions,
  typesParam,
} from './payment-method-types.ts';
import { Resource } from './resource.ts';

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
  ...methodChoiceParams,
  confirm: p.bool,
  confirmation_method: p.oneOf('automatic', 'manual'),
  customer: p.text(),
};

const confirmParams = { ...confirmationParams, client_secret: p.text() };

const paymentIntents = new Resource('payment_intents', (store) => store.paymentIntents);

export const paymentIntentOperations = [
  paymentIntents.operation('create', 'POST', createParams, create),
  paymentIntents.operation(
    'retrieve',
    'GET *',
    { client_secret: p.text() },
    (call, params) => shownTo(call, opened(call, params.client_secret)),
    { forBrowsers: true },
  ),
  paymentIntents.operation(
    'update',
    'POST *',
    {
      ...typesParam,
      amount: p.integer(0),
      customer: p.text(),
      description: p.clearable(p.text()),
      metadata: p.metadata,
      payment_method: p.text(),
      payment_method_options: methodOptions,
      receipt_email: p.clearable(p.text()),
      shipping: p.clearable(shipping),
      setup_future_usage: p.clearable(p.oneOf('off_session', 'on_session')),
    },
    (call, params) => {
      const { store } = call;
      const {
        description,
        payment_method_options: options,
        receipt_email,
        shipping,
        setup_future_usage,
      } = params;
      const before = paymentIntents.existing(call);
      checkNotInCheckout(store, before);
      const isOpen = ['requires_payment_method', 'requires_confirmation', 'requires_action'].includes(
        before.status,
      );
      const changesPayment = params.amount ?? params.customer ?? params.payment_method;
      if (!isOpen && changesPayment !== undefined) throw unexpectedState(before, 'updated');
      if (params.amount !== undefined) checkChargeable(params.amount, before.currency);
      if (params.customer !== undefined) existingCustomer(store, params.customer);
      const customer = params.customer ?? before.customer;
      const method = methodFrom(store, params, customer);
      return store.change(store.paymentIntents, before, {
        amount: params.amount ?? before.amount,
        customer,
        metadata: p.applyMetadata(before.metadata, params.metadata),
        ...p.present({ description, receipt_email, shipping, setup_future_usage }),
        ...typesChange(call, params),
        ...(options === undefined ? {} : { payment_method_options: shownOptions(options) }),
        ...(method === undefined
          ? {}
          : { payment_method: method.id, status: 'requires_confirmation', next_action: null }),
      });
    },
  ),
  paymentIntents.operation(
    'confirm',
    'POST */confirm',
    confirmParams,
    (call, params) => {
      try {
        return shownTo(call, confirm(call, opened(call, params.client_secret), params));
      } catch (error) {
        throw error instanceof WireError ? errorShownTo(call, error) : error;
      }
    },
    { forBrowsers: true },
  ),
  paymentIntents.operation(
    'capture',
    'POST */capture',
    { amount_to_capture: p.integer(1), metadata: p.metadata },
    (call, params) => {
      const intent = paymentIntents.existing(call);
      const amount = params.amount_to_capture ?? intent.amount_capturable;
      if (intent.status === 'requires_capture' && amount > intent.amount_capturable)
        throw badParam(
          'The amount is greater than the amount that can be captured.',
          'amount_to_capture',
          'amount_too_large',
        );
      if (amount !== intent.amount_capturable) checkRound(amount, intent.currency, 'amount_to_capture');
      const { store } = call;
      const metadata = p.applyMetadata(intent.metadata, params.metadata);
      const captured = capturePaymentIntent(store, intent, amount, metadata);
      for (const session of store.checkoutSessions.allWithin('intent', intent.id))
        store.change(store.checkoutSessions, session, { payment_status: 'paid' });
      return captured;
    },
  ),
  paymentIntents.operation(
    'cancel',
    'POST */cancel',
    { cancellation_reason: p.oneOf('abandoned', 'duplicate', 'fraudulent', 'requested_by_customer') },
    (call, params) => {
      const intent = paymentIntents.existing(call);
      checkNotInCheckout(call.store, intent);
      if (call.store.invoicePayments.allWithin('payment_intent', intent.id).length > 0)
        throw wrongState(
          'This PaymentIntent belongs to an invoice. Void the invoice instead.',
          'payment_intent_unexpected_state',
        );
      return cancelPaymentIntent(call.store, intent, params.cancellation_reason ?? null);
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
  const intent = createPaymentIntent(store, {
    amount: params.amount,
    currency: params.currency,
    customer,
    ...intentFields(call, params),
    ...chosenMethods(call, params),
    payment_method: method?.id ?? null,
    confirmation_method: params.confirmation_method ?? 'automatic',
    payment_method_options: shownOptions(params.payment_method_options),
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

function opened(call: Call, clientSecret: string | undefined): PaymentIntent {
  return openedIntent(paymentIntents, call, clientSecret);
}

/** Removes from a response to a browser what only the merchant may see. */
function shownTo(call: Call, intent: Partial<PaymentIntent>): object {
  if (!call.fromBrowser) return intent;
  const { metadata: _metadata, customer: _customer, latest_charge: _charge, ...shown } = intent;
  return shown;
}

/** The same for an error that contains the intent. */
function errorShownTo(call: Call, error: WireError): WireError {
  const { payment_intent: intent } = error.body;
  if (intent === undefined) return error;
  return new WireError(error.status, { ...error.body, payment_intent: shownTo(call, intent) }, error);
}
