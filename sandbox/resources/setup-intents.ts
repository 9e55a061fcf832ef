import { followSetupIntent } from '../billing/follow-payment.ts';
import { checkNotInCheckout } from '../checkout/session.ts';
import { withConfirmationToken } from '../payments/confirmation-token.ts';
import { existingCustomer } from '../payments/customer.ts';
import { cardError } from '../payments/payment-intent.ts';
import { paymentMethodData } from '../payments/payment-method.ts';
import { attemptSetup, cancelSetupIntent, createSetupIntent } from '../payments/setup-intent.ts';
import type { SetupIntent } from '../wire/objects.ts';
import type { Call, Operation } from '../wire/operation.ts';
import {
  applyMetadata,
  bool,
  clearable,
  metadata,
  oneOf,
  type Parsed,
  required,
  text,
  url,
} from '../wire/params.ts';
import { badParam, type WireError, wrongState } from '../wire/wire-error.ts';
import { openedIntent } from './client-secret.ts';
import { methodFrom } from './payment-intent-confirmation.ts';
import {
  chosenMethods,
  listedTypes,
  methodChoiceParams,
  methodOptions,
  typesParam,
} from './payment-method-types.ts';
import { Resource } from './resource.ts';

const confirmationParams = {
  confirmation_token: text(),
  payment_method: text(),
  payment_method_data: paymentMethodData,
  payment_method_options: methodOptions,
  return_url: url,
  use_stripe_sdk: bool,
};
const createParams = {
  ...confirmationParams,
  ...methodChoiceParams,
  confirm: bool,
  customer: text(),
  description: text(),
  metadata,
  usage: oneOf('off_session', 'on_session'),
};
const updateParams = {
  ...typesParam,
  customer: text(),
  description: clearable(text()),
  metadata,
  payment_method: text(),
};

const setupIntents = new Resource('setup_intents', (store) => store.setupIntents);

export const setupIntentOperations: readonly Operation[] = [
  setupIntents.operation('create', 'POST', createParams, create),
  setupIntents.operation('update', 'POST *', updateParams, update),
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
    { ...confirmationParams, client_secret: text() },
    (call, params) => confirm(call, opened(call, params.client_secret), params),
    { forBrowsers: true },
  ),
  setupIntents.operation(
    'cancel',
    'POST */cancel',
    { cancellation_reason: oneOf('abandoned', 'duplicate', 'requested_by_customer') },
    (call, params) => {
      const intent = setupIntents.existing(call);
      checkNotInCheckout(call.store, intent);
      return cancelSetupIntent(call.store, intent, params.cancellation_reason ?? null);
    },
  ),
  setupIntents.list(
    { customer: text(), payment_method: text() },
    { within: ({ customer, payment_method }) => ({ customer, payment_method }) },
  ),
  new Resource('setup_attempts', (store) => store.setupAttempts).list(
    { setup_intent: required(text()) },
    { within: ({ setup_intent }) => ({ setup_intent }) },
  ),
];

function create(call: Call, params: Parsed<typeof createParams>): SetupIntent {
  const { store } = call;
  const customer = params.customer === undefined ? null : existingCustomer(store, params.customer).id;
  const method = methodFrom(store, params, customer);
  const intent = createSetupIntent(store, {
    customer,
    metadata: applyMetadata({}, params.metadata),
    ...chosenMethods(call, params),
    paymentMethod: method?.id ?? null,
    usage: params.usage ?? 'off_session',
    description: params.description ?? null,
  });
  if (params.confirm !== true) return intent;
  // The payment method is now part of the intent.
  return confirm(call, intent, { ...params, payment_method: undefined, payment_method_data: undefined });
}

function update(call: Call, params: Parsed<typeof updateParams>): SetupIntent {
  const { store } = call;
  const before = setupIntents.existing(call);
  if (before.status === 'succeeded' || before.status === 'canceled') throw unexpectedState(before, 'updated');
  const customer =
    params.customer === undefined ? before.customer : existingCustomer(store, params.customer).id;
  const method = methodFrom(store, { ...params, payment_method_data: undefined }, customer);
  const types = listedTypes(call, params);
  return store.change(store.setupIntents, before, {
    customer,
    description: params.description === undefined ? before.description : params.description,
    metadata: applyMetadata(before.metadata ?? {}, params.metadata),
    ...(types === undefined ? {} : { payment_method_types: types, automatic_payment_methods: null }),
    ...(method === undefined
      ? {}
      : { payment_method: method.id, status: 'requires_confirmation', next_action: null }),
  });
}

function confirm(call: Call, intent: SetupIntent, sent: Parsed<typeof confirmationParams>): SetupIntent {
  const { store } = call;
  checkNotInCheckout(store, intent);
  const params = withConfirmationToken(store, intent, sent);
  if (intent.status === 'succeeded' || intent.status === 'canceled')
    throw unexpectedState(intent, 'confirmed');
  if (
    intent.automatic_payment_methods?.allow_redirects === 'always' &&
    params.return_url === undefined &&
    params.use_stripe_sdk !== true
  )
    throw badParam('A `return_url` is required to confirm this SetupIntent.', 'return_url');
  const method =
    methodFrom(store, params, intent.customer) ??
    (intent.payment_method === null ? undefined : store.paymentMethods.get(intent.payment_method));
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

function unexpectedState(intent: SetupIntent, verb: string): WireError {
  return wrongState(
    `A SetupIntent that is ${intent.status} cannot be ${verb}.`,
    'setup_intent_unexpected_state',
    { setup_intent: intent },
  );
}
