import { Stripe } from 'stripe';
import type { VerifiedWebhook } from '../../port/event-calls.ts';
import { UnmappableError } from '../../port/event-facts.ts';
import { mapEventEnvelope } from './map-event.ts';

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

/**
 * Whether the bytes are an event, signed with one of the secrets at about this time. The official package checks
 * signatures. Times in the future are limited here, because the package accepts any.
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
  if (!secrets.some((secret) => isSignedWith(secret, body, header.canonical, now))) {
    return badSignature(
      'No signature matches. Check that PROCESSOR_WEBHOOK_SECRET belongs to this webhook endpoint.',
    );
  }
  return readSigned(Buffer.from(body).toString('utf8'));
}

function isSignedWith(secret: string, body: Uint8Array, header: string, now: Date): boolean {
  const checker = Stripe.webhooks.signature;
  if (checker === null) throw new Error('the processor package has no signature checker');
  try {
    return checker.verifyHeader(body, header, secret, toleranceSeconds, undefined, now.getTime());
  } catch (error) {
    // The package's errors contain the whole body, so none is passed on.
    if (error instanceof Stripe.errors.StripeSignatureVerificationError) return false;
    throw error;
  }
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
    return { outcome: 'event', event: mapEventEnvelope(value) };
  } catch (error) {
    if (error instanceof UnmappableError) return notAnEvent(error.message);
    throw error;
  }
}

/**
 * Parses the time and the signatures of the header, and writes a canonical header from them. The package itself would
 * use the last of several times, and throws a plain error for a signature that is empty or not ASCII, which anyone
 * could send.
 */
function parseHeader(header: string): { signedAtSeconds: number; canonical: string } | null {
  const parts = header.split(',');
  const [time, ...otherTimes] = parts.filter((part) => part.startsWith('t='));
  const digits = time?.match(/^t=(\d{1,12})$/)?.[1];
  const signatures = parts.filter((part) => /^v1=[0-9a-f]{64}$/.test(part));
  if (otherTimes.length > 0 || digits === undefined || signatures.length === 0) return null;
  return { signedAtSeconds: Number(digits), canonical: [`t=${digits}`, ...signatures].join(',') };
}

/** Stops at `depthMax`, however deep the value is. */
function isDeeperThan(value: unknown, depthMax: number): boolean {
  if (typeof value !== 'object' || value === null) return false;
  if (depthMax === 0) return true;
  return Object.values(value).some((item) => isDeeperThan(item, depthMax - 1));
}

function badSignature(reason: string): VerifiedWebhook {
  return { outcome: 'bad_signature', reason };
}

function notAnEvent(reason: string): VerifiedWebhook {
  return { outcome: 'not_an_event', reason: `Send an event of the processor: ${reason}.` };
}
