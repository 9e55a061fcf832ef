import { newId } from '../ids.ts';
import type { Store } from '../state/store.ts';
import type { PaymentMethod, SetupAttempt, SetupIntent } from '../wire/objects.ts';
import { docUrlOf, type ErrorBody, wrongState } from '../wire/wire-error.ts';
import { type AttemptOptions, authenticationAction } from './payment-intent.ts';
import { attach, behaviourOf } from './payment-method.ts';

interface SetupResult {
  readonly intent: SetupIntent;
  readonly failure: ErrorBody | null;
}

/** Creates a setup intent, which saves a card for later. Trials use it instead of a payment. */
export function createSetupIntent(
  store: Store,
  input: {
    readonly customer: string | null;
    readonly metadata: Record<string, string>;
    readonly automaticPaymentMethods: SetupIntent['automatic_payment_methods'];
    readonly paymentMethodTypes?: string[];
    readonly paymentMethod?: string | null;
    readonly usage: 'off_session' | 'on_session';
    readonly description?: string | null;
  },
): SetupIntent {
  const id = store.setupIntents.newId();
  const intent = store.put(store.setupIntents, {
    id,
    object: 'setup_intent',
    allowed_payment_method_types: null,
    application: null,
    automatic_payment_methods: input.automaticPaymentMethods,
    cancellation_reason: null,
    client_secret: newId(`${id}_secret_`),
    created: store.worldNow(),
    customer: input.customer,
    description: input.description ?? null,
    excluded_payment_method_types: null,
    last_setup_error: null,
    latest_attempt: null,
    livemode: false,
    mandate: null,
    metadata: input.metadata,
    next_action: null,
    on_behalf_of: null,
    payment_method: input.paymentMethod ?? null,
    payment_method_configuration_details: null,
    payment_method_options: null,
    payment_method_types: input.paymentMethodTypes ?? ['card'],
    single_use_mandate: null,
    status: input.paymentMethod == null ? 'requires_payment_method' : 'requires_confirmation',
    usage: input.usage,
  });
  store.emit('setup_intent.created', intent);
  return intent;
}

export function attemptSetup(
  store: Store,
  before: SetupIntent,
  method: PaymentMethod,
  options: AttemptOptions,
): SetupResult {
  const card = behaviourOf(method);
  const intent = { ...before, payment_method: method.id };
  if (card?.authentication !== undefined)
    return { intent: requireAction(store, intent, method, options), failure: null };
  if (card?.declinesSetup && card.decline)
    return refuse(store, intent, method, {
      type: 'card_error',
      code: card.decline.code,
      decline_code: card.decline.declineCode,
      message: card.decline.message,
    });
  return { intent: succeed(store, intent, method), failure: null };
}

export function completeSetupAuthentication(
  store: Store,
  intent: SetupIntent,
  succeeded: boolean,
): SetupResult {
  const method = intent.payment_method === null ? undefined : store.paymentMethods.get(intent.payment_method);
  if (intent.status !== 'requires_action' || method === undefined)
    throw wrongState(
      `The setup intent ${intent.id} does not require authentication.`,
      'setup_intent_unexpected_state',
    );
  if (succeeded) return { intent: succeed(store, intent, method), failure: null };
  return refuse(store, intent, method, {
    type: 'invalid_request_error',
    code: 'setup_intent_authentication_failure',
    message: 'The authentication failed. Try again or choose another payment method.',
  });
}

export function cancelSetupIntent(
  store: Store,
  intent: SetupIntent,
  reason: SetupIntent['cancellation_reason'],
): SetupIntent {
  if (intent.status === 'succeeded' || intent.status === 'canceled')
    throw wrongState(
      `A SetupIntent that is ${intent.status} cannot be canceled.`,
      'setup_intent_unexpected_state',
      { setup_intent: intent },
    );
  const canceled = store.change(store.setupIntents, intent, {
    status: 'canceled',
    cancellation_reason: reason,
    next_action: null,
  });
  store.emit('setup_intent.canceled', canceled);
  return canceled;
}

function succeed(store: Store, intent: SetupIntent, method: PaymentMethod): SetupIntent {
  if (intent.customer !== null) attach(store, method, intent.customer);
  const succeeded = store.put(store.setupIntents, {
    ...intent,
    latest_attempt: noteAttempt(store, intent, method, 'succeeded'),
    status: 'succeeded',
    last_setup_error: null,
    next_action: null,
  });
  store.emit('setup_intent.succeeded', succeeded);
  return succeeded;
}

function refuse(
  store: Store,
  intent: SetupIntent,
  method: PaymentMethod,
  error: ErrorBody & { readonly code: string },
): SetupResult {
  const { type, code, message, decline_code } = error;
  const setupError = {
    type,
    code,
    doc_url: docUrlOf(code),
    message,
    payment_method: method,
    ...(decline_code === undefined ? {} : { decline_code }),
  };
  const refused = store.put(store.setupIntents, {
    ...intent,
    latest_attempt: noteAttempt(store, intent, method, 'failed', setupError),
    status: 'requires_payment_method',
    last_setup_error: setupError,
    next_action: null,
    payment_method: null,
  });
  store.emit('setup_intent.setup_failed', refused);
  return { intent: refused, failure: { ...error, payment_method: method, setup_intent: refused } };
}

function requireAction(
  store: Store,
  intent: SetupIntent,
  method: PaymentMethod,
  options: AttemptOptions,
): SetupIntent {
  const url = `${options.baseUrl}/sandbox/authenticate/${intent.id}?secret=${intent.client_secret}`;
  const waiting = store.put(store.setupIntents, {
    ...intent,
    latest_attempt: noteAttempt(store, intent, method, 'requires_action'),
    status: 'requires_action',
    next_action: authenticationAction(options, url),
  });
  store.emit('setup_intent.requires_action', waiting);
  return waiting;
}

/** Records the attempt to save the card, or the result of one that waited for authentication. Returns its id. */
function noteAttempt(
  store: Store,
  intent: SetupIntent,
  method: PaymentMethod,
  status: 'failed' | 'requires_action' | 'succeeded',
  error: SetupAttempt['setup_error'] = null,
): string {
  const waiting = store.setupAttempts.get(intent.latest_attempt ?? '');
  if (waiting?.status === 'requires_action' && intent.status === 'requires_action')
    return store.change(store.setupAttempts, waiting, { status, setup_error: error }).id;
  const card = method.card;
  return store.put(store.setupAttempts, {
    id: store.setupAttempts.newId(),
    object: 'setup_attempt',
    application: null,
    created: store.worldNow(),
    customer: intent.customer,
    customer_account: null,
    flow_directions: null,
    livemode: false,
    on_behalf_of: null,
    payment_method: method.id,
    payment_method_details: {
      type: 'card',
      ...(card === undefined
        ? {}
        : {
            card: {
              brand: card.brand,
              checks: card.checks,
              country: card.country,
              exp_month: card.exp_month,
              exp_year: card.exp_year,
              fingerprint: card.fingerprint ?? null,
              funding: card.funding,
              last4: card.last4,
              network: card.brand,
              three_d_secure: null,
              wallet: null,
            },
          }),
    },
    setup_error: error,
    setup_intent: intent.id,
    status,
    usage: intent.usage,
  }).id;
}
