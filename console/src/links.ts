import type { EventObjectType, TillEvent } from '@till/client';

type PageName =
  | Exclude<EventObjectType, 'meter'>
  | 'event'
  | 'webhookEvent'
  | 'eventEndpoint'
  | 'move'
  | 'subscriber';

/** The lists, and the beginning of the addresses of their objects. */
const pages: Readonly<Record<PageName, string>> = {
  customer: 'customers',
  plan: 'plans',
  payment: 'payments',
  refund: 'refunds',
  subscription: 'subscriptions',
  invoice: 'invoices',
  checkout: 'checkouts',
  event: 'events',
  webhookEvent: 'webhook-events',
  eventEndpoint: 'event-endpoints',
  move: 'moves',
  subscriber: 'subscribers',
};

export const home = '/console';
export const attentionPage = `${home}/attention`;

/** A refund is shown on the page of its payment. */
export function pageOf(type: Exclude<PageName, 'refund' | 'move' | 'subscriber'>, id: string): string {
  return `${home}/${pages[type]}/${encodeURIComponent(id)}`;
}

export function listOf(type: PageName, query: Readonly<Record<string, string>> = {}): string {
  const text = new URLSearchParams(query).toString();
  return `${home}/${pages[type]}${text === '' ? '' : `?${text}`}`;
}

/**
 * The page of the object of an event. A refund is shown on the page of its payment, and usage on that of its customer.
 */
export function pageOfObject({ objectType, objectId, customerId, data }: TillEvent): string {
  if (objectType === 'meter') return pageOf('customer', customerId ?? '');
  return objectType === 'refund' ? pageOf('payment', data.paymentId) : pageOf(objectType, objectId);
}
