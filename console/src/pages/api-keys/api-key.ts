import type { ApiKey } from '@till/client';
import type { Scope } from '../../session.ts';

/** What each scope allows. */
export const scopeTexts: Readonly<Record<Scope, string>> = {
  read: 'See customers, plans, payments, subscriptions, invoices and events.',
  write: 'Create, change, charge and cancel, and read.',
  refund: 'Refund payments, and read.',
  usage: 'Record and consume usage, without reading.',
  operate: 'Webhook events, event endpoints and other work of operators, and read.',
  admin: 'API keys, and everything else.',
};

export function isExpired({ expiresAt }: ApiKey, now: Date): boolean {
  return expiresAt !== null && new Date(expiresAt) <= now;
}
