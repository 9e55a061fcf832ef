import type { Page } from 'playwright-core';
import type { World } from './world.ts';

export interface ConsolePage {
  /** What it is, in names of tests and pictures. */
  readonly name: string;
  readonly path: (world: World) => string;
  /** The heading of level 1. */
  readonly heading: string | RegExp;
}

/** Every page of the console. */
export const pages: readonly ConsolePage[] = [
  { name: 'overview', path: () => '/console', heading: 'Overview' },
  {
    name: 'changes of subscriptions',
    path: () => '/console/moves?currency=eur',
    heading: 'Changes of subscriptions',
  },
  { name: 'subscribers', path: () => '/console/subscribers?currency=eur', heading: 'Subscribers' },
  { name: 'attention', path: () => '/console/attention', heading: 'Needs attention' },
  { name: 'customers', path: () => '/console/customers', heading: 'Customers' },
  {
    name: 'customer',
    path: ({ customer }) => `/console/customers/${customer.id}`,
    heading: 'Ada Lovelace',
  },
  { name: 'checkouts', path: () => '/console/checkouts', heading: 'Checkouts' },
  {
    name: 'checkout',
    path: ({ checkout }) => `/console/checkouts/${checkout.id}`,
    heading: 'Subscription checkout',
  },
  { name: 'payments', path: () => '/console/payments', heading: 'Payments' },
  {
    name: 'payment',
    path: ({ payments }) => `/console/payments/${payments.partlyRefunded.id}`,
    heading: '€120.00',
  },
  {
    name: 'disputed payment',
    path: ({ payments }) => `/console/payments/${payments.disputed.id}`,
    heading: '€77.00',
  },
  { name: 'subscriptions', path: () => '/console/subscriptions', heading: 'Subscriptions' },
  {
    name: 'subscription',
    path: ({ active }) => `/console/subscriptions/${active.id}`,
    heading: /^Gold/,
  },
  { name: 'invoices', path: () => '/console/invoices', heading: 'Invoices' },
  {
    name: 'invoice',
    path: ({ invoiceId }) => `/console/invoices/${invoiceId}`,
    heading: /^Invoice /,
  },
  { name: 'plans', path: () => '/console/plans', heading: 'Plans' },
  { name: 'plan', path: ({ plan }) => `/console/plans/${plan.id}`, heading: 'Gold' },
  { name: 'refunds', path: () => '/console/refunds', heading: 'Refunds' },
  { name: 'events', path: () => '/console/events', heading: 'Events' },
  { name: 'event', path: ({ eventId }) => `/console/events/${eventId}`, heading: 'customer.created' },
  { name: 'webhook events', path: () => '/console/webhook-events', heading: 'Webhook events' },
  {
    name: 'webhook event',
    path: ({ failedEventId }) => `/console/webhook-events/${failedEventId}`,
    heading: 'invoice.paid',
  },
  { name: 'event endpoints', path: () => '/console/event-endpoints', heading: 'Event endpoints' },
  {
    name: 'event endpoint',
    path: ({ endpointId }) => `/console/event-endpoints/${endpointId}`,
    heading: 'https://shop.example.com/till-events',
  },
  { name: 'resync', path: () => '/console/resyncs', heading: 'Resync' },
  { name: 'API keys', path: () => '/console/api-keys', heading: 'API keys' },
  { name: 'audit log', path: () => '/console/audit-log', heading: 'Audit log' },
  { name: 'sandbox', path: () => '/console/sandbox', heading: 'Sandbox' },
  { name: 'not found', path: () => '/console/no-such-page', heading: 'Page not found' },
];

/** Waits until everything on the page is loaded. */
export async function waitForPage(page: Page, { heading }: ConsolePage): Promise<void> {
  await page.getByRole('heading', { level: 1, name: heading }).waitFor();
  await page
    .locator('main')
    .filter({ hasNot: page.locator('.spinner') })
    .waitFor();
}
