import { isDeepStrictEqual } from 'node:util';

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

/** The old values of the fields that differ. A field that only `after` has was not shown before, and is left out. */
export function changedFields(before: View, after: View): View {
  const changed = Object.entries(before).filter(([field, value]) => !isDeepStrictEqual(value, after[field]));
  return Object.fromEntries(changed);
}

/** Whether two views show the same. */
export function isSameView(before: View, after: View): boolean {
  const fields = new Set([...Object.keys(before), ...Object.keys(after)]);
  return [...fields].every((field) => isDeepStrictEqual(before[field], after[field]));
}
