import { followPaymentIntent, followSetupIntent } from '../billing/collect.ts';
import { followCheckout } from '../checkout/complete.ts';
import type { Intent } from '../payments/intent.ts';
import { completeAuthentication } from '../payments/payment-intent.ts';
import { completeSetupAuthentication } from '../payments/setup-intent.ts';
import { confirm, confirmationParams } from '../resources/payment-intents.ts';
import type { Store } from '../state/store.ts';
import type { PaymentIntent } from '../wire/objects.ts';
import { parseFields } from '../wire/params.ts';
import { missing, WireError } from '../wire/wire-error.ts';
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
  const { store, accountId } = world;
  const call = { store, id, fromBrowser: true, accountId, version: null };
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
  const decline = await world.act(store.paymentIntents, id, attempt);
  const intent = store.paymentIntents.existing(id);
  return { id, status: intent.status, authenticate_url: authenticationUrl(intent), error: errorOf(decline) };
}

/**
 * Runs work inside a transaction. If a card is declined, returns the error and keeps the changes. Throws any other
 * error.
 */
export function keepDecline(work: () => unknown): WireError | null {
  try {
    work();
    return null;
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

function errorOf(decline: WireError | null): Confirmed['error'] {
  if (decline === null) return null;
  const { code = null, decline_code = null, message } = decline.body;
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
  const payment = store.paymentIntents.get(id);
  if (payment !== undefined) {
    const { intent } = completeAuthentication(store, payment, succeeded);
    followPaymentIntent(store, intent);
    followCheckout(store, intent);
    return intent;
  }
  const setup = store.setupIntents.get(id);
  if (setup === undefined) throw missing('intent', id);
  const { intent } = completeSetupAuthentication(store, setup, succeeded);
  followSetupIntent(store, intent);
  followCheckout(store, intent);
  return intent;
}
