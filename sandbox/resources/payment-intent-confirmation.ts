import { followPaymentIntent } from '../billing/follow-payment.ts';
import { checkNotInCheckout } from '../checkout/session.ts';
import { shipping } from '../payments/address.ts';
import { withConfirmationToken } from '../payments/confirmation-token.ts';
import { type Intent, intentError, nounOf, unexpectedState } from '../payments/intent.ts';
import { attemptPayment, cardError } from '../payments/payment-intent.ts';
import { createPaymentMethod, paymentMethodData, usablePaymentMethod } from '../payments/payment-method.ts';
import type { Store } from '../state/store.ts';
import type { PaymentIntent, PaymentMethod } from '../wire/objects.ts';
import type { Call } from '../wire/operation.ts';
import * as p from '../wire/params.ts';
import { badParam, exclusiveParams, wrongState } from '../wire/wire-error.ts';
import { listedTypes, methodOptions, shownOptions, typesParam } from './payment-method-types.ts';

/** The parameters of a confirmation, on its own or as part of the creation. */
export const confirmationParams = {
  ...typesParam,
  confirmation_token: p.text(),
  payment_method: p.text(),
  payment_method_data: paymentMethodData,
  payment_method_options: methodOptions,
  return_url: p.url,
  off_session: p.bool,
  setup_future_usage: p.clearable(p.oneOf('off_session', 'on_session')),
  receipt_email: p.clearable(p.text()),
  shipping: p.clearable(shipping),
  use_stripe_sdk: p.bool,
  error_on_requires_action: p.bool,
};

export function confirm(
  call: Call,
  given: PaymentIntent,
  sent: p.Parsed<typeof confirmationParams>,
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
  const method = confirmingMethod(store, before, params);
  const { receipt_email, shipping: sentTo, setup_future_usage } = params;
  const intent = { ...before, ...p.present({ receipt_email, shipping: sentTo, setup_future_usage }) };
  const attempt = attemptPayment(store, intent, method, {
    offSession: params.off_session === true || params.error_on_requires_action === true,
    returnUrl: params.return_url,
    usesSdk: params.use_stripe_sdk === true,
  });
  followPaymentIntent(store, attempt.intent);
  if (attempt.failure !== null) throw cardError(attempt.failure);
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
export function typesChange(call: Call, params: p.Parsed<typeof typesParam>) {
  const types = listedTypes(call, params);
  return types === undefined ? {} : { payment_method_types: types, automatic_payment_methods: null };
}
