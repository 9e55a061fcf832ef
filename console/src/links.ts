import type { EventObjectType } from '../../src/events/event.ts';

/** The pages of objects. */
const pages: Readonly<Record<Exclude<EventObjectType, 'refund'> | 'webhookEvent' | 'eventEndpoint', string>> =
  {
    customer: 'customers',
    plan: 'plans',
    payment: 'payments',
    subscription: 'subscriptions',
    invoice: 'invoices',
    webhookEvent: 'webhook-events',
    eventEndpoint: 'event-endpoints',
  };

export const home = '/console';

export function pageOf(type: keyof typeof pages, id: string): string {
  return `${home}/${pages[type]}/${encodeURIComponent(id)}`;
}

export function listOf(type: keyof typeof pages, query: Readonly<Record<string, string>> = {}): string {
  const text = new URLSearchParams(query).toString();
  return `${home}/${pages[type]}${text === '' ? '' : `?${text}`}`;
}
