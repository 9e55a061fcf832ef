import type { Scope } from '../../api/types.ts';

/** A key as the API lists it. */
export interface ApiKey {
  readonly id: string;
  readonly name: string;
  readonly scopes: readonly Scope[];
  readonly createdAt: string;
  readonly expiresAt: string | null;
  readonly lastUsedAt: string | null;
}

/** `key` is null if an earlier response had it, which was lost. */
export interface CreatedApiKey extends ApiKey {
  readonly key: string | null;
}

/** What each scope allows. */
export const scopeTexts: Readonly<Record<Scope, string>> = {
  read: 'See customers, plans, payments, subscriptions, invoices and events.',
  write: 'Create, change, charge and cancel, and read.',
  refund: 'Refund payments, and read.',
  operate: 'Webhook events, event endpoints and other work of operators, and read.',
  admin: 'API keys, and everything else.',
};

export function isExpired({ expiresAt }: ApiKey, now: Date): boolean {
  return expiresAt !== null && new Date(expiresAt) <= now;
}
