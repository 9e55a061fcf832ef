import { followSetupIntent } from '../billing/collect.ts';
import { checkNotInCheckout } from '../checkout/session.ts';
import { existingCustomer } from '../payments/customer.ts';
import { unexpectedState } from '../payments/intent.ts';
import { cardError } from '../payments/payment-intent.ts';
import { paymentMethodData } from '../payments/payment-method.ts';
import { attemptSetup, cancelSetupIntent, createSetupIntent } from '../payments/setup-intent.ts';
import type { SetupIntent } from '../wire/objects.ts';
import type { Call } from '../wire/operation.ts';
import * as p from '../wire/params.ts';
import { withConfirmationToken } from './confirmation-tokens.ts';
import { confirmingMethod, methodFrom, typesChange } from './payment-intents.ts';
import * as methods from './payment-method-types.ts';
import { Resource } from './resource.ts';

const confirmationParams = {
  confirmation_token: p.text(),
  payment_method: p.text(),
  payment_method_data: paymentMethodData,
  payment_method_options: methods.methodOptions,
  return_url: p.url,
  use_stripe_sdk: p.bool,
};
const createParams = {
  ...confirmationParams,
  ...methods.methodChoiceParams,
  confirm: p.bool,
  customer: p.text(),
  description: p.text(),
  metadata: p.metadata,
  usage: p.oneOf('off_session', 'on_session'),
};
const updateParams = {
  ...methods.typesParam,
  customer: p.text(),
  description: p.clearable(p.text()),
  metadata: p.metadata,
  payment_method: p.text(),
};

const setupIntents = new Resource('setup_intents', (store) => store.setupIntents);

export const setupIntentOperations = [
  setupIntents.create(createParams, create),
  setupIntents.update(updateParams, update),
  ...methods.browserOperations(setupIntents, confirmationParams, confirm, (_, intent) => intent),
  setupIntents.action(
    'cancel',
    { cancellation_reason: p.oneOf('abandoned', 'duplicate', 'requested_by_customer') },
    ({ store }, intent, params) => {
      checkNotInCheckout(store, intent);
      return cancelSetupIntent(store, intent, params.cancellation_reason ?? null);
    },
  ),
  setupIntents.list(p.each(p.text(), 'customer payment_method')),
  new Resource('setup_attempts', (store) => store.setupAttempts).list({
    setup_intent: p.required(p.text()),
  }),
];

function create(call: Call, params: p.Parsed<typeof createParams>): SetupIntent {
  const { store } = call;
  const customer = params.customer === undefined ? null : existingCustomer(store, params.customer).id;
  const method = methodFrom(store, params, customer);
  const intent = createSetupIntent(store, {
    customer,
    metadata: p.applyMetadata({}, params.metadata),
    ...methods.chosenMethods(call, params),
    ...p.present({ description: params.description, usage: params.usage }),
    payment_method: method?.id ?? null,
  });
  if (params.confirm !== true) return intent;
  // The payment method is now part of the intent.
  return confirm(call, intent, { ...params, payment_method: undefined, payment_method_data: undefined });
}

function update(call: Call, before: SetupIntent, params: p.Parsed<typeof updateParams>): SetupIntent {
  const { store } = call;
  if (before.status === 'succeeded' || before.status === 'canceled') throw unexpectedState(before, 'updated');
  const customer =
    params.customer === undefined ? before.customer : existingCustomer(store, params.customer).id;
  const method = methodFrom(store, params, customer);
  return store.change(store.setupIntents, before, {
    customer,
    ...p.present({ description: params.description }),
    metadata: p.applyMetadata(before.metadata ?? {}, params.metadata),
    ...typesChange(call, params),
    ...(method !== undefined && methods.withMethod(method)),
  });
}

function confirm(call: Call, intent: SetupIntent, sent: p.Parsed<typeof confirmationParams>): SetupIntent {
  const { store } = call;
  checkNotInCheckout(store, intent);
  const params = withConfirmationToken(store, intent, sent);
  if (intent.status === 'succeeded' || intent.status === 'canceled')
    throw unexpectedState(intent, 'confirmed');
  const method = confirmingMethod(store, intent, params);
  const attempt = attemptSetup(store, intent, method, {
    offSession: false,
    returnUrl: params.return_url,
    usesSdk: params.use_stripe_sdk === true,
  });
  followSetupIntent(store, attempt.intent);
  if (attempt.failure !== null) throw cardError(attempt.failure);
  return attempt.intent;
}
