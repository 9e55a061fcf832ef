/** The first response to a request with an idempotency key. */
export interface Memo {
  readonly path: string;
  /** A hash of the parameters. The same idempotency key with other parameters is an error. */
  readonly fingerprint: string;
  readonly status: number;
  readonly body: object;
  readonly atMs: number;
}

/** The processor forgets idempotency keys after a day. Here this is a day of real time. */
export const memoLifetimeMs = 24 * 60 * 60 * 1_000;

/** Remembered responses, oldest first. They expire in this order. */
export class Memos {
  readonly #memos = new Map<string, Memo>();
  readonly #max: number;

  constructor(max: number) {
    this.#max = max;
  }

  get size(): number {
    return this.#memos.size;
  }

  find(key: string, nowMs: number): Memo | undefined {
    this.forgetExpired(nowMs);
    return this.#memos.get(key);
  }

  set(key: string, memo: Memo): void {
    this.#memos.set(key, memo);
    if (this.#memos.size <= this.#max) return;
    const [oldest] = this.#memos.keys();
    if (oldest !== undefined) this.#memos.delete(oldest);
  }

  entries(): Iterable<[string, Memo]> {
    return this.#memos.entries();
  }

  clear(): void {
    this.#memos.clear();
  }

  forgetExpired(nowMs: number): void {
    for (const [key, memo] of this.#memos) {
      if (memo.atMs > nowMs - memoLifetimeMs) return;
      this.#memos.delete(key);
    }
  }
}
