import { newId } from '../ids.ts';
import type { Store } from '../state/store.ts';
import type { PaymentIntent, PaymentMethod } from '../wire/objects.ts';
import { docUrlOf, type ErrorBody, WireError, wrongState } from '../wire/wire-error.ts';
import type { Shipping } from './address.ts';
import { chargeTransaction } from './balance-transaction.ts';
import { createCharge } from './charge.ts';
import { attach, behaviourOf } from './payment-method.ts';
import { releaseAuthorization } from './refund.ts';
import { spend } from './spent-payment-method.ts';
import type { Decline } from './test-cards.ts';

interface NewPaymentIntent {
  readonly amount: number;
  readonly currency: string;
  readonly customer: string | null;
  readonly metadata: Record<string, string>;
  readonly automaticPaymentMethods: PaymentIntent['automatic_payment_methods'];
  readonly paymentMethodTypes?: string[];
  readonly paymentMethod?: string | null;
  readonly captureMethod?: 'automatic' | 'automatic_async' | 'manual';
  readonly confirmationMethod?: 'automatic' | 'manual';
  readonly description?: string | null;
  readonly options?: PaymentIntent['payment_method_options'];
  readonly receiptEmail?: string | null;
  readonly shipping?: Shipping | null;
  readonly setupFutureUsage?: 'off_session' | 'on_session' | null;
  readonly statementDescriptorSuffix?: string | null;
}

export function createPaymentIntent(store: Store, input: NewPaymentIntent): PaymentIntent {
  const id = store.paymentIntents.newId();
  const intent = store.put(store.paymentIntents, {
    id,
    object: 'payment_intent',
    allowed_payment_method_types: null,
    amount: input.amount,
    amount_capturable: 0,
    amount_received: 0,
    application: null,
    application_fee_amount: null,
    automatic_payment_methods: input.automaticPaymentMethods,
    canceled_at: null,
    cancellation_reason: null,
    capture_method: input.captureMethod ?? 'automatic_async',
    client_secret: newId(`${id}_secret_`),
    confirmation_method: input.confirmationMethod ?? 'automatic',
    created: store.worldNow(),
    currency: input.currency,
    customer: input.customer,
    customer_account: null,
    description: input.description ?? null,
    excluded_payment_method_types: null,
    last_payment_error: null,
    latest_charge: null,
    livemode: false,
    managed_payments: null,
    metadata: input.metadata,
    next_action: null,
    on_behalf_of: null,
    payment_method: input.paymentMethod ?? null,
    payment_method_configuration_details: null,
    payment_method_options: input.options ?? noOptions,
    payment_method_types: input.paymentMethodTypes ?? cardOnly,
    payment_record: null,
    processing: null,
    receipt_email: input.receiptEmail ?? null,
    review: null,
    setup_future_usage: input.setupFutureUsage ?? null,
    shipping: input.shipping ?? null,
    source: null,
    statement_descriptor: null,
    statement_descriptor_suffix: input.statementDescriptorSuffix ?? null,
    status: input.paymentMethod == null ? 'requires_payment_method' : 'requires_confirmation',
    transfer_group: null,
  });
  store.emit('payment_intent.created', intent);
  return intent;
}

/** Objects are immutable, so all intents share these values. */
const noOptions = {};
const cardOnly = ['card'];

/** A payment attempt: the resulting intent, and the error for the caller if it failed. */
export interface Attempt {
  readonly intent: PaymentIntent;
  readonly failure: ErrorBody | null;
}

export interface AttemptOptions {
  /** The customer is not present and cannot authenticate. */
  readonly offSession: boolean;
  readonly baseUrl: string;
  readonly returnUrl?: string | undefined;
  /** The client library handles the authentication. */
  readonly usesSdk?: boolean;
}

