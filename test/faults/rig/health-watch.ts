import assert from 'node:assert/strict';
import { setTimeout } from 'node:timers/promises';

/** How soon /health reports a failure and a recovery. */
export const truthMs = 2_000;
/** Often enough that what is measured is Till's own delay. */
const lookDelayMs = 50;
/** Longer than a report may take, so that a late response is seen as late and not as missing. */
const lookTimeoutMs = 10_000;

interface Look {
  readonly atMs: number;
  readonly respondedAtMs: number;
  /** What is down; undefined if there was no response. */
  readonly down: readonly string[] | undefined;
}

/** Asks /health again and again, as a load balancer does. */
export class HealthWatch {
  readonly looks: Look[] = [];
  readonly #url: () => string;
  readonly #stopping = new AbortController();
  readonly #running: Promise<void>;
  #looked = Promise.withResolvers<void>();

  constructor(url: () => string) {
    this.#url = url;
    this.#running = this.#run();
  }

  async stop(): Promise<void> {
    this.#stopping.abort();
    await this.#running;
  }

  /**
   * The time from `sinceMs` until a response first said that exactly these dependencies are down. An empty list: none
   * is down.
   */
  async says(down: readonly string[], sinceMs: number, withinMs = truthMs): Promise<number> {
    for (;;) {
      const said = this.looks.find((look) => look.respondedAtMs >= sinceMs && isSame(look.down, down));
      if (said !== undefined) {
        const tookMs = said.respondedAtMs - sinceMs;
        assert.ok(tookMs <= withinMs, `/health said ${name(down)} after ${tookMs.toFixed(0)} ms`);
        return tookMs;
      }
      const isLate = performance.now() - sinceMs > withinMs + lookTimeoutMs;
      assert.ok(!isLate, `/health never said ${name(down)}; at last ${name(this.looks.at(-1)?.down)}`);
      await this.#looked.promise;
    }
  }

  /** Fails if a response said anything else in this time. */
  assertOnly(down: readonly string[], fromMs: number, toMs: number): void {
    const others = this.looks.filter(
      (look) => look.atMs > fromMs && look.respondedAtMs < toMs && !isSame(look.down, down),
    );
    assert.deepEqual(others, [], `/health did not go on saying ${name(down)}`);
  }

  async #run(): Promise<void> {
    while (!this.#stopping.signal.aborted) {
      const atMs = performance.now();
      const down = await this.#look();
      this.looks.push({ atMs, respondedAtMs: performance.now(), down });
      this.#looked.resolve();
      this.#looked = Promise.withResolvers();
      await setTimeout(lookDelayMs, undefined, { signal: this.#stopping.signal }).catch(() => {});
    }
  }

  async #look(): Promise<readonly string[] | undefined> {
    try {
      const signal = AbortSignal.any([AbortSignal.timeout(lookTimeoutMs), this.#stopping.signal]);
      const response = await fetch(`${this.#url()}/health`, { signal });
      // The shape is the spec's; the API tests check it.
      const { error } = (await response.json()) as { readonly error: object };
      const down = Object.keys(error);
      assert.equal(response.status, down.length === 0 ? 200 : 503);
      return down;
    } catch (error) {
      if (error instanceof assert.AssertionError) throw error;
      return undefined;
    }
  }
}

function isSame(said: readonly string[] | undefined, expected: readonly string[]): boolean {
  return said !== undefined && said.join() === expected.join();
}

function name(down: readonly string[] | undefined): string {
  if (down === undefined) return 'nothing';
  return down.length === 0 ? 'that all is well' : `that ${down.join(' and ')} is down`;
}
