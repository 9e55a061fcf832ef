import { enterPromotionCode } from '../checkout/change.ts';
import { type Buyer, completeSession, needsCard } from '../checkout/complete.ts';
import { sessionIntent, shownSession } from '../checkout/session.ts';
import { noAddress } from '../payments/address.ts';
import { usablePaymentMethod } from '../payments/payment-method.ts';
import type { CheckoutSession } from '../wire/objects.ts';
import type { World } from '../worlds/world.ts';
import type { parsePurchase } from './control-input.ts';
import { authenticationUrl, type Confirmed, completeIntent, errorOf } from './customer.ts';

/** The session after an attempt to complete it. */
interface Attempted {
  readonly session: CheckoutSession;
  /** Why the card was declined; null unless it was. */
  readonly error: Confirmed['error'];
  /** The page on which the buyer must authenticate; null unless the card requires it. */
  readonly authenticateUrl: string | null;
}

/**
 * Attempts to complete a session with what the buyer enters. `authenticates` says what the buyer does if the card
 * requires authentication; without it, the session waits for the bank's page.
 */
export async function completeCheckout(
  world: World,
  id: string,
  enter: (session: CheckoutSession) => Buyer,
  authenticates?: boolean,
): Promise<Attempted> {
  const { store } = world;
  await world.act(store.checkoutSessions, id, () => {
    const buyer = enter(store.checkoutSessions.existing(id));
    const { session } = completeSession(store, store.checkoutSessions.existing(id), buyer);
    const intent = sessionIntent(store, session);
    if (intent?.status === 'requires_action' && authenticates !== undefined)
      completeIntent(store, intent.id, authenticates);
  });
  const session = store.checkoutSessions.existing(id);
  const intent = session.status === 'open' ? sessionIntent(store, session) : undefined;
  const failure = intent?.object === 'setup_intent' ? intent.last_setup_error : intent?.last_payment_error;
  return {
    session,
    error: failure == null ? null : errorOf(failure),
    authenticateUrl: intent === undefined ? null : authenticationUrl(intent),
  };
}

/** Completes a session as a buyer would, without a browser. Returns the session, with the error of a decline. */
export async function completeAsBuyer(
  world: World,
  id: string,
  { payment_method: card, promotion_code: code, authenticate = true }: ReturnType<typeof parsePurchase>,
): Promise<object> {
  const { store } = world;
  const enter = (before: CheckoutSession): Buyer => {
    const session = code === undefined ? before : enterPromotionCode(store, before, code);
    const asksForCard = card !== undefined || needsCard(store, session);
    const method = asksForCard ? usablePaymentMethod(store, card ?? 'pm_card_visa', session.customer) : null;
    const { address, email, name, phone } = method?.billing_details ?? jenny;
    return {
      method,
      details: {
        address: address?.country == null ? jenny.address : address,
        email: email ?? jenny.email,
        name: name ?? jenny.name,
        phone,
        tax_id: null,
      },
      shipping: jennysAddress(session),
    };
  };
  const { session, error } = await completeCheckout(world, id, enter, authenticate);
  return { ...shownSession(session), error };
}

/** What the buyer enters beside the card. */
const jenny: Buyer['details'] = {
  address: { ...noAddress, country: 'US', postal_code: '94107' },
  email: 'jenny@example.com',
  name: 'Jenny Rosen',
  phone: null,
  tax_id: null,
};

function jennysAddress({ shipping_address_collection: asked }: CheckoutSession): Buyer['shipping'] {
  const [country = 'US'] = asked?.allowed_countries ?? [];
  const address = {
    ...noAddress,
    city: 'San Francisco',
    country,
    line1: '27 Fredrick Ave',
    postal_code: '94107',
  };
  return asked === null ? null : { address, name: 'Jenny Rosen' };
}

/** As at the processor. */
const webhookWaitMsMax = 10_000;

/** Waits until the webhook endpoints know that the session is complete, unless that is switched off. */
export async function awaitWebhook({ store, deliverer }: World, sessionId: string): Promise<void> {
  if (store.settings.checkoutWaits === false) return;
  const { data } = store.events.list({
    limit: 1,
    where: ({ type, subject }) => type === 'checkout.session.completed' && subject.id === sessionId,
  });
  if (data[0] !== undefined) await deliverer.attempted(data[0].id, webhookWaitMsMax);
}
