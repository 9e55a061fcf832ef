import { followSetupIntent } from '../billing/follow-payment.ts';
import { existingCustomer } from '../payments/customer.ts';
import { cardError } from '../payments/payment-intent.ts';
import { createPaymentMethod, paymentMethodData, usablePaymentMethod } from '../payments/payment-method.ts';
import { attemptSetup, cancelSetupIntent, createSetupIntent } from '../payments/setup-intent.ts';
import type { SetupIntent } from '../wire/objects.ts';
import {
  type Call,
  createdParam,
  cursorOf,
  listOf,
  listParams,
  type Operation,
  operation,
} from '../wire/operation.ts';
import { applyMetadata, bool, metadata, object, oneOf, type Parsed, required, text } from '../wire/params.ts';
import { badParam, missing, WireError, wrongState } from '../wire/wire-error.ts';

const confirmParams = {
  client_secret: text(),
  payment_method: text(),
  payment_method_data: paymentMethodData,
  return_url: text(),
  use_stripe_sdk: bool,
};

export const setupIntentOperations: readonly Operation[] = [
  operation(
    { name: 'setup_intents.create', method: 'POST', path: 'setup_intents' },
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
  operation(
    { name: 'setup_intents.retrieve', method: 'GET', path: 'setup_intents/*', forBrowsers: true },
    { client_secret: text() },
    (call, params) => opened(call, params.client_secret),
  ),
  operation(
    { name: 'setup_intents.confirm', method: 'POST', path: 'setup_intents/*/confirm', forBrowsers: true },
    confirmParams,
    (call, params) => confirm(call, opened(call, params.client_secret), params),
  ),
  operation(
    { name: 'setup_intents.cancel', method: 'POST', path: 'setup_intents/*/cancel' },
    { cancellation_reason: oneOf('abandoned', 'duplicate', 'requested_by_customer') },
    (call, params) => cancelSetupIntent(call.store, existing(call), params.cancellation_reason ?? null),
  ),
  operation(
    { name: 'setup_intents.list', method: 'GET', path: 'setup_intents' },
    { ...listParams, ...createdParam, customer: text() },
    ({ store }, params) =>
      listOf(
        '/v1/setup_intents',
        store.setupIntents.list({
          ...cursorOf(params, (id) => store.setupIntents.get(id) !== undefined),
          created: params.created,
          within: params.customer === undefined ? undefined : { index: 'customer', key: params.customer },
        }),
      ),
  ),
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
    throw badParam('A `return_url` is needed to confirm this SetupIntent.', 'return_url');
  const method =
    params.payment_method_data !== undefined
      ? createPaymentMethod(store, params.payment_method_data)
      : params.payment_method !== undefined
        ? usablePaymentMethod(store, params.payment_method, intent.customer)
        : undefined;
  if (method === undefined)
    throw wrongState(
      'The SetupIntent has no payment method to be confirmed with.',
      'setup_intent_unexpected_state',
      { setup_intent: intent },
    );
  const attempt = attemptSetup(store, intent, method, {
    offSession: false,
    baseUrl: call.baseUrl,
    returnUrl: params.return_url,
  });
  followSetupIntent(store, attempt.intent);
  if (attempt.failure !== null) throw cardError(attempt.failure);
  return attempt.intent;
}

function existing({ store, ids: [id = ''] }: Call): SetupIntent {
  const intent = store.setupIntents.get(id);
  if (intent === undefined) throw missing('setupintent', id);
  return intent;
}

function opened(call: Call, clientSecret: string | undefined): SetupIntent {
  if (!call.fromBrowser && clientSecret === undefined) return existing(call);
  if (clientSecret === undefined)
    throw badParam('Missing required param: client_secret.', 'client_secret', 'parameter_missing');
  const intent = existing(call);
  if (intent.client_secret !== clientSecret)
    throw new WireError(404, {
      type: 'invalid_request_error',
      code: 'resource_missing',
      message: 'The client_secret belongs to no such SetupIntent.',
      param: 'client_secret',
    });
  return intent;
}
