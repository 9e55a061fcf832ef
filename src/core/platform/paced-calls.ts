import { setTimeout as wait } from 'node:timers/promises';
import { runAs } from './cause.ts';

/**
 * The interval that the API documents: short enough for a page that waits, long enough for the processor's rate limit.
 */
const intervalMs = 1_000;

/**
 * Makes at most one call at a time for each key, and at most one a second. Callers that come while a call is in
 * progress, or within the second after it began, share its result, even if it is a failure. So the cost does not depend
 * on the number of callers. A result is as old as its call, or at most a second.
 */
export class PacedCalls<Result> {
  readonly #call: (key: string) => Promise<Result>;
  readonly #sleep: (ms: number) => Promise<unknown>;
  /** An entry lasts as long as its call, and at least a second. */
  readonly #shared = new Map<string, { readonly result: Promise<Result>; readonly begunMs: number }>();

  constructor(
    call: (key: string) => Promise<Result>,
    sleep: (ms: number) => Promise<unknown> = (ms) => wait(ms, undefined, { ref: false }),
  ) {
    this.#call = call;
    this.#sleep = sleep;
  }

  /**
   * When the call began that a new caller would share, by `performance.now()`. Undefined if a new caller would start
   * its own call.
   */
  begunMs(key: string): number | undefined {
    return this.#shared.get(key)?.begunMs;
  }

  ask(key: string): Promise<Result> {
    const shared = this.#shared.get(key);
    if (shared !== undefined) return shared.result;
    // The call serves several requests: a revoked API key of the first one must not fail it for the others.
    const result = runAs('recovery', () => this.#call(key));
    this.#shared.set(key, { result, begunMs: performance.now() });
    void Promise.allSettled([result, this.#sleep(intervalMs)]).then(() => this.#shared.delete(key));
    return result;
  }
}
