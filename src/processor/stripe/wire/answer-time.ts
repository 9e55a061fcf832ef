import type { AsOf } from '../../../mirrors/facts.ts';
import { WireObject } from './wire-object.ts';

/**
 * When a response was true. The `Date` header says when the processor wrote it, after it had read the object; the
 * request began at most `elapsedMs` before that. So the response's own header and a measured duration bound it on the
 * processor's clock, and the local clock does not matter. `Date` is rounded down to a second, which only makes
 * `earliest` earlier.
 */
export function answerTime(response: unknown, elapsedMs: number, localNowMs: number): AsOf {
  // Every HTTP server that has a clock sends the header; without it the local clock is the best guess.
  const writtenAtMs = headerDateMs(response) ?? localNowMs;
  return { earliest: wholeSecond(writtenAtMs - elapsedMs), latest: wholeSecond(writtenAtMs) };
}

/**
 * For a creation: under the same key the processor repeats its first response for a day, so only the object's own
 * creation certainly precedes it.
 */
export function sinceCreation(response: unknown, asOf: AsOf): AsOf {
  const createdAt = WireObject.parse(response, 'object').createdAt(asOf.earliest);
  return createdAt < asOf.earliest ? { ...asOf, earliest: createdAt } : asOf;
}

/** The official package attaches the raw response to the value that it returns. */
export function headerDateMs(response: unknown): number | null {
  const { lastResponse } = response as {
    readonly lastResponse?: { readonly headers?: { readonly date?: string } };
  };
  const ms = Date.parse(String(lastResponse?.headers?.date));
  return Number.isNaN(ms) ? null : ms;
}

function wholeSecond(ms: number): Date {
  return new Date(Math.floor(ms / 1_000) * 1_000);
}
