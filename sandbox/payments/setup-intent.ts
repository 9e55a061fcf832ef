import { newId } from '../ids.ts';
import type { Store } from '../state/store.ts';
import { nulls } from '../wire/nulls.ts';
import type { PaymentMethod, SetupAttempt, SetupIntent } from '../wire/objects.ts';
import { docUrlOf, type ErrorBody } from '../wire/wire-error.ts';
import * as intents from './intent.ts';
import { attach, behaviourOf, usedCard } from './payment-method.ts';
import { declineError } from './test-cards.ts';

/** Creates a setup intent, which saves a card for later. Trials use it instead of a payment. */
export function createSetupIntent(
  store: Store,
  input: Pick<SetupIntent, 'customer'> & Partial<SetupIntent>,
): SetupIntent {
  const blank = store.blank(store.setupIntents, 'setup_intent', store.worldNow());
  return store.record('setup_intent.created', store.setupIntents, {
    ...blank,
    ...nulls(
      'allowed_payment_method_types application automatic_payment_methods cancellation_reason description',
      'excluded_payment_method_types last_setup_error latest_attempt mandate next_action on_behalf_of',
      'payment_method payment_method_configuration_details payment_method_options single_use_mandate',
    ),
    client_secret: newId(`${blank.id}_secret_`),
    metadata: {},
    payment_method_types: ['card'],
    status: input.payment_method == null ? 'requires_payment_method' : 'requires_confirmation',
    usage: 'off_session',
    ...input,
  });
}

export function attemptSetup(
  store: Store,
  before: SetupIntent,
  method: PaymentMethod,
  options: intents.AttemptOptions,
): intents.Attempt<SetupIntent> {
  const card = behaviourOf(method);
  const intent = { ...before, payment_method: method.id };
  if (card?.authentication !== undefined)
    return { intent: requireAction(store, intent, method, options), failure: null };
  if (card?.declinesSetup && card.decline) return refuse(store, intent, method, declineError(card.decline));
  return { intent: succeed(store, intent, method), failure: null };
}

export function completeSetupAuthentication(
  store: Store,
  intent: SetupIntent,
  succeeded: boolean,
): intents.Attempt<SetupIntent> {
  const method = intents.waitingMethod(store, intent);
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
    throw intents.unexpectedState(intent, 'canceled');
  return store.update('setup_intent.canceled', store.setupIntents, intent, {
    status: 'canceled',
    cancellation_reason: reason,
    next_action: null,
  });
}

function succeed(store: Store, intent: SetupIntent, method: PaymentMethod): SetupIntent {
  if (intent.customer !== null) attach(store, method, intent.customer);
  return store.record('setup_intent.succeeded', store.setupIntents, {
    ...intent,
    latest_attempt: noteAttempt(store, intent, method, 'succeeded'),
    status: 'succeeded',
    last_setup_error: null,
    next_action: null,
  });
}

function refuse(
  store: Store,
  intent: SetupIntent,
  method: PaymentMethod,
  error: ErrorBody & { readonly code: string },
): intents.Attempt<SetupIntent> {
  const { type, code, message, decline_code } = error;
  const setupError = {
    type,
    code,
    doc_url: docUrlOf(code),
    message,
    payment_method: method,
    ...(decline_code !== undefined && { decline_code }),
  };
  const refused = store.record('setup_intent.setup_failed', store.setupIntents, {
    ...intent,
    latest_attempt: noteAttempt(store, intent, method, 'failed', setupError),
    status: 'requires_payment_method',
    last_setup_error: setupError,
    next_action: null,
    payment_method: null,
  });
  return { intent: refused, failure: { ...error, payment_method: method, setup_intent: refused } };
}

function requireAction(
  store: Store,
  intent: SetupIntent,
  method: PaymentMethod,
  options: intents.AttemptOptions,
): SetupIntent {
  return store.record('setup_intent.requires_action', store.setupIntents, {
    ...intent,
    latest_attempt: noteAttempt(store, intent, method, 'requires_action'),
    status: 'requires_action',
    next_action: intents.authenticationAction(store, intent, options),
  });
}

/** Records the attempt to save the card, or the result of one that waited for authentication. Returns its id. */
function noteAttempt(
  store: Store,
  intent: SetupIntent,
  method: PaymentMethod,
  status: 'failed' | 'requires_action' | 'succeeded',
  error: SetupAttempt['setup_error'] = null,
): string {
  const waiting = store.setupAttempts.get(intent.latest_attempt);
  if (waiting?.status === 'requires_action' && intent.status === 'requires_action')
    return store.change(store.setupAttempts, waiting, { status, setup_error: error }).id;
  const card = method.card;
  return store.put(store.setupAttempts, {
    ...store.blank(store.setupAttempts, 'setup_attempt', store.worldNow()),
    ...nulls('application customer_account flow_directions on_behalf_of'),
    customer: intent.customer,
    payment_method: method.id,
    payment_method_details: { type: 'card', ...(card !== undefined && { card: usedCard(card) }) },
    setup_error: error,
    setup_intent: intent.id,
    status,
    usage: intent.usage,
  }).id;
}
