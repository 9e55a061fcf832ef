/** What a key may do. Each operation of the API declares the one that it needs. */
export const scopes = ['read', 'write', 'refund', 'operate', 'admin'] as const;

export type Scope = (typeof scopes)[number];

export const keyNamePattern = '^[A-Za-z0-9_.-]{1,64}$';

/** An API key as operators see it. The key itself is shown once, and not stored. */
export interface StoredKey {
  readonly id: string;
  readonly name: string;
  readonly scopes: readonly Scope[];
  readonly createdAt: Date;
  readonly expiresAt: Date | null;
  /** To the minute. */
  readonly lastUsedAt: Date | null;
}

/** The values of a new key. */
export type KeyValues = Pick<StoredKey, 'name' | 'scopes' | 'expiresAt'>;

/** Who sends a request: the key that it carries. */
export interface Caller {
  /** Null for a key from the environment, which has none. */
  readonly id: string | null;
  /** The name of the key, for logs and events. */
  readonly name: string;
  /** The application that idempotency keys belong to: the name, or empty for a key without a name of its own. */
  readonly application: string;
  readonly scopes: readonly Scope[];
  /** Null if the key does not expire. */
  readonly expiresAt: Date | null;
  /** Whether the key is still valid, for a request that takes long. A promise only if the database must be asked. */
  isValid(): boolean | Promise<boolean>;
}

/** Whether a key with these scopes may do what needs `needed`. Every scope implies `read`, and `admin` implies all. */
export function grants(held: readonly Scope[], needed: Scope): boolean {
  return held.includes(needed) || held.includes('admin') || (needed === 'read' && held.length > 0);
}

/**
 * `till_`, the id of the key and its secret. The id is no secret: it finds the key, and only the secret is compared. The
 * beginning lets scanners recognise keys that were published by mistake.
 */
export function writeKey(id: string, secret: Buffer): string {
  return `till_${id.replaceAll('-', '')}_${secret.toString('base64url')}`;
}

/** 256 bits: the secret cannot be guessed, so one fast hash of it is as good as a slow one. */
export const secretBytes = 32;
const keyPattern = /^till_([0-9a-f]{8})([0-9a-f]{4})([0-9a-f]{4})([0-9a-f]{4})([0-9a-f]{12})_[\w-]{43}$/;

/** The id in a key. Undefined for any other text, such as a key from the environment. */
export function idInKey(key: string): string | undefined {
  return keyPattern.exec(key)?.slice(1).join('-');
}
