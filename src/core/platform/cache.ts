/**
 * State that may be lost at any time: counters shared between processes, and short caches. Nothing durable is kept
 * here, so losing it costs at most a little accuracy.
 */
export interface Cache {
  readonly kind: 'redis' | 'memory';
  /**
   * Adds to a counter that disappears `ttlMs` after its first use, and returns its new value. A promise only if the
   * counter is outside of this process.
   */
  increment(key: string, by: number, ttlMs: number): number | Promise<number>;
  /** Runs a script in one step, if the cache is outside of this process. */
  runScript?(script: string, keys: readonly string[], values: readonly string[]): Promise<unknown>;
  /** Rejects when the cache does not respond, or cannot count. */
  ping(): Promise<void>;
  close(): Promise<void>;
}
