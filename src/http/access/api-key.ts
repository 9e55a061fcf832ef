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
export const keyLengthMax = 256;
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
