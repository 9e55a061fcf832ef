import type { AsOf } from '../../../mirrors/facts.ts';
import { WireObject } from './wire-object.ts';

/**
 * When an answer was true. The `Date` header says when the processor wrote it, after it had read the object; the request
 * began `elapsedMs` or less before that. So the answer's own header and a measured duration bound it on the processor's
 * clock, and our own clock does not matter. `Date` is rounded down to a second, which only makes `earliest` earlier.
 */
export function answerTime(answer: unknown, elapsedMs: number, localNowMs: number): AsOf {
  // Every HTTP server that has a clock sends the header; without it our own clock is the best guess.
  const writtenAtMs = headerDateMs(answer) ?? localNowMs;
  return { earliest: wholeSecond(writtenAtMs - elapsedMs), latest: wholeSecond(writtenAtMs) };
}

/**
 * For a creation: under the same key the processor repeats its first answer for a day, so only the object's own creation is
 * sure to lie before it.
 */
export function sinceCreation(answer: unknown, asOf: AsOf): AsOf {
  const createdAt = WireObject.parse(answer, 'object').createdAt(asOf.earliest);
  return createdAt < asOf.earliest ? { ...asOf, earliest: createdAt } : asOf;
}

/** The official package hangs the raw response on what it returns. */
function headerDateMs(answer: unknown): number | null {
  const { lastResponse } = answer as {
    readonly lastResponse?: { readonly headers?: { readonly date?: string } };
  };
  const ms = Date.parse(String(lastResponse?.headers?.date));
  return Number.isNaN(ms) ? null : ms;
}

function wholeSecond(ms: number): Date {
  return new Date(Math.floor(ms / 1_000) * 1_000);
}
