import { couponTermsFor, discountAmounts, discountObject, type NewDiscount } from '../billing/discount.ts';
import { costOf } from '../billing/price.ts';
import { productName } from '../billing/subscription-items.ts';
import { newId } from '../ids.ts';
import { type Intent, nounOf } from '../payments/intent.ts';
import { unitOf } from '../payments/money.ts';
import { cancelPaymentIntent } from '../payments/payment-intent.ts';
import { cancelSetupIntent } from '../payments/setup-intent.ts';
import type { Store } from '../state/store.ts';
import type * as Wire from '../wire/objects.ts';
import { wrongState } from '../wire/wire-error.ts';

/** The session as callers see it. */
export function shownSession({ terms: _, ...session }: Wire.CheckoutSession): Wire.WireObject {
  return session;
}

/** The address of the payment page. A page in a frame needs its secret. */
export function pageUrl({ id, client_secret: secret }: Wire.CheckoutSession, baseUrl: string): string {
  return `${baseUrl}/c/pay/${id}${secret === null ? '' : `?secret=${secret}`}`;
}

/** A line without its amounts, which depend on the session. */
export function newLine(
  store: Store,
  price: Wire.Price,
  input: Pick<Wire.LineItem, 'adjustable_quantity' | 'metadata' | 'quantity'>,
): Wire.LineItem {
  return {
    id: newId('li_'),
    object: 'item',
    ...input,
    amount_discount: 0,
    amount_subtotal: 0,
    amount_tax: 0,
    amount_total: 0,
    currency: price.currency,
    description: productName(store, price),
    price,
  };
}

/** The session with these lines and discounts, and the amounts that follow from them. */
export function priced(
  store: Store,
  session: Wire.CheckoutSession,
  lines: readonly Wire.LineItem[],
  wanted: readonly NewDiscount[],
): Wire.CheckoutSession {
  const { id, customer, mode, terms } = session;
  const isFree = ({ recurring }: Wire.Price) => hasTrial(session) && recurring !== null;
  const costs = lines.map(({ price, quantity }) =>
    isFree(price) ? 0 : costOf(store, price, quantity ?? undefined),
  );
  const owner = { customer, subscription: null, checkout_session: mode === 'payment' ? id : null };
  const discounts = wanted.map((one) => discountObject(store, one, owner));
  const taken = discountAmounts(
    lines.map(({ price }, index) => ({
      amount: costs[index] ?? 0,
      discountable: true,
      product: price.product,
    })),
    wanted.map(({ coupon }, index) => couponTermsFor(discounts[index]?.id ?? '', coupon)),
    unitOf(lines[0]?.currency ?? ''),
  );
  const pricedLines = lines.map((line, index) => {
    const cost = costs[index] ?? 0;
    const discount = sum(taken[index] ?? []);
    return { ...line, amount_discount: discount, amount_subtotal: cost, amount_total: cost - discount };
  });
  const subtotal = costs.reduce((total, cost) => total + cost, 0);
  const discount = sum(taken.flat());
  return {
    ...session,
    amount_subtotal: subtotal,
    amount_total: subtotal - discount,
    discounts: wanted.map(({ coupon, code }) => ({
      coupon: code === null ? coupon.id : null,
      promotion_code: code?.id ?? null,
    })),
    total_details: { amount_discount: discount, amount_shipping: 0, amount_tax: 0 },
    terms: { ...terms, lines: pricedLines, taken, discounts },
  };
}

function sum(parts: readonly { readonly amount: number }[]): number {
  return parts.reduce((total, { amount }) => total + amount, 0);
}

export function hasTrial({ terms: { subscription } }: Wire.CheckoutSession): boolean {
  return subscription.trialDays !== null || subscription.trialEnd !== null;
}

export function checkOpen(session: Wire.CheckoutSession, verb: string): void {
  if (session.status !== 'open')
    throw wrongState(
      `Only Checkout Sessions with a status in ["open"] can be ${verb}. This Checkout Session has a status of \`${session.status}\`.`,
    );
}

/** When an open session expires. */
export function sessionDueAt({ status, expires_at }: Wire.CheckoutSession): number | null {
  return status === 'open' ? expires_at : null;
}

/** The session can no longer be completed, and its intent is canceled. */
export function expireSession(store: Store, before: Wire.CheckoutSession): Wire.CheckoutSession {
  checkOpen(before, 'expired');
  dropIntent(store, before);
  const session = store.change(store.checkoutSessions, before, { status: 'expired', url: null });
  store.emit('checkout.session.expired', shownSession(session));
  return session;
}

/** The intent with which the buyer pays or saves a card. */
export function sessionIntent(store: Store, { terms }: Wire.CheckoutSession): Intent | undefined {
  const id = terms.intent ?? '';
  return store.paymentIntents.get(id) ?? store.setupIntents.get(id);
}

/** Only the buyer can confirm the intent of an open session, and only expiring the session cancels it. */
export function checkNotInCheckout(store: Store, intent: Intent): void {
  if (store.checkoutSessions.allWithin('intent', intent.id).some(({ status }) => status === 'open'))
    throw wrongState(
      `You cannot perform this action on ${nounOf(intent)}s created by Checkout.`,
      `${intent.object}_unexpected_state`,
    );
}

/** Cancels the intent of an open session. */
export function dropIntent(store: Store, session: Wire.CheckoutSession): void {
  const intent = sessionIntent(store, session);
  if (intent?.object === 'payment_intent') cancelPaymentIntent(store, intent, 'expired');
  else if (intent !== undefined) cancelSetupIntent(store, intent, 'abandoned');
}
