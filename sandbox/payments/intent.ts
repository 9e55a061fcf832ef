import { newId } from '../ids.ts';
import type { Store } from '../state/store.ts';
import type { PaymentIntent, PaymentMethod, SetupIntent } from '../wire/objects.ts';
import { type ErrorBody, type WireError, wrongState } from '../wire/wire-error.ts';

/** Payments and the saving of cards are confirmed, authenticated and canceled alike. */
export type Intent = PaymentIntent | SetupIntent;

/** An attempt to pay or to save a card: the resulting intent, and the error for the caller if it failed. */
export interface Attempt<T extends Intent> {
  readonly intent: T;
  readonly failure: ErrorBody | null;
}

export interface AttemptOptions {
  /** The customer is not present and cannot authenticate. */
  readonly offSession: boolean;
  readonly returnUrl?: string | undefined;
  /** The client library handles the authentication. */
  readonly usesSdk?: boolean;
}

export function nounOf({ object }: Pick<Intent, 'object'>): 'PaymentIntent' | 'SetupIntent' {
  return object === 'payment_intent' ? 'PaymentIntent' : 'SetupIntent';
}

/** The error for an intent whose status does not allow the request. */
export function unexpectedState(intent: Intent, verb: string, hint = ''): WireError {
  return intentError(intent, `A ${nounOf(intent)} that is ${intent.status} cannot be ${verb}.${hint}`);
}

export function intentError(intent: Intent, message: string): WireError {
  return wrongState(message, `${intent.object}_unexpected_state`, { [intent.object]: intent });
}

/** The card of an intent that waits for authentication. */
export function waitingMethod(store: Store, intent: Intent): PaymentMethod {
  const method = store.paymentMethods.get(intent.payment_method);
  if (intent.status !== 'requires_action' || method === undefined)
    throw intentError(intent, `The ${nounOf(intent)} ${intent.id} does not require authentication.`);
  return method;
}

/** How the cardholder authenticates. A client library that handles it needs no `return_url`. */
export function authenticationAction(
  store: Store,
  { id, client_secret: secret }: Intent,
  options: AttemptOptions,
) {
  const url = `${store.baseUrl()}/sandbox/authenticate/${id}?secret=${secret}`;
  return options.usesSdk || options.returnUrl === undefined
    ? {
        type: 'use_stripe_sdk',
        use_stripe_sdk: { type: 'three_d_secure_redirect', source: newId('src_'), stripe_js: url },
      }
    : { type: 'redirect_to_url', redirect_to_url: { url, return_url: options.returnUrl } };
}
