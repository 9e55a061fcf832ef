import { followPaymentIntent, followSetupIntent } from '../billing/follow-payment.ts';
import { followCheckout } from '../checkout/complete.ts';
import type { Intent } from '../payments/intent.ts';
import { completeAuthentication } from '../payments/payment-intent.ts';
import { completeSetupAuthentication } from '../payments/setup-intent.ts';
import type { Store } from '../state/store.ts';
import { objectTime } from '../wire/request-clock.ts';
import { missing } from '../wire/wire-error.ts';
import type { World } from '../worlds/world.ts';

/** The cardholder authenticates successfully or fails. */
export async function authenticate(world: World, id: string, succeeded: boolean): Promise<Intent> {
  const { store } = world;
  const kind = store.paymentIntents.get(id) === undefined ? store.setupIntents : store.paymentIntents;
  const intent = store.clock.at(objectTime(store, kind.name, id), () =>
    store.transact(null, () => completeIntent(store, id, succeeded)),
  );
  await store.written();
  return intent;
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
