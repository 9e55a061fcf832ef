import { followPaymentIntent, followSetupIntent } from '../billing/collect.ts';
import { canStillComplete, followCheckout } from '../checkout/complete.ts';
import type { Intent } from '../payments/intent.ts';
import { completeAuthentication } from '../payments/payment-intent.ts';
import { completeSetupAuthentication } from '../payments/setup-intent.ts';
import { confirm, confirmationParams } from '../resources/payment-intents.ts';
import type { Store } from '../state/store.ts';
import type { PaymentIntent } from '../wire/objects.ts';
import { parseFields } from '../wire/params.ts';
import { type ErrorBody, missing, WireError } from '../wire/wire-error.ts';
import type { World } from '../worlds/world.ts';
import type { parseConfirmation } from './control-input.ts';

/** What a customer sees after a payment. */
export interface Confirmed {
  readonly id: string;
  readonly status: PaymentIntent['status'];
  /** The page on which the customer must authenticate; null unless the payment requires it. */
  readonly authenticate_url: string | null;
  /** Why the payment failed; null unless it did. */
  readonly error: {
    readonly code: string | null;
    readonly decline_code: string | null;
    readonly message: string;
  } | null;
}

/** Confirms a payment as the customer's browser would. As in the API, a declined payment is kept. */
export async function confirmAsCustomer(
  world: World,
  id: string,
  { payment_method: paymentMethod, return_url: returnUrl }: ReturnType<typeof parseConfirmation>,
): Promise<Confirmed> {
  const { store } = world;
  const call = { ...world.callOn(id), fromBrowser: true };
  const attempt = () => {
    const intent = store.paymentIntents.existing(id);
    const form = new Map([
      ['payment_method', paymentMethod],
      // Without a return address, the client library handles the authentication.
      returnUrl === undefined ? ['use_stripe_sdk', 'true'] : ['return_url', returnUrl],
    ]);
    const params = parseFields(confirmationParams, form);
    return keepDecline(() => confirm(call, intent, params));
  };
  const outcome = await world.act(store.paymentIntents, id, attempt);
  const intent = store.paymentIntents.existing(id);
  const error = outcome instanceof WireError ? errorOf(outcome.body) : null;
  return { id, status: intent.status, authenticate_url: authenticationUrl(intent), error };
}

/** Runs work inside a transaction. If a card is declined, returns the error and keeps the changes. */
export function keepDecline<T>(work: () => T): T | WireError {
  try {
    return work();
  } catch (error) {
    if (error instanceof WireError && error.keepsChanges) return error;
    throw error;
  }
}

/** The page on which the customer must authenticate. */
export function authenticationUrl({
  next_action: action,
}: Pick<PaymentIntent, 'next_action'>): string | null {
  const sdkUrl = action?.use_stripe_sdk?.['stripe_js'];
  return action?.redirect_to_url?.url ?? (typeof sdkUrl === 'string' ? sdkUrl : null);
}

/** What a customer sees of an error. */
export function errorOf(
  error: Partial<Pick<ErrorBody, 'code' | 'decline_code' | 'message'>>,
): Confirmed['error'] {
  const { code = null, decline_code = null, message = '' } = error;
  return { code, decline_code, message };
}

/** The cardholder authenticates successfully or fails. */
export async function authenticate(world: World, id: string, succeeded: boolean): Promise<Intent> {
  const { store } = world;
  const kind = store.paymentIntents.get(id) === undefined ? store.setupIntents : store.paymentIntents;
  return world.act(kind, id, () => completeIntent(store, id, succeeded));
}

/** Completes the authentication that an intent requires. */
export function completeIntent(store: Store, id: string, succeeded: boolean): Intent {
  const before = store.paymentIntents.get(id) ?? store.setupIntents.get(id);
  if (before === undefined) throw missing('intent', id);
  const isApproved = succeeded && canStillComplete(store, before);
  if (before.object === 'payment_intent')
    followPaymentIntent(store, completeAuthentication(store, before, isApproved).intent);
  else followSetupIntent(store, completeSetupAuthentication(store, before, isApproved).intent);
  const intent = store.paymentIntents.get(id) ?? store.setupIntents.existing(id);
  followCheckout(store, intent);
  return intent;
}
