import { isSameValue } from '../mirrors/transition.ts';

/** Every type of event, in the order of the contract. */
export const eventTypes = [
  'customer.created',
  'customer.updated',
  'customer.deleted',
  'plan.created',
  'plan.updated',
  'plan.archived',
  'payment.created',
  'payment.updated',
  'payment.succeeded',
  'payment.failed',
  'payment.canceled',
  'payment.refunded',
  'payment.disputed',
  'refund.created',
  'refund.updated',
  'refund.failed',
  'subscription.created',
  'subscription.updated',
  'subscription.entitled',
  'subscription.unentitled',
  'subscription.canceled',
  'invoice.created',
  'invoice.updated',
  'invoice.paid',
  'invoice.payment_failed',
] as const;

export type EventType = (typeof eventTypes)[number];

/** The kinds of objects whose changes are told. */
export type ObjectType = 'customer' | 'plan' | 'payment' | 'refund' | 'subscription' | 'invoice';

/** An object as the API shows it, in the form of JSON. */
export type View = Readonly<Record<string, unknown>>;

/**
 * The old values of the fields that differ. A field that was not shown before has no old value. Undefined if both views show
 * the same.
 */
export function changedFields(before: View, after: View): View | undefined {
  const changed: Record<string, unknown> = {};
  let isSame = true;
  for (const field of Object.keys(before)) {
    if (isSameValue(before[field], after[field])) continue;
    changed[field] = before[field];
    isSame = false;
  }
  const isLonger = Object.keys(after).some((field) => !Object.hasOwn(before, field));
  return isSame && !isLonger ? undefined : changed;
}
