import { couponTermsFor, discountObject, type NewDiscount } from '../billing/discount.ts';
import { discountAmounts } from '../billing/discount-amounts.ts';
import { costOf } from '../billing/price-amount.ts';
import { productName } from '../billing/subscription-items.ts';
import { newId } from '../ids.ts';
import { unitOf } from '../payments/money.ts';
import { cancelPaymentIntent } from '../payments/payment-intent.ts';
import { cancelSetupIntent } from '../payments/setup-intent.ts';
import type { Store } from '../state/store.ts';
import type {
  CheckoutSession,
  LineItem,
  PaymentIntent,
  Price,
  SetupIntent,
  WireObject,
} from '../wire/objects.ts';
import { wrongState } from '../wire/wire-error.ts';

/** The session as callers see it. */
export function shownSession({ terms: _, ...session }: CheckoutSession): WireObject {
  return session;
}

/** The address of the payment page. A page in a frame needs its secret. */
export function pageUrl({ id, client_secret: secret }: CheckoutSession, baseUrl: string): string {
  return `${baseUrl}/c/pay/${id}${secret === null ? '' : `?secret=${secret}`}`;
}

/** A line without its amounts, which depend on the session. */
export function newLine(
  store: Store,
  price: Price,
  input: Pick<LineItem, 'adjustable_quantity' | 'metadata' | 'quantity'>,
): LineItem {
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
  session: CheckoutSession,
  lines: readonly LineItem[],
  wanted: readonly NewDiscount[],
): CheckoutSession {
  const { id, customer, mode, terms } = session;
  const isFree = ({ recurring }: Price) => hasTrial(session) && recurring !== null;
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

export function hasTrial({ terms: { subscription } }: CheckoutSession): boolean {
  return subscription.trialDays !== null || subscription.trialEnd !== null;
}

export function checkOpen(session: CheckoutSession, verb: string): void {
  if (session.status !== 'open')
    throw wrongState(
      `Only Checkout Sessions with a status in ["open"] can be ${verb}. This Checkout Session has a status of \`${session.status}\`.`,
    );
}

/** When an open session expires. */
export function sessionDueAt({ status, expires_at }: CheckoutSession): number | null {
  return status === 'open' ? expires_at : null;
}

/** Nobody can complete the session any more, and its intent is canceled. */
export function expireSession(store: Store, before: CheckoutSession): CheckoutSession {
  checkOpen(before, 'expired');
  dropIntent(store, before);
  const session = store.change(store.checkoutSessions, before, { status: 'expired', url: null });
  store.emit('checkout.session.expired', shownSession(session));
  return session;
}

/** The intent with which the buyer pays or saves a card. */
export function sessionIntent(
  store: Store,
  { terms }: CheckoutSession,
): PaymentIntent | SetupIntent | undefined {
  const id = terms.intent ?? '';
  return store.paymentIntents.get(id) ?? store.setupIntents.get(id);
}

/** Only the buyer can confirm the intent of an open session, and only expiring the session cancels it. */
export function checkNotInCheckout(store: Store, { id, object }: PaymentIntent | SetupIntent): void {
  if (store.checkoutSessions.allWithin('intent', id).some(({ status }) => status === 'open'))
    throw wrongState(
      `You cannot perform this action on ${object === 'payment_intent' ? 'PaymentIntents' : 'SetupIntents'} created by Checkout.`,
      `${object}_unexpected_state`,
    );
}

/** Cancels the intent of an open session. */
export function dropIntent(store: Store, session: CheckoutSession): void {
  const intent = sessionIntent(store, session);
  if (intent?.object === 'payment_intent') cancelPaymentIntent(store, intent, 'expired');
  else if (intent !== undefined) cancelSetupIntent(store, intent, 'abandoned');
}
