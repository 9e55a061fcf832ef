import { newId } from '../ids.ts';
import type { Store } from '../state/store.ts';
import { nulls } from '../wire/nulls.ts';
import type { PaymentIntent, PaymentMethod } from '../wire/objects.ts';
import { docUrlOf, type ErrorBody, WireError } from '../wire/wire-error.ts';
import { chargeTransaction } from './balance-transaction.ts';
import { createCharge } from './charge.ts';
import * as intents from './intent.ts';
import { attach, behaviourOf, spend } from './payment-method.ts';
import { releaseAuthorization } from './refund.ts';
import type { Decline } from './test-cards.ts';

export function createPaymentIntent(
  store: Store,
  input: Pick<PaymentIntent, 'amount' | 'currency' | 'customer'> & Partial<PaymentIntent>,
): PaymentIntent {
  const blank = store.blank(store.paymentIntents, 'payment_intent', store.worldNow());
  return store.record('payment_intent.created', store.paymentIntents, {
    ...blank,
    ...nulls(
      'allowed_payment_method_types application application_fee_amount automatic_payment_methods canceled_at',
      'cancellation_reason customer_account description excluded_payment_method_types last_payment_error',
      'latest_charge managed_payments next_action on_behalf_of payment_method',
      'payment_method_configuration_details payment_record processing receipt_email review',
      'setup_future_usage shipping source statement_descriptor statement_descriptor_suffix transfer_group',
    ),
    amount_capturable: 0,
    amount_received: 0,
    capture_method: 'automatic_async',
    client_secret: newId(`${blank.id}_secret_`),
    confirmation_method: 'automatic',
    metadata: {},
    payment_method_options: noOptions,
    payment_method_types: cardOnly,
    status: input.payment_method == null ? 'requires_payment_method' : 'requires_confirmation',
    ...input,
  });
}

/** Objects are immutable, so all intents share these values. */
const noOptions = {};
const cardOnly = ['card'];

export function attemptPayment(
  store: Store,
  before: PaymentIntent,
  method: PaymentMethod,
  options: intents.AttemptOptions,
): intents.Attempt<PaymentIntent> {
  const card = behaviourOf(method);
  const intent = { ...before, payment_method: method.id };
  const { request_three_d_secure: secure } = before.payment_method_options?.card ?? {};
  const mustAuthenticate =
    secure === 'any' ||
    secure === 'challenge' ||
    card?.authentication === 'always' ||
    (card?.authentication === 'until_saved' && method.customer === null);
  if (mustAuthenticate && options.offSession) return refuse(store, intent, method, authenticationRequired);
  if (mustAuthenticate) return { intent: requireAction(store, intent, options), failure: null };
  if (card?.decline !== undefined) return refuse(store, intent, method, card.decline);
  return { intent: approve(store, intent, method), failure: null };
}

/** Continues the payment after the cardholder's authentication. */
export function completeAuthentication(
  store: Store,
  intent: PaymentIntent,
  succeeded: boolean,
): intents.Attempt<PaymentIntent> {
  const method = intents.waitingMethod(store, intent);
  if (succeeded) return { intent: approve(store, intent, method), failure: null };
  return refuse(store, intent, method, authenticationFailed);
}

export function cancelPaymentIntent(
  store: Store,
  intent: PaymentIntent,
  reason: PaymentIntent['cancellation_reason'],
): PaymentIntent {
  if (intent.status === 'succeeded' || intent.status === 'canceled' || intent.status === 'processing')
    throw intents.unexpectedState(intent, 'canceled');
  const charge = store.charges.get(intent.latest_charge);
  if (intent.status === 'requires_capture' && charge !== undefined) releaseAuthorization(store, charge);
  return store.update('payment_intent.canceled', store.paymentIntents, intent, {
    status: 'canceled',
    amount_capturable: 0,
    canceled_at: store.worldNow(),
    cancellation_reason: reason,
    next_action: null,
  });
}

export function capturePaymentIntent(
  store: Store,
  intent: PaymentIntent,
  amount: number,
  metadata: PaymentIntent['metadata'] = intent.metadata,
): PaymentIntent {
  const charge = store.charges.get(intent.latest_charge);
  if (intent.status !== 'requires_capture' || charge === undefined)
    throw intents.unexpectedState(intent, 'captured', ' Its status must be requires_capture.');
  const captured = store.update('charge.captured', store.charges, charge, {
    captured: true,
    amount_captured: amount,
    balance_transaction: chargeTransaction(store, { ...charge, amount_captured: amount }),
  });
  if (amount < charge.amount) releaseAuthorization(store, captured, charge.amount - amount);
  return store.update('payment_intent.succeeded', store.paymentIntents, intent, {
    status: 'succeeded',
    amount_capturable: 0,
    amount_received: amount,
    metadata,
  });
}

/** The error for the caller. The failed charge and its events are kept. */
export function cardError(failure: ErrorBody): WireError {
  return new WireError(402, failure, { remembered: true, keepsChanges: true });
}

const authenticationRequired: Decline = {
  code: 'authentication_required',
  declineCode: 'authentication_required',
  message: 'Your card was declined. This payment requires authentication.',
};
const authenticationFailed: Decline = {
  code: 'payment_intent_authentication_failure',
  declineCode: '',
  message: 'The authentication failed. Try again or choose another payment method.',
};

function approve(store: Store, intent: PaymentIntent, method: PaymentMethod): PaymentIntent {
  const { capture_method: capture, setup_future_usage: usage = intent.setup_future_usage } =
    intent.payment_method_options?.card ?? {};
  const captured = (capture ?? intent.capture_method) !== 'manual';
  const saved = usage !== null && usage !== 'none' && intent.customer !== null;
  const used = saved && intent.customer !== null ? attach(store, method, intent.customer) : method;
  if (used.customer === null) spend(store, used);
  const charge = createCharge(store, intent, used, { captured });
  return store.record(
    captured ? 'payment_intent.succeeded' : 'payment_intent.amount_capturable_updated',
    store.paymentIntents,
    {
      ...intent,
      status: captured ? 'succeeded' : 'requires_capture',
      amount_capturable: captured ? 0 : intent.amount,
      amount_received: captured ? intent.amount : 0,
      last_payment_error: null,
      latest_charge: charge.id,
      next_action: null,
    },
  );
}

function refuse(
  store: Store,
  intent: PaymentIntent,
  method: PaymentMethod,
  decline: Decline,
): intents.Attempt<PaymentIntent> {
  // After a failed authentication the payment never reaches the bank, so there is no charge.
  const charge = decline === authenticationFailed ? null : createCharge(store, intent, method, { decline });
  const error = {
    ...(charge !== null && { charge: charge.id, decline_code: decline.declineCode }),
    code: decline.code,
    doc_url: docUrlOf(decline.code),
    message: decline.message,
    payment_method: method,
    type: charge === null ? ('invalid_request_error' as const) : ('card_error' as const),
  };
  const refused = store.record('payment_intent.payment_failed', store.paymentIntents, {
    ...intent,
    status: 'requires_payment_method',
    last_payment_error: error,
    latest_charge: charge?.id ?? intent.latest_charge,
    next_action: null,
    payment_method: null,
  });
  return { intent: refused, failure: { ...error, payment_intent: refused } };
}

function requireAction(store: Store, intent: PaymentIntent, options: intents.AttemptOptions): PaymentIntent {
  return store.record('payment_intent.requires_action', store.paymentIntents, {
    ...intent,
    status: 'requires_action',
    last_payment_error: null,
    next_action: intents.authenticationAction(store, intent, options),
  });
}