export function attemptPayment(
  store: Store,
  before: PaymentIntent,
  method: PaymentMethod,
  options: AttemptOptions,
): Attempt {
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
export function completeAuthentication(store: Store, intent: PaymentIntent, succeeded: boolean): Attempt {
  const method = intent.payment_method === null ? undefined : store.paymentMethods.get(intent.payment_method);
  if (intent.status !== 'requires_action' || method === undefined)
    throw wrongState(
      `The payment intent ${intent.id} does not require authentication.`,
      'payment_intent_unexpected_state',
    );
  if (succeeded) return { intent: approve(store, intent, method), failure: null };
  return refuse(store, intent, method, authenticationFailed);
}

export function cancelPaymentIntent(
  store: Store,
  intent: PaymentIntent,
  reason: PaymentIntent['cancellation_reason'],
): PaymentIntent {
  if (intent.status === 'succeeded' || intent.status === 'canceled' || intent.status === 'processing')
    throw wrongState(
      `A PaymentIntent that is ${intent.status} cannot be canceled.`,
      'payment_intent_unexpected_state',
      { payment_intent: intent },
    );
  const charge = intent.latest_charge === null ? undefined : store.charges.get(intent.latest_charge);
  if (intent.status === 'requires_capture' && charge !== undefined) releaseAuthorization(store, charge);
  const canceled = store.change(store.paymentIntents, intent, {
    status: 'canceled',
    amount_capturable: 0,
    canceled_at: store.worldNow(),
    cancellation_reason: reason,
    next_action: null,
  });
  store.emit('payment_intent.canceled', canceled);
  return canceled;
}

export function capturePaymentIntent(
  store: Store,
  intent: PaymentIntent,
  amount: number,
  metadata = intent.metadata,
): PaymentIntent {
  const charge = intent.latest_charge === null ? undefined : store.charges.get(intent.latest_charge);
  if (intent.status !== 'requires_capture' || charge === undefined)
    throw wrongState(
      `A PaymentIntent that is ${intent.status} cannot be captured. Its status must be requires_capture.`,
      'payment_intent_unexpected_state',
      { payment_intent: intent },
    );
  const captured = store.change(store.charges, charge, {
    captured: true,
    amount_captured: amount,
    balance_transaction: chargeTransaction(store, { ...charge, amount_captured: amount }),
  });
  store.emit('charge.captured', captured);
  const succeeded = store.change(store.paymentIntents, intent, {
    status: 'succeeded',
    amount_capturable: 0,
    amount_received: amount,
    metadata,
  });
  store.emit('payment_intent.succeeded', succeeded);
  return succeeded;
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
  const paid = store.put(store.paymentIntents, {
    ...intent,
    status: captured ? 'succeeded' : 'requires_capture',
    amount_capturable: captured ? 0 : intent.amount,
    amount_received: captured ? intent.amount : 0,
    last_payment_error: null,
    latest_charge: charge.id,
    next_action: null,
  });
  store.emit(captured ? 'payment_intent.succeeded' : 'payment_intent.amount_capturable_updated', paid);
  return paid;
}

function refuse(store: Store, intent: PaymentIntent, method: PaymentMethod, decline: Decline): Attempt {
  // After a failed authentication the payment never reaches the bank, so there is no charge.
  const charge = decline === authenticationFailed ? null : createCharge(store, intent, method, { decline });
  const error = {
    ...(charge === null ? {} : { charge: charge.id, decline_code: decline.declineCode }),
    code: decline.code,
    doc_url: docUrlOf(decline.code),
    message: decline.message,
    payment_method: method,
    type: charge === null ? ('invalid_request_error' as const) : ('card_error' as const),
  };
  const refused = store.put(store.paymentIntents, {
    ...intent,
    status: 'requires_payment_method',
    last_payment_error: error,
    latest_charge: charge?.id ?? intent.latest_charge,
    next_action: null,
    payment_method: null,
  });
  store.emit('payment_intent.payment_failed', refused);
  return { intent: refused, failure: { ...error, payment_intent: refused } };
}

/** How the cardholder authenticates. A client library that handles it needs no `return_url`. */
export function authenticationAction(options: AttemptOptions, url: string) {
  return options.usesSdk || options.returnUrl === undefined
    ? {
        type: 'use_stripe_sdk',
        use_stripe_sdk: { type: 'three_d_secure_redirect', source: newId('src_'), stripe_js: url },
      }
    : { type: 'redirect_to_url', redirect_to_url: { url, return_url: options.returnUrl } };
}

function requireAction(store: Store, intent: PaymentIntent, options: AttemptOptions): PaymentIntent {
  const url = `${options.baseUrl}/sandbox/authenticate/${intent.id}?secret=${intent.client_secret}`;
  const waiting = store.put(store.paymentIntents, {
    ...intent,
    status: 'requires_action',
    last_payment_error: null,
    next_action: authenticationAction(options, url),
  });
  store.emit('payment_intent.requires_action', waiting);
  return waiting;
}
