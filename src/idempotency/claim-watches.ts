import type { ClaimOperation } from './claim.ts';
import type { StoredClaim } from './claim-store.ts';

/** The first look after a change comes this soon; each further one waits twice as long as the one before. */
const lookDelayMs = 20;
/** At most this much later than necessary a request sees what another process did. */
const lookDelayMsMax = 250;

/** A request that waits for the claim of another one. */
interface WaitingRequest {
  readonly operation: ClaimOperation;
  readonly key: string;
  readonly requestHash: Buffer;
}

/** What a request can do after waiting: show the result of the completed claim, or try to claim the key itself. */
export type Turn = { readonly state: 'completed'; readonly claim: StoredClaim } | { readonly state: 'free' };

interface WatchParts {
  /** Reads a claim without locking it. */
  readonly read: (operation: ClaimOperation, key: string) => Promise<StoredClaim | undefined>;
  /** Whether some process is at work on an open claim. */
  readonly isAtWork: (claim: StoredClaim) => Promise<boolean>;
}

/**
 * Lets requests wait for a key that another request holds. One look at the claim serves all that wait for it in this process, and
 * looks follow each other one at a time: what they cost does not grow with the number of waiting requests.
 */
export class ClaimWatches {
  readonly #parts: WatchParts;
  /** One for each key that a request waits for. */
  readonly #watches = new Map<string, Watch>();

  constructor(parts: WatchParts) {
    this.#parts = parts;
  }

  /** Undefined if nothing changed in time. */
  async wait(request: WaitingRequest, timeoutMs: number): Promise<Turn | undefined> {
    const { operation, key, requestHash } = request;
    const { promise, resolve, reject } = Promise.withResolvers<Turn | undefined>();
    const waiter = { requestHash, resolve, reject };
    const watch = this.#watchOf(operation, key);
    watch.add(waiter);
    const timer = setTimeout(resolve, Math.max(timeoutMs, 0), undefined);
    try {
      return await promise;
    } finally {
      clearTimeout(timer);
      watch.remove(waiter);
    }
  }

  /** To be called when this process ends its work on a claim: waiting requests need not wait for the next look. */
  look(operation: ClaimOperation, key: string): void {
    this.#watches.get(idOf(operation, key))?.look();
  }

  #watchOf(operation: ClaimOperation, key: string): Watch {
    const id = idOf(operation, key);
    const existing = this.#watches.get(id);
    if (existing !== undefined) return existing;
    const { read, isAtWork } = this.#parts;
    const watch = new Watch({
      read: () => read(operation, key),
      isAtWork,
      onEmpty: () => {
        // By now another one may have taken its place.
        if (this.#watches.get(id) === watch) this.#watches.delete(id);
      },
    });
    this.#watches.set(id, watch);
    return watch;
  }
}

interface Waiter {
  readonly requestHash: Buffer;
  readonly resolve: (turn: Turn) => void;
  readonly reject: (error: unknown) => void;
}

interface KeyWatchParts {
  readonly read: () => Promise<StoredClaim | undefined>;
  readonly isAtWork: (claim: StoredClaim) => Promise<boolean>;
  readonly onEmpty: () => void;
}

/** The requests that wait for one key. */
class Watch {
  readonly #parts: KeyWatchParts;
  /** In the order in which they came. */
  readonly #waiters = new Set<Waiter>();
  #isLooking = false;
  #looksAgain = false;
  #delayMs = lookDelayMs;
  #timer: NodeJS.Timeout | undefined;

  constructor(parts: KeyWatchParts) {
    this.#parts = parts;
  }

  /** Looks at once: the claim may be another request's, or completed by now. */
  add(waiter: Waiter): void {
    this.#waiters.add(waiter);
    this.look();
  }

  remove(waiter: Waiter): void {
    this.#waiters.delete(waiter);
    if (this.#waiters.size > 0) return;
    clearTimeout(this.#timer);
    this.#parts.onEmpty();
  }

  look(): void {
    clearTimeout(this.#timer);
    // A look that is under way may have read the claim before what this one is for.
    if (this.#isLooking) this.#looksAgain = true;
    else void this.#look();
  }

  async #look(): Promise<void> {
    const { read, isAtWork } = this.#parts;
    this.#isLooking = true;
    this.#looksAgain = false;
    try {
      const claim = await read();
      const isOpen = claim !== undefined && claim.completedAt === null;
      this.#tell(claim, isOpen && (await isAtWork(claim)));
    } catch (error) {
      for (const { reject } of this.#waiters) reject(error);
      this.#waiters.clear();
    }
    this.#isLooking = false;
    if (this.#waiters.size === 0) return;
    if (this.#looksAgain) return this.look();
    this.#timer = setTimeout(() => this.look(), this.#delayMs);
    this.#delayMs = Math.min(this.#delayMs * 2, lookDelayMsMax);
  }

  #tell(claim: StoredClaim | undefined, isAtWork: boolean): void {
    // Another request's key: each of these is refused when it tries to claim it.
    for (const waiter of this.#waiters) {
      const isOther = claim !== undefined && !waiter.requestHash.equals(claim.requestHash);
      if (isOther) this.#end(waiter, { state: 'free' });
    }
    if (isAtWork) return;
    if (claim !== undefined && claim.completedAt !== null) {
      for (const waiter of this.#waiters) this.#end(waiter, { state: 'completed', claim });
      return;
    }
    // Only one can claim it. If that fails, the next look gives the next one its turn.
    const [next] = this.#waiters;
    if (next !== undefined) this.#end(next, { state: 'free' });
    this.#delayMs = lookDelayMs;
  }

  #end(waiter: Waiter, turn: Turn): void {
    this.#waiters.delete(waiter);
    waiter.resolve(turn);
  }
}

function idOf(operation: ClaimOperation, key: string): string {
  return `${operation} ${key}`;
}
