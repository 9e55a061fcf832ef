import { followPaymentIntent } from '../billing/follow-payment.ts';
import { checkNotInCheckout } from '../checkout/session.ts';
import { shipping } from '../payments/address.ts';
import { withConfirmationToken } from '../payments/confirmation-token.ts';
import { type Attempt, attemptPayment, cardError } from '../payments/payment-intent.ts';
import { createPaymentMethod, paymentMethodData, usablePaymentMethod } from '../payments/payment-method.ts';
import type { Store } from '../state/store.ts';
import type { PaymentIntent, PaymentMethod } from '../wire/objects.ts';
import type { Call } from '../wire/operation.ts';
import { bool, clearable, oneOf, type Parsed, present, text, url } from '../wire/params.ts';
import { badParam, type WireError, wrongState } from '../wire/wire-error.ts';
import { listedTypes, methodOptions, shownOptions, typesParam } from './payment-method-types.ts';

/** The parameters of a confirmation, on its own or as part of the creation. */
export const confirmationParams = {
  ...typesParam,
  confirmation_token: text(),
  payment_method: text(),
  payment_method_data: paymentMethodData,
  payment_method_options: methodOptions,
  return_url: url,
  off_session: bool,
  setup_future_usage: clearable(oneOf('off_session', 'on_session')),
  receipt_email: clearable(text()),
  shipping: clearable(shipping),
  use_stripe_sdk: bool,
  error_on_requires_action: bool,
};

export function confirm(
  call: Call,
  given: PaymentIntent,
  sent: Parsed<typeof confirmationParams>,
): PaymentIntent {
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
    ...(options === undefined ? {} : { payment_method_options: shownOptions(options) }),
  };
  if (!['requires_payment_method', 'requires_confirmation', 'requires_action'].includes(before.status))
    throw unexpectedState(before, 'confirmed');
  if (
    before.automatic_payment_methods?.allow_redirects === 'always' &&
    params.return_url === undefined &&
    params.use_stripe_sdk !== true
  )
    throw badParam(
      'This PaymentIntent accepts payment methods that may redirect the customer, so a `return_url` is required to confirm it. To accept only payment methods without redirects, set `automatic_payment_methods[allow_redirects]` to `never` when you create it.',
      'return_url',
    );
  const chosen = methodFrom(store, params, before.customer);
  const method =
    chosen ??
    (before.payment_method === null
      ? undefined
      : usablePaymentMethod(store, before.payment_method, before.customer));
  if (method === undefined)
    throw wrongState(
      'This PaymentIntent has no payment method. Add one before you confirm it.',
      'payment_intent_unexpected_state',
      { payment_intent: before },
    );
  const { receipt_email, shipping: sentTo, setup_future_usage } = params;
  const intent = { ...before, ...present({ receipt_email, shipping: sentTo, setup_future_usage }) };
  const attempt = attemptPayment(store, intent, method, {
    offSession: params.off_session === true || params.error_on_requires_action === true,
    baseUrl: call.baseUrl,
    returnUrl: params.return_url,
    usesSdk: params.use_stripe_sdk === true,
  });
  return settled(store, attempt);
}

/** The payment method that the request names or creates. */
export function methodFrom(
  store: Store,
  params: Pick<Parsed<typeof confirmationParams>, 'payment_method' | 'payment_method_data'>,
  customer: string | null,
): PaymentMethod | undefined {
  if (params.payment_method !== undefined && params.payment_method_data !== undefined)
    throw badParam(
      'Only one of payment_method and payment_method_data may be given.',
      'payment_method',
      'parameters_exclusive',
    );
  if (params.payment_method_data !== undefined) return createPaymentMethod(store, params.payment_method_data);
  return params.payment_method === undefined
    ? undefined
    : usablePaymentMethod(store, params.payment_method, customer);
}

/** A list of types replaces the processor's choice. */
export function typesChange(call: Call, params: Parsed<typeof typesParam>): Partial<PaymentIntent> {
  const types = listedTypes(call, params);
  return types === undefined ? {} : { payment_method_types: types, automatic_payment_methods: null };
}

export function unexpectedState(intent: PaymentIntent, verb: string): WireError {
  return wrongState(
    `A PaymentIntent that is ${intent.status} cannot be ${verb}.`,
    'payment_intent_unexpected_state',
    { payment_intent: intent },
  );
}

/** Updates the intent's invoice, if it has one, and throws the error of a failed attempt. */
function settled(store: Store, attempt: Attempt): PaymentIntent {
  followPaymentIntent(store, attempt.intent);
  if (attempt.failure !== null) throw cardError(attempt.failure);
  return attempt.intent;
}
