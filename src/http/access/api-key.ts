import { hash, randomBytes, timingSafeEqual } from 'node:crypto';

export interface ApiKey {
  /** Logs show this name instead of the key. */
  readonly name: string;
  readonly key: string;
}

/** Longer keys are refused without hashing: hashing a caller's input must stay cheap. */
const keyLengthMax = 256;
const keyPattern = /^[\x21-\x7e]+$/;
const namePattern = /^[\w.-]{1,64}$/;

/** Parses entries of the form `key` or `name:key`; a key contains no colon and no comma. */
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
      keys.push({ name, key });
    }
  }
  return { keys, mistakes };
}

/**
 * Finds which key a request carries. The time does not depend on how much of the key is right, or on which key it is:
 * all digests, made with a secret of this process, are compared, each in constant time.
 */
export class ApiKeyRing {
  readonly #salt = randomBytes(32).toString('hex');
  #digests: readonly { readonly name: string; readonly digest: Buffer }[] = [];

  constructor(keys: readonly ApiKey[]) {
    this.replace(keys);
  }

  replace(keys: readonly ApiKey[]): void {
    this.#digests = keys.map(({ name, key }) => ({ name, digest: this.#digest(key) }));
  }

  /** The name of the key, or undefined if it is not a valid key. */
  find(presented: string): string | undefined {
    if (presented.length > keyLengthMax) return undefined;
    const digest = this.#digest(presented);
    let found: string | undefined;
    for (const candidate of this.#digests) {
      if (timingSafeEqual(candidate.digest, digest)) found = candidate.name;
    }
    return found;
  }

  #digest(key: string): Buffer {
    // As hexadecimal text, which Node produces three times as fast as bytes.
    return Buffer.from(hash('sha256', this.#salt + key, 'hex'), 'hex');
  }
}
