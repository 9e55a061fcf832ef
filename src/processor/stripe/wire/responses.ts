import type { AsOf } from '#core/model/facts.ts';
import type { Logger } from '#core/platform/logger.ts';
import type { Declined } from '../../port/invoice-payment.ts';
import type { Attempt, Refused } from '../../port/processor.ts';
import type { ProcessorOperation } from './operations.ts';
import type { Refusal } from './refusal.ts';
import { WireObject } from './wire-object.ts';

/**
 * When a response was true. The `Date` header is the time at which the processor wrote it, after it had read the
 * object. The request began at most `elapsedMs` before that. So the header and a measured duration give the time span
 * by the processor's clock, and the local clock does not matter. `Date` is rounded down to a second, which only makes
 * `earliest` earlier.
 */
export function responseAsOf(response: unknown, elapsedMs: number, localNowMs: number): AsOf {
  // Every HTTP server with a clock sends the header. Without it, the local clock is the best estimate.
  const writtenAtMs = headerDateMs(response) ?? localNowMs;
  return { earliest: wholeSecond(writtenAtMs - elapsedMs), latest: wholeSecond(writtenAtMs) };
}

/**
 * For a creation: the processor repeats its first response under the same processor key for a day. Only the creation
 * time of the object is certainly not later than that response.
 */
export function sinceCreation(response: unknown, asOf: AsOf): AsOf {
  const createdAt = WireObject.parse(response, 'object').createdAt(asOf.earliest);
  return createdAt < asOf.earliest ? { ...asOf, earliest: createdAt } : asOf;
}

export function headerDateMs(response: unknown): number | null {
  const ms = Date.parse(String(headerOf(response, 'date')));
  return Number.isNaN(ms) ? null : ms;
}

/** Whether the processor repeats its response to an earlier call with the same processor key. */
export function isReplayed(response: unknown): boolean {
  return headerOf(response, 'idempotent-replayed') === 'true';
}

/** The official package attaches the raw response to the value that it returns. */
function headerOf(response: unknown, name: string): string | undefined {
  const { lastResponse } = Object(response) as {
    readonly lastResponse?: { readonly headers?: Readonly<Record<string, string | undefined>> };
  };
  return lastResponse?.headers?.[name];
}

function wholeSecond(ms: number): Date {
  return new Date(Math.floor(ms / 1_000) * 1_000);
}

/**
 * The created object is recorded and returned, but a frontend cannot confirm it. Repeating the request with the same
 * idempotency key reads the client secret again.
 */
export function warnOfMissingSecret(
  logger: Logger,
  operation: ProcessorOperation,
  processorId: string,
): void {
  logger.warn({ operation, processorId }, 'client secret missing from the response');
}

/** Statuses of a payment or setup intent in which a frontend still has something to confirm. */
const confirmable: readonly string[] = [
  'requires_payment_method',
  'requires_confirmation',
  'requires_action',
];

/** Null once nothing is left to confirm, even if the processor still shows the client secret. */
export function clientSecretOf(intent: WireObject): string | null {
  return confirmable.includes(intent.text('status')) ? intent.optionalText('client_secret') : null;
}

/** `response`: the response to a change, which may be a repeated one. */
export function done<T>(value: T, response?: unknown): Attempt<T> {
  return { outcome: 'done', value, ...(isReplayed(response) ? { isReplayed: true } : {}) };
}

/** The object of the call itself does not exist, and not an object that the call only refers to. */
export function isMissing(refusal: Refusal): boolean {
  return refusal.status === 404 && refusal.code === 'resource_missing';
}

/** For reads of objects that may not exist. */
export function nullIfMissing(refusal: Refusal): null | undefined {
  return isMissing(refusal) ? null : undefined;
}

export function missing(refusal: Refusal): Refused | undefined {
  return isMissing(refusal) ? refused('missing', refusal) : undefined;
}

/** For calls that carry none of the caller's values, so that every other refusal is about the state of the object. */
export function missingOrWrongState(refusal: Refusal): Refused {
  return missing(refusal) ?? refused('wrong_state', refusal);
}

export function refused(outcome: Refused['outcome'], { code, message }: Refusal): Refused {
  return { outcome, processorCode: code, message };
}

/** The customer must authenticate before the charge can succeed. The second code is for invoices. */
const authenticationCodes: readonly (string | null)[] = [
  'authentication_required',
  'invoice_payment_intent_requires_action',
];

/** A charge that was attempted and declined. Undefined for a refusal of another kind. */
export function declined(refusal: Refusal): Declined | undefined {
  return refusal.status === 402 ? declineOf(refusal) : undefined;
}

export function declineOf({ code, declineCode, message }: Omit<Refusal, 'status' | 'param'>): Declined {
  const mustAuthenticate = authenticationCodes.includes(code) || authenticationCodes.includes(declineCode);
  return { outcome: 'declined', mustAuthenticate, declineCode, message };
}
