import { attentionPage, home } from './links.ts';
import type { Scope } from './session.ts';
import { can, currentKey } from './session.ts';

interface Entry {
  readonly label: string;
  readonly path: string;
  readonly scope: Scope;
  readonly isForSandbox?: true;
}

const entries: readonly Entry[] = [
  { label: 'Overview', path: home, scope: 'read' },
  { label: 'Needs attention', path: attentionPage, scope: 'read' },
  { label: 'Customers', path: `${home}/customers`, scope: 'read' },
  { label: 'Checkouts', path: `${home}/checkouts`, scope: 'read' },
  { label: 'Payments', path: `${home}/payments`, scope: 'read' },
  { label: 'Refunds', path: `${home}/refunds`, scope: 'read' },
  { label: 'Subscriptions', path: `${home}/subscriptions`, scope: 'read' },
  { label: 'Invoices', path: `${home}/invoices`, scope: 'read' },
  { label: 'Plans', path: `${home}/plans`, scope: 'read' },
  { label: 'Events', path: `${home}/events`, scope: 'read' },
  { label: 'Webhook events', path: `${home}/webhook-events`, scope: 'operate' },
  { label: 'Event endpoints', path: `${home}/event-endpoints`, scope: 'operate' },
  { label: 'Resync', path: `${home}/resyncs`, scope: 'operate' },
  { label: 'API keys', path: `${home}/api-keys`, scope: 'admin' },
  { label: 'Audit log', path: `${home}/audit-log`, scope: 'admin' },
  { label: 'Sandbox', path: `${home}/sandbox`, scope: 'operate', isForSandbox: true },
];

/** The pages that the API key of this session may see. */
export function navigation(): readonly Entry[] {
  const isSandbox = currentKey.value?.processor.mode === 'sandbox';
  return entries.filter(({ scope, isForSandbox }) => can(scope) && (isForSandbox !== true || isSandbox));
}
