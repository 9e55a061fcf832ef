import { followSetupIntent } from '../billing/follow-payment.ts';
import { existingCustomer } from '../payments/customer.ts';
import { cardError } from '../payments/payment-intent.ts';
import { createPaymentMethod, paymentMethodData, usablePaymentMethod } from '../payments/payment-method.ts';
import { attemptSetup, cancelSetupIntent, createSetupIntent } from '../payments/setup-intent.ts';
import type { SetupIntent } from '../wire/objects.ts';
import type { Call, Operation } from '../wire/operation.ts';
import { applyMetadata, bool, metadata, object, oneOf, type Parsed, required, text } from '../wire/params.ts';
import { badParam, wrongState } from '../wire/wire-error.ts';
import { openedIntent } from './client-secret.ts';
import { Resource } from './resource.ts';

const confirmParams = {
  client_secret: text(),
  payment_method: text(),
  payment_method_data: paymentMethodData,
  return_url: text(),
  use_stripe_sdk: bool,
};

const setupIntents = new Resource('setup_intents', (store) => store.setupIntents);

export const setupIntentOperations: readonly Operation[] = [
  setupIntents.operation(
    'create',
    'POST',
    {
      automatic_payment_methods: object({
        enabled: required(bool),
        allow_redirects: oneOf('always', 'never'),
      }),
      customer: text(),
      description: text(),
      metadata,
      usage: oneOf('off_session', 'on_session'),
    },
    ({ store }, params) =>
      createSetupIntent(store, {
        customer: params.customer === undefined ? null : existingCustomer(store, params.customer).id,
        metadata: applyMetadata({}, params.metadata),
        automaticPaymentMethods:
          params.automatic_payment_methods?.enabled === false
            ? null
            : {
                enabled: true,
                allow_redirects: params.automatic_payment_methods?.allow_redirects ?? 'always',
              },
        usage: params.usage ?? 'off_session',
        description: params.description ?? null,
      }),
  ),
  setupIntents.operation(
    'retrieve',
    'GET *',
    { client_secret: text() },
    (call, params) => opened(call, params.client_secret),
    { forBrowsers: true },
  ),
  setupIntents.operation(
    'confirm',
    'POST */confirm',
    confirmParams,
    (call, params) => confirm(call, opened(call, params.client_secret), params),
    { forBrowsers: true },
  ),
  setupIntents.operation(
    'cancel',
    'POST */cancel',
    { cancellation_reason: oneOf('abandoned', 'duplicate', 'requested_by_customer') },
    (call, params) =>
      cancelSetupIntent(call.store, setupIntents.existing(call), params.cancellation_reason ?? null),
  ),
  setupIntents.list({ customer: text() }, { within: ({ customer }) => ({ customer }) }),
];

function confirm(call: Call, intent: SetupIntent, params: Parsed<typeof confirmParams>): SetupIntent {
  const { store } = call;
  if (intent.status === 'succeeded' || intent.status === 'canceled')
    throw wrongState(
      `A SetupIntent that is ${intent.status} cannot be confirmed.`,
      'setup_intent_unexpected_state',
      { setup_intent: intent },
    );
  if (
    intent.automatic_payment_methods?.allow_redirects === 'always' &&
    params.return_url === undefined &&
    params.use_stripe_sdk !== true
  )
    throw badParam('A `return_url` is required to confirm this SetupIntent.', 'return_url');
  const method =
    params.payment_method_data !== undefined
      ? createPaymentMethod(store, params.payment_method_data)
      : params.payment_method !== undefined
        ? usablePaymentMethod(store, params.payment_method, intent.customer)
        : undefined;
  if (method === undefined)
    throw wrongState(
      'This SetupIntent has no payment method. Add one before you confirm it.',
      'setup_intent_unexpected_state',
      { setup_intent: intent },
    );
  const attempt = attemptSetup(store, intent, method, {
    offSession: false,
    baseUrl: call.baseUrl,
    returnUrl: params.return_url,
    usesSdk: params.use_stripe_sdk === true,
  });
  followSetupIntent(store, attempt.intent);
  if (attempt.failure !== null) throw cardError(attempt.failure);
  return attempt.intent;
}

function opened(call: Call, clientSecret: string | undefined): SetupIntent {
  return openedIntent(setupIntents, 'SetupIntent', call, clientSecret);
}
