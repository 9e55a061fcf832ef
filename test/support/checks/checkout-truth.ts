import type { Stripe } from 'stripe';
import { addOnRows, idOf } from './subscription-truth.ts';

/** The expansions that `checkoutTruth` needs. */
export const checkoutExpansions = ['data.line_items', 'data.payment_intent', 'data.setup_intent'];

const statuses: Readonly<Record<string, string>> = { complete: 'completed' };
const paymentStatuses: Readonly<Record<string, string>> = { no_payment_required: 'notRequired' };

/** What the row of a session shows. The session's own payment status does not follow a later capture. */
export function checkoutTruth(session: Stripe.Checkout.Session): object {
  const { id, customer, mode, line_items: lines, payment_intent: intent, setup_intent: setup } = session;
  const isPlan = mode === 'subscription';
  const [main, ...others] = isPlan ? (lines?.data ?? []) : [];
  const isDone = session.status === 'complete';
  const wasCaptured = typeof intent === 'object' && intent?.status === 'succeeded';
  return {
    session: id,
    customer: idOf(customer),
    mode,
    status: statuses[session.status ?? ''] ?? session.status,
    paymentStatus:
      wasCaptured && isDone ? 'paid' : (paymentStatuses[session.payment_status] ?? session.payment_status),
    price: main?.price?.id ?? null,
    quantity: main?.quantity ?? null,
    addOns: others
      .map(({ price, quantity }) => ({ price: price?.id ?? '', quantity }))
      .toSorted((a, b) => (a.price < b.price ? -1 : 1)),
    amount: mode === 'setup' ? null : session.amount_total,
    currency: mode === 'setup' ? null : session.currency,
    expiresAt: session.expires_at,
    subscription: isDone ? idOf(session.subscription) : null,
    payment: isDone && mode === 'payment' ? idOf(intent) : null,
    card:
      isDone && mode === 'setup' && typeof setup === 'object' ? idOf(setup?.payment_method ?? null) : null,
    isReserved: false,
  };
}

/** The same values from the rows. Only an open subscription checkout may hold a group. */
export const checkoutRows = `
  select processor_checkout_session_id as key, json_build_object('session', processor_checkout_session_id,
    'customer', processor_customer_id, 'mode', mode, 'status', checkouts.status,
    'paymentStatus', checkouts.payment_status, 'price', processor_price_id, 'quantity', checkouts.quantity,
    'addOns', ${addOnRows('checkouts.add_ons')}, 'amount', checkouts.amount, 'currency', checkouts.currency,
    'expiresAt', extract(epoch from expires_at)::bigint,
    'subscription', (select processor_subscription_id from till.subscriptions where id = subscription_id),
    'payment', (select processor_payment_intent_id from till.payments where id = payment_id),
    'card', payment_method_id, 'metadata', coalesce(checkouts.metadata, '{}'),
    'isReserved', checkouts.status <> 'open'
      and exists (select from till.group_reservations where claim_id = checkouts.id)) as value
  from till.checkouts join till.customers on customers.id = customer_id
    left join till.plans on plans.id = plan_id`;
