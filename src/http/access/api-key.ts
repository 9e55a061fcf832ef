import { hash, randomBytes, timingSafeEqual } from 'node:crypto';
import { type Caller, scopes } from '#core/model/api-key.ts';

export interface ApiKey {
  /** Logs show this name instead of the API key. */
  readonly name: string;
  /** The application that idempotency keys belong to: the name, or empty for a key without a name of its own. */
  readonly application: string;
  readonly key: string;
}

/**
 * Shorter API keys may be guessed or invented by hand. Production refuses them. 24 random characters are 120 bits or
 * more.
 */
export const keyLengthMin = 24;

/** Longer keys are refused without hashing: hashing a caller's input must stay cheap. */
const keyLengthMax = 256;
const keyPattern = /^[\x21-\x7e]+$/;
const namePattern = /^[\w.-]{1,64}$/;

/** Parses entries of the form `key` or `name:key`; an API key contains no colon and no comma. */
export function parseApiKeys(
  entries: readonly string[],
  source: string,
): { readonly keys: readonly ApiKey[]; readonly mistakes: readonly string[] } {
  const keys: ApiKey[] = [];
  const mistakes: string[] = [];
  for (const [index, entry] of entries.entries()) {
    const text = entry.trim();
    const colon = text.indexOf(':');
    const name = colon < 0 ? `${source}[${index + 1}]` : text.slice(0, colon);
    const key = text.slice(colon + 1);
    const where = `${source}, entry ${index + 1} (hidden, ${text.length} characters)`;
    if (colon >= 0 && !namePattern.test(name)) {
      mistakes.push(
        `${where}; allowed before the colon: a name of 1 to 64 letters, digits, "_", "-" and ".."`,
      );
    } else if (!keyPattern.test(key) || key.includes(':') || key.length > keyLengthMax) {
      mistakes.push(`${where}; allowed: 1 to ${keyLengthMax} visible characters without colon or comma`);
    } else {
      keys.push({ name, application: colon < 0 ? '' : name, key });
    }
  }
  return { keys, mistakes };
}

/** The mistakes of API keys that are too short for production, without the keys. */
export function shortKeyMistakes(keys: readonly ApiKey[], source: string): readonly string[] {
  return keys
    .filter(({ key }) => key.length < keyLengthMin)
    .map(
      ({ name, key }) =>
        `${source}, key ${name} (hidden, ${key.length} characters); allowed when NODE_ENV=production: ` +
        `${keyLengthMin} characters or more`,
    );
}

interface RingEntry {
  readonly caller: Caller;
  readonly key: string;
  readonly digest: Buffer;
  /** The same digest as text. */
  readonly text: string;
}

/**
 * The API keys from the environment. Finds the one that a request carries, in a time that does not depend on the key:
 * it compares all digests, which use a secret of this process, each in constant time.
 */
export class ApiKeyRing {
  readonly #salt = randomBytes(32).toString('hex');
  #digests: readonly RingEntry[] = [];

  constructor(keys: readonly ApiKey[]) {
    this.replace(keys);
  }

  replace(keys: readonly ApiKey[]): void {
    this.#digests = keys.map(({ name, application, key }) => {
      const text = this.#digestOf(key);
      const digest = Buffer.from(text, 'hex');
      const isValid = () => this.#digests.some((current) => current.text === text);
      const caller = { id: null, name, application, person: null, scopes, expiresAt: null, isValid };
      return { caller, key, text, digest };
    });
  }

  /** The owner of an API key. Undefined if the key is not valid. These keys have every scope. */
  find(presented: string): Caller | undefined {
    if (presented.length > keyLengthMax) return undefined;
    const digest = Buffer.from(this.#digestOf(presented), 'hex');
    let found: Caller | undefined;
    for (const candidate of this.#digests) {
      if (timingSafeEqual(candidate.digest, digest)) found = candidate.caller;
    }
    return found;
  }

  /** The owner of the API key with which a session was opened. Undefined if the key is no longer valid. */
  ofSession(token: string, proof: Buffer): Caller | undefined {
    return this.#digests.find(({ key }) => timingSafeEqual(sessionProof(token, key), proof))?.caller;
  }

  #digestOf(key: string): string {
    // As hexadecimal text, which Node produces three times as fast as bytes.
    return hash('sha256', this.#salt + key, 'hex');
  }
}

/**
 * Proves that a session was opened with an API key. The token is secret and random, so a reader of the proof cannot
 * even test guesses of the API key.
 */
export function sessionProof(token: string, key: string): Buffer {
  return Buffer.from(hash('sha256', `${token} ${key}`, 'hex'), 'hex');
}
