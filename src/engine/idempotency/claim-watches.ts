import { whileWaiting } from '#core/platform/cause.ts';
import { RepeatedCheck } from '#core/platform/repeated-check.ts';
import type { StoredClaim } from './claim-store.ts';

/** The delay before the first check. It doubles with every further check. */
const checkDelayMs = 20;
/** The longest time until a request notices that another process has finished. */
const checkDelayMsMax = 250;

/** A request that waits for a claim that another request holds. */
interface WaitingRequest {
  /** Requests that wait for the same claim have the same id. */
  readonly id: string;
  /** Reads the claim without locking it. */
  readonly read: () => Promise<StoredClaim | undefined>;
  readonly requestHash: Buffer;
}

/**
 * What a request can do after waiting: return the result of the completed claim, or claim the idempotency key itself.
 */
type WaitOutcome = { readonly state: 'completed'; readonly claim: StoredClaim } | { readonly state: 'free' };

/**
 * Lets requests wait for an idempotency key that another request holds. One check of the claim serves all requests of
 * this process that wait for it, and checks run one at a time, so their cost does not grow with the number of waiting
 * requests.
 */
export class ClaimWatches {
  readonly #isInProgress: WatchParts['isInProgress'];
  /** One watch per claim that a request waits for. */
  readonly #watches = new Map<string, Watch>();

  constructor(isInProgress: WatchParts['isInProgress']) {
    this.#isInProgress = isInProgress;
  }

  /** Undefined if nothing changed in time. */
  async wait(request: WaitingRequest, timeoutMs: number): Promise<WaitOutcome | undefined> {
    const { requestHash } = request;
    const { promise, resolve, reject } = Promise.withResolvers<WaitOutcome | undefined>();
    const waiter = { requestHash, resolve, reject };
    const watch = this.#watchOf(request);
    watch.add(waiter);
    const timer = setTimeout(resolve, Math.max(timeoutMs, 0), undefined);
    try {
      return await whileWaiting(() => promise);
    } finally {
      clearTimeout(timer);
      watch.remove(waiter);
    }
  }

  /** Checks at once. Call it when this process ends its work on a claim. */
  check(id: string): void {
    this.#watches.get(id)?.check();
  }

  #watchOf({ id, read }: WaitingRequest): Watch {
    const existing = this.#watches.get(id);
    if (existing !== undefined) return existing;
    const watch = new Watch({
      read,
      isInProgress: this.#isInProgress,
      onEmpty: () => {
        // Another watch may have replaced this one.
        if (this.#watches.get(id) === watch) this.#watches.delete(id);
      },
    });
    this.#watches.set(id, watch);
    return watch;
  }
}

interface ClaimWaiter {
  readonly requestHash: Buffer;
  readonly resolve: (outcome: WaitOutcome) => void;
  readonly reject: (error: unknown) => void;
}

interface WatchParts {
  readonly read: () => Promise<StoredClaim | undefined>;
  /** Whether a process is working on an open claim. */
  readonly isInProgress: (claim: StoredClaim) => Promise<boolean>;
  readonly onEmpty: () => void;
}

/** The requests that wait for one idempotency key. */
class Watch {
  readonly #parts: WatchParts;
  /** In order of arrival. */
  readonly #waiters = new Set<ClaimWaiter>();
  readonly #checks: RepeatedCheck;

  constructor(parts: WatchParts) {
    this.#parts = parts;
    this.#checks = new RepeatedCheck({
      check: () => this.#check(),
      delayMs: checkDelayMs,
      delayMsMax: checkDelayMsMax,
    });
  }

  /** Checks at once, because the claim may be completed, or belong to a different request. */
  add(waiter: ClaimWaiter): void {
    this.#waiters.add(waiter);
    this.check();
  }

  remove(waiter: ClaimWaiter): void {
    this.#waiters.delete(waiter);
    if (this.#waiters.size > 0) return;
    this.#checks.stop();
    this.#parts.onEmpty();
  }

  check(): void {
    this.#checks.now();
  }

  /** True while a request waits. */
  async #check(): Promise<boolean> {
    const { read, isInProgress } = this.#parts;
    try {
      const claim = await read();
      const isOpen = claim !== undefined && claim.completedAt === null;
      this.#resolveWaiters(claim, isOpen && (await isInProgress(claim)));
    } catch (error) {
      for (const { reject } of this.#waiters) reject(error);
      this.#waiters.clear();
    }
    return this.#waiters.size > 0;
  }

  #resolveWaiters(claim: StoredClaim | undefined, isInProgress: boolean): void {
    // The idempotency key belongs to a different request, so claiming it refuses these requests.
    for (const waiter of this.#waiters) {
      const isDifferent = claim !== undefined && !waiter.requestHash.equals(claim.requestHash);
      if (isDifferent) this.#resolve(waiter, { state: 'free' });
    }
    if (isInProgress) return;
    if (claim !== undefined && claim.completedAt !== null) {
      for (const waiter of this.#waiters) this.#resolve(waiter, { state: 'completed', claim });
      return;
    }
    // Only one request can claim the idempotency key. If it fails, the next check wakes the next request.
    const [next] = this.#waiters;
    if (next !== undefined) this.#resolve(next, { state: 'free' });
    this.#checks.hurry();
  }

  #resolve(waiter: ClaimWaiter, outcome: WaitOutcome): void {
    this.#waiters.delete(waiter);
    waiter.resolve(outcome);
  }
}
