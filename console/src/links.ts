import type { EventObjectType } from '../../client/src/index.ts';

/** The lists, and the beginning of the addresses of their objects. */
const pages: Readonly<Record<EventObjectType | 'webhookEvent' | 'eventEndpoint', string>> = {
  customer: 'customers',
  plan: 'plans',
  payment: 'payments',
  refund: 'refunds',
  subscription: 'subscriptions',
  invoice: 'invoices',
  checkout: 'checkouts',
  webhookEvent: 'webhook-events',
  eventEndpoint: 'event-endpoints',
};

export const home = '/console';
export const attentionPage = `${home}/attention`;

/** A refund is shown on the page of its payment. */
export function pageOf(type: Exclude<keyof typeof pages, 'refund'>, id: string): string {
  return `${home}/${pages[type]}/${encodeURIComponent(id)}`;
}

export function listOf(type: keyof typeof pages, query: Readonly<Record<string, string>> = {}): string {
  const text = new URLSearchParams(query).toString();
  return `${home}/${pages[type]}${text === '' ? '' : `?${text}`}`;
}
