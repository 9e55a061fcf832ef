import type { Scope } from '../model/api-key.ts';

/** What an API key with each scope may do: docs/reference/scopes.md is written from this list. */
export const scopeMeanings: Readonly<Record<Scope, string>> = {
  read: 'reading customers, plans, payments, subscriptions, invoices, events, the overview and what needs attention; previews of changes',
  write:
    'customers, plans, payments, subscriptions, meters and saved cards: everything that no other scope names, `usage` and `read`',
  usage: 'recording and consuming usage, and nothing else: not even `read`',
  refund: 'refunds, and `read`',
  operate: 'webhook events, event endpoints and resyncs, and `read`',
  admin: 'API keys, and everything else',
};
