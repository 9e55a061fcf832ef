/**
 * State that may be lost at any time: counters shared between processes, and short caches. Nothing durable is kept
 * here, so losing it costs at most a little accuracy.
 */
export interface Cache {
  readonly kind: 'redis' | 'memory';
  /** Adds to a counter that disappears `ttlMs` after its first use, and returns its new value. */
  increment(key: string, by: number, ttlMs: number): Promise<number>;
  /** Rejects when the cache does not respond, or cannot count. */
  ping(): Promise<void>;
  close(): Promise<void>;
}
