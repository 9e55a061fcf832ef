import { createCipheriv, createDecipheriv, createHmac, hkdfSync, randomBytes } from 'node:crypto';

const prefix = 'whsec_';
/** As long as the output of SHA-256. Standard Webhooks allows 24 to 64 bytes. */
const secretBytes = 32;
const algorithm = 'aes-256-gcm';
const keyBytes = 32;
/** The standard nonce size of GCM. */
const nonceBytes = 12;
const tagBytes = 16;
/** The prefix of a stored secret: plain, or encrypted with an encryption key of the operator. */
const scheme = { plain: 'plain:', encrypted: 'aes:' } as const;

export function newSecret(): string {
  return prefix + randomBytes(secretBytes).toString('base64');
}

/** The value of the `webhook-signature` header as Standard Webhooks defines it: one signature for each valid secret. */
export function signatureOf(
  message: { readonly id: string; readonly timestamp: number; readonly body: string },
  secrets: readonly string[],
): string {
  const signed = `${message.id}.${message.timestamp}.${message.body}`;
  const signatures = secrets.map((secret) => {
    const key = Buffer.from(secret.slice(prefix.length), 'base64');
    return `v1,${createHmac('sha256', key).update(signed).digest('base64')}`;
  });
  return signatures.join(' ');
}

/**
 * Protects the secrets of endpoints in the database: a copy of the database alone is not enough to forge events.
 * Without encryption keys, secrets are stored in plain text. The first encryption key encrypts, and all of them
 * decrypt, so that they can be rotated.
 */
export class SecretBox {
  readonly #keys: readonly Buffer[];

  constructor(keys: readonly string[]) {
    this.#keys = keys.map((key) =>
      Buffer.from(hkdfSync('sha256', key, '', 'till event endpoint secrets', keyBytes)),
    );
  }

  /** `endpointId` is bound to the result, so that a stored secret cannot be moved to another endpoint. */
  seal(secret: string, endpointId: string): string {
    const [key] = this.#keys;
    if (key === undefined) return scheme.plain + secret;
    const nonce = randomBytes(nonceBytes);
    const cipher = createCipheriv(algorithm, key, nonce).setAAD(Buffer.from(endpointId));
    const text = Buffer.concat([cipher.update(secret, 'utf8'), cipher.final()]);
    return scheme.encrypted + Buffer.concat([nonce, cipher.getAuthTag(), text]).toString('base64');
  }

  /**
   * Whether a stored secret is protected as `seal` would do it now. False if it is plain, or encrypted with another
   * encryption key.
   */
  isCurrent(sealed: string, endpointId: string): boolean {
    const isPlain = sealed.startsWith(scheme.plain);
    const [first] = this.#keys;
    if (first === undefined || isPlain) return first === undefined && isPlain;
    return open([first], sealed, endpointId) !== undefined;
  }

  /** Undefined if no encryption key decrypts it. */
  open(sealed: string, endpointId: string): string | undefined {
    if (sealed.startsWith(scheme.plain)) return sealed.slice(scheme.plain.length);
    return open(this.#keys, sealed, endpointId);
  }
}

function open(keys: readonly Buffer[], sealed: string, endpointId: string): string | undefined {
  const bytes = Buffer.from(sealed.slice(scheme.encrypted.length), 'base64');
  const nonce = bytes.subarray(0, nonceBytes);
  const tag = bytes.subarray(nonceBytes, nonceBytes + tagBytes);
  for (const key of keys) {
    try {
      const decipher = createDecipheriv(algorithm, key, nonce, { authTagLength: tagBytes });
      decipher.setAAD(Buffer.from(endpointId)).setAuthTag(tag);
      const text = Buffer.concat([decipher.update(bytes.subarray(nonceBytes + tagBytes)), decipher.final()]);
      return text.toString('utf8');
    } catch {
      // Another encryption key may have encrypted it.
    }
  }
  return undefined;
}
