const keyBytes = 16;

/**
 * A random key. Not `crypto.randomUUID`: browsers offer it only over HTTPS and on localhost, and a private network may
 * serve Till over plain HTTP.
 */
export function newIdempotencyKey(): string {
  const bytes = crypto.getRandomValues(new Uint8Array(keyBytes));
  return Array.from(bytes, (byte) => byte.toString(16).padStart(2, '0')).join('');
}
