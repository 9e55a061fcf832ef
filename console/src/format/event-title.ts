import type { EventType, TillEvent } from '@till/client';
import { money } from './money.ts';

type Data = Readonly<Record<string, unknown>>;

/** What happened, as the end of a sentence that begins with the object's name. */
const happened: Readonly<Record<EventType, string>> = {
  'customer.created': 'created',
  'customer.updated': 'changed',
  'customer.deleted': 'deleted',
  'plan.created': 'created',
  'plan.updated': 'changed',
  'plan.archived': 'archived',
  'payment.created': 'created',
  'payment.updated': 'changed',
  'payment.succeeded': 'succeeded',
  'payment.failed': 'failed',
  'payment.canceled': 'canceled',
  'payment.refunded': 'refunded',
  'payment.disputed': 'disputed',
  'refund.created': 'created',
  'refund.updated': 'changed',
  'refund.failed': 'failed',
  'subscription.created': 'created',
  'subscription.updated': 'changed',
  'subscription.entitled': 'gives access',
  'subscription.unentitled': 'no longer gives access',
  'subscription.canceled': 'canceled',
  'invoice.created': 'created',
  'invoice.updated': 'changed',
  'invoice.paid': 'paid',
  'invoice.payment_failed': 'could not be paid',
  'checkout.created': 'created',
  'checkout.updated': 'changed',
  'checkout.completed': 'completed',
  'checkout.expired': 'expired',
  'usage.limit_reached': 'reached its limit',
};

/** All types of events. The type of `Object.keys` does not show that there are no others. */
export const eventTypes = Object.keys(happened) as readonly EventType[];

/** The field with the name that people know an object by. */
const nameFields: Readonly<Record<string, string>> = { invoice: 'number', plan: 'name', meter: 'meter' };

/** An event as a sentence: Payment of €20.00 succeeded. */
export function eventTitle({
  type,
  objectType,
  data,
}: Pick<TillEvent, 'type' | 'objectType'> & { readonly data: Data }): string {
  const name = objectType.charAt(0).toUpperCase() + objectType.slice(1);
  const called = data[nameFields[objectType] ?? ''];
  const amount = data[objectType === 'invoice' ? 'amountDue' : 'amount'];
  const { currency } = data;
  const isPriced = objectType !== 'plan' && typeof amount === 'number' && typeof currency === 'string';
  return [
    name,
    ...(typeof called === 'string' ? [called] : []),
    ...(isPriced ? [`of ${money(amount, currency)}`] : []),
    ...(type === 'payment.refunded' && isPartly(data) ? ['partly'] : []),
    happened[type],
  ].join(' ');
}

function isPartly({ amountRefunded, amountReceived }: Data): boolean {
  return Number(amountRefunded) < Number(amountReceived);
}
