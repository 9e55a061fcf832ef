import { isUtf8 } from 'node:buffer';
import { createHmac, timingSafeEqual } from 'node:crypto';
import type { VerifiedWebhook } from '../../port/event-calls.ts';
import { UnmappableError } from '../../port/event-facts.ts';
import type { Processor } from '../../port/processor.ts';
import { Stripe } from '../wire/stripe-package.ts';
import { mapReceivedEvent } from './map-event.ts';

/**
 * The largest difference between the time of a signature and the local time, in both directions. The processor
 * recommends this value against replays.
 */
const toleranceSeconds = 300;

/**
 * How deep a payload may nest. Real payloads stay below 20. A megabyte of brackets would nest far deeper, and overflow
 * the stack of any code that walks it.
 */
const nestingDepthMax = 100;

export function verifierOf(secrets: readonly string[]): Processor['verifyWebhook'] {
  return (body, signature, now) => verifyWebhook(body, signature, secrets, now);
}

/**
 * Whether the bytes are an event that was signed with one of the secrets at about this time. The official package would
 * accept any future time and the last of several times, and takes three times as long, because it converts the body to
 * text and back.
 */
export function verifyWebhook(
  body: Uint8Array,
  signature: string | undefined,
  secrets: readonly string[],
  now: Date,
): VerifiedWebhook {
  if (signature === undefined || signature === '')
    return badSignature('The signature header is missing. Send Stripe-Signature or Processor-Signature.');
  const header = parseHeader(signature);
  if (header === null)
    return badSignature('The signature header is malformed. Send it as t=TIMESTAMP,v1=SIGNATURE.');
  if (Math.abs(Math.floor(now.getTime() / 1000) - header.signedAtSeconds) > toleranceSeconds) {
    return badSignature(
      `The signature's timestamp is more than ${toleranceSeconds} seconds from the current time. Check both clocks.`,
    );
  }
  // The processor signs text, so a valid signature never covers other bytes.
  if (!isUtf8(body) || !secrets.some((secret) => isSignedWith(secret, body, header))) {
    return badSignature(
      'No signature matches. Check that PROCESSOR_WEBHOOK_SECRET belongs to this webhook endpoint.',
    );
  }
  return readSigned(Buffer.from(body.buffer, body.byteOffset, body.byteLength).toString('utf8'));
}

function isSignedWith(
  secret: string,
  body: Uint8Array,
  { signedAtSeconds, signatures }: SignatureHeader,
): boolean {
  const digest = createHmac('sha256', secret).update(`${signedAtSeconds}.`).update(body).digest('hex');
  const expected = Buffer.from(digest);
  return signatures.some((signature) => timingSafeEqual(Buffer.from(signature), expected));
}

function readSigned(text: string): VerifiedWebhook {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    return notAnEvent('the body is not JSON');
  }
  if (isDeeperThan(value, nestingDepthMax)) return notAnEvent('the body is nested too deeply');
  try {
    return { outcome: 'event', ...mapReceivedEvent(value) };
  } catch (error) {
    if (error instanceof UnmappableError) return notAnEvent(error.message);
    throw error;
  }
}

interface SignatureHeader {
  readonly signedAtSeconds: number;
  /** All signatures have the length of a digest. */
  readonly signatures: readonly string[];
}

/** Parses the time and the signatures of the header. Null if there is not exactly one time, or no signature. */
function parseHeader(header: string): SignatureHeader | null {
  const times: string[] = [];
  const signatures: string[] = [];
  for (const part of header.split(',')) {
    if (part.startsWith('t=')) times.push(part.slice('t='.length));
    else if (signaturePart.test(part)) signatures.push(part.slice('v1='.length));
  }
  const [time = ''] = times;
  if (times.length > 1 || !timeDigits.test(time) || signatures.length === 0) return null;
  return { signedAtSeconds: Number(time), signatures };
}

const timeDigits = /^\d{1,12}$/;
const signaturePart = /^v1=[0-9a-f]{64}$/;

/** Stops at `depthMax`, so that a deeper value does not overflow the stack. */
function isDeeperThan(value: unknown, depthMax: number): boolean {
  if (typeof value !== 'object' || value === null) return false;
  if (depthMax === 0) return true;
  for (const item of Object.values(value)) if (isDeeperThan(item, depthMax - 1)) return true;
  return false;
}

function badSignature(reason: string): VerifiedWebhook {
  return { outcome: 'bad_signature', reason };
}

function notAnEvent(reason: string): VerifiedWebhook {
  return { outcome: 'not_an_event', reason: `Send an event of the processor: ${reason}.` };
}

/** The oldest version whose shape the mappings know. Since then subscriptions refer to prices instead of plans. */
const oldestDate = '2020-08-27';

/** A version is a date, followed by a name since 2024. A version later than the package's own has an unknown shape. */
export function understandsVersion(apiVersion: string | null): boolean {
  if (apiVersion === null) return true;
  const date = dateOf(apiVersion);
  return date !== null && date >= oldestDate && date <= newestDate;
}

function dateOf(apiVersion: string): string | null {
  return /^(\d{4}-\d{2}-\d{2})(?:\.[a-z]+)?$/.exec(apiVersion)?.[1] ?? null;
}

const newestDate = dateOf(Stripe.API_VERSION) ?? oldestDate;
