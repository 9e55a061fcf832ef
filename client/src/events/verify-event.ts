import type { TillEvent } from './event-types.ts';

/** The tolerance that Standard Webhooks recommends. */
const toleranceSecondsDefault = 300;
/** Till sends one signature for each valid secret: up to five, if the secret was rotated several times within a day. */
const signaturesMax = 10;
/** A base64 text of a SHA-256 code has 44 characters. */
const signatureLength = 44;
const secretPrefix = 'whsec_';

export interface VerifyOptions {
  /** The body exactly as it arrived, before any parsing. */
  readonly body: string | Uint8Array | ArrayBuffer;
  /** The headers of the request: a `Headers` object, or an object as Node's `request.headers`. */
  readonly headers: Headers | Readonly<Record<string, string | readonly string[] | undefined>>;
  /** The secret of the endpoint. While you rotate it, the new one and the old one. */
  readonly secret: string | readonly string[] | undefined;
  /** How much the time of the message may differ from the clock. Default: 300. */
  readonly toleranceSeconds?: number;
  /** The time to compare with. Default: now. */
  readonly now?: Date;
}

/** The request is not from Till, was changed on its way, or is too old. Respond with 400. */
export class TillVerificationError extends Error {
  override readonly name = 'TillVerificationError';
  readonly reason: 'missing_header' | 'invalid_timestamp' | 'invalid_signature' | 'invalid_body';

  constructor(reason: TillVerificationError['reason'], message: string) {
    super(message);
    this.reason = reason;
  }
}

/**
 * Verifies a request that Till sent to an event endpoint, as Standard Webhooks defines it, and returns its event.
 * Rejects with `TillVerificationError` if it does not verify. The same event can arrive more than once: handle each
 * `event.id` once.
 */
export async function verifyEvent(options: VerifyOptions): Promise<TillEvent> {
  const keys = toKeys(options.secret);
  const body = toBytes(options.body);
  const id = readHeader(options.headers, 'webhook-id');
  const timestamp = readHeader(options.headers, 'webhook-timestamp');
  const signatures = readSignatures(readHeader(options.headers, 'webhook-signature'));
  checkTime(timestamp, options);
  const head = new TextEncoder().encode(`${id}.${timestamp}.`);
  const signed = new Uint8Array(head.length + body.length);
  signed.set(head);
  signed.set(body, head.length);
  for (const key of keys) if (await isSigned(key, signatures, signed)) return readEvent(body);
  throw new TillVerificationError(
    'invalid_signature',
    'No signature matches. Check that the secret belongs to this endpoint, and that the body is passed as it arrived.',
  );
}

async function isSigned(
  secret: Uint8Array<ArrayBuffer>,
  signatures: readonly Uint8Array<ArrayBuffer>[],
  signed: Uint8Array<ArrayBuffer>,
): Promise<boolean> {
  const algorithm = { name: 'HMAC', hash: 'SHA-256' };
  const key = await crypto.subtle.importKey('raw', secret, algorithm, false, ['verify']);
  // `verify` compares in constant time.
  for (const signature of signatures)
    if (await crypto.subtle.verify('HMAC', key, signature, signed)) return true;
  return false;
}

function toKeys(secret: VerifyOptions['secret']): readonly Uint8Array<ArrayBuffer>[] {
  const secrets = (typeof secret === 'string' ? [secret] : (secret ?? [])).filter((text) => text !== '');
  if (secrets.length === 0) throw new TypeError('`secret` must be the secret of the event endpoint');
  return secrets.map((text) => {
    const key = fromBase64(text.startsWith(secretPrefix) ? text.slice(secretPrefix.length) : text);
    if (key === undefined || key.length === 0) throw new TypeError('`secret` must be whsec_ and base64');
    return key;
  });
}

function toBytes(body: VerifyOptions['body']): Uint8Array {
  if (typeof body === 'string') return new TextEncoder().encode(body);
  // Not by `instanceof`: a test runner may have classes of its own.
  if (ArrayBuffer.isView(body)) return new Uint8Array(body.buffer, body.byteOffset, body.byteLength);
  if (Object.prototype.toString.call(body) === '[object ArrayBuffer]') return new Uint8Array(body);
  throw new TypeError('`body` must be the raw body of the request: a string or bytes, not a parsed object');
}

function readHeader(headers: VerifyOptions['headers'], name: string): string {
  const value = isHeaders(headers) ? headers.get(name) : findHeader(headers, name);
  if (typeof value === 'string' && value !== '') return value;
  throw new TillVerificationError('missing_header', `The request has no ${name} header.`);
}

function isHeaders(headers: VerifyOptions['headers']): headers is Headers {
  return typeof headers.get === 'function';
}

function findHeader(headers: Exclude<VerifyOptions['headers'], Headers>, name: string): unknown {
  const own = Object.keys(headers).find((key) => key.toLowerCase() === name);
  const value = own === undefined ? undefined : headers[own];
  return Array.isArray(value) ? value[0] : value;
}

/** The signatures of version 1. Other versions use other kinds of keys. */
function readSignatures(header: string): readonly Uint8Array<ArrayBuffer>[] {
  return header
    .split(' ')
    .filter((part) => part.startsWith('v1,') && part.length === 'v1,'.length + signatureLength)
    .slice(0, signaturesMax)
    .flatMap((part) => fromBase64(part.slice('v1,'.length)) ?? []);
}

function checkTime(
  timestamp: string,
  { toleranceSeconds = toleranceSecondsDefault, now = new Date() }: VerifyOptions,
) {
  const seconds = /^\d{1,12}$/.test(timestamp) ? Number(timestamp) : Number.NaN;
  if (Math.abs(now.getTime() / 1_000 - seconds) <= toleranceSeconds) return;
  throw new TillVerificationError(
    'invalid_timestamp',
    `The time of the message differs from the clock by more than ${toleranceSeconds} s. ` +
      'The message is an old one that was sent again, or the clock is wrong.',
  );
}

function readEvent(body: Uint8Array): TillEvent {
  try {
    const event = JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(body));
    // The signature shows that Till wrote it.
    if (typeof event?.id === 'string' && typeof event?.type === 'string') return event as TillEvent;
  } catch {
    // Reported below, without a part of the body.
  }
  throw new TillVerificationError('invalid_body', 'The body is signed, but it is not an event of Till.');
}

/** Undefined if the text is not base64. */
function fromBase64(text: string): Uint8Array<ArrayBuffer> | undefined {
  try {
    const binary = atob(text);
    return Uint8Array.from(binary, (character) => character.charCodeAt(0));
  } catch {
    return undefined;
  }
}
