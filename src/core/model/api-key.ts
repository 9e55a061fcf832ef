/** What an API key may do. Each operation of the API declares the scope that it needs. */
export const scopes = ['read', 'write', 'usage', 'refund', 'operate', 'admin'] as const;

export type Scope = (typeof scopes)[number];

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

export const keyNamePattern = '^[A-Za-z0-9_.-]{1,64}$';

/** An API key as operators see it. The full API key is shown once and not stored. */
export interface StoredKey {
  readonly id: string;
  readonly name: string;
  readonly scopes: readonly Scope[];
  readonly createdAt: Date;
  readonly expiresAt: Date | null;
  /** Accurate to the minute. */
  readonly lastUsedAt: Date | null;
}

/** The values of a new API key. */
export type KeyValues = Pick<StoredKey, 'name' | 'scopes' | 'expiresAt'>;

/** A person who has signed in to the console through the company's identity provider. */
export interface Person {
  readonly issuer: string;
  readonly subject: string;
  readonly email: string;
  readonly name: string | null;
}

/** The name that logs, events and the audit log show for what people do. */
export const consoleKeyName = 'console';

/** The caller of a request, identified by its API key, or by the session of the console. */
export interface Caller {
  /** Null for an API key from the environment, which has no id, and for a person. */
  readonly id: string | null;
  /** The name of the API key, for logs and events. */
  readonly name: string;
  /**
   * The application that idempotency keys belong to: the name of the API key, or empty if it has no name of its own. A
   * person is an application too.
   */
  readonly application: string;
  /** Null for an API key. */
  readonly person: Person | null;
  readonly scopes: readonly Scope[];
  /** Null if the API key does not expire. */
  readonly expiresAt: Date | null;
  /** Whether the API key is still valid, for long requests. A promise only if the database must be read. */
  isValid(): boolean | Promise<boolean>;
}

/**
 * An API key is `till_`, its id and its secret. The id is not secret: it finds the row, and only the secret is
 * compared. The prefix lets scanners recognise API keys that were published by mistake.
 */
export function writeKey(id: string, secret: Buffer): string {
  return `till_${id.replaceAll('-', '')}_${secret.toString('base64url')}`;
}

/** 256 bits: the secret cannot be guessed, so one fast hash of it is as good as a slow one. */
export const secretBytes = 32;
const keyPattern = /^till_([0-9a-f]{8})([0-9a-f]{4})([0-9a-f]{4})([0-9a-f]{4})([0-9a-f]{12})_[\w-]{43}$/;

/** The id in an API key. Undefined for any other text, such as an API key from the environment. */
export function idInKey(key: string): string | undefined {
  return keyPattern.exec(key)?.slice(1).join('-');
}
