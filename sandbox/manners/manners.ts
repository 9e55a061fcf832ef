import type { StoredEvent } from '../state/changes.ts';
import type { Store } from '../state/store.ts';
import type { FormMap } from '../wire/form.ts';
import type { Call, Operation } from '../wire/operation.ts';
import { Waits } from '../wire/waits.ts';
import { Latencies } from './latencies.ts';
import { ObjectLimits } from './object-limits.ts';
import { changedIds, ObjectLocks } from './object-locks.ts';
import { lockTimeout, tooFast } from './refusals.ts';
import { SlidingLimit, SlidingLimits } from './sliding-limit.ts';

/** Those of a sandbox account of the processor: requests a second in all, of each operation, and of all searches. */
const second = 1_000;
const requestsLimit = { max: 25, window: second };
const operationLimit = { max: 25, window: second };
const searchLimit = { max: 20, window: second };

/** One request, as far as its manners need it. */
interface Visit {
  readonly operation: Operation;
  readonly call: Call;
  readonly form: FormMap;
  /** Resolves when the caller disconnects. */
  readonly gone: Promise<void>;
}

/** How a world behaves beyond what its objects require: by default not at all, or like an account of the processor. */
export class Manners {
  readonly #store: Store;
  readonly #waits = new Waits();
  #seed: number | null = null;
  #likeStripe: LikeStripe | null = null;

  constructor(store: Store) {
    this.#store = store;
  }

  /** Null if there are none. */
  current(): LikeStripe | null {
    const seed = this.#store.settings.mannersSeed ?? null;
    if (seed !== this.#seed) this.restart();
    return this.#likeStripe;
  }

  /** Begins anew with the seed of the settings, and lets requests continue that wait. */
  restart(): void {
    this.#seed = this.#store.settings.mannersSeed ?? null;
    this.#likeStripe = this.#seed === null ? null : new LikeStripe(this.#seed, this.#waits);
    this.#waits.release();
  }

  /** Ends the requests that wait. Those that have not begun their work never do. */
  close(): void {
    this.#likeStripe?.close();
    this.#waits.release();
  }
}

/** The manners of a sandbox account of the processor. */
class LikeStripe {
  readonly #waits: Waits;
  readonly #latencies: Latencies;
  readonly #locks = new ObjectLocks();
  readonly #requests = new SlidingLimit(requestsLimit);
  readonly #operations = new SlidingLimits(operationLimit);
  readonly #searches = new SlidingLimit(searchLimit);
  readonly #objects = new ObjectLimits();
  #closed = false;

  constructor(seed: number, waits: Waits) {
    this.#waits = waits;
    this.#latencies = new Latencies(seed);
  }

  /** Throws if there are too many requests. Refused ones do not count. */
  admit({ name }: Operation): void {
    const now = performance.now();
    if (!this.#requests.hasRoom(now)) throw tooFast('global-rate');
    const limits = [this.#operations.of(name), ...(name.endsWith('.search') ? [this.#searches] : [])];
    if (limits.some((limit) => !limit.hasRoom(now))) throw tooFast('endpoint-rate');
    for (const limit of [this.#requests, ...limits]) limit.note(now);
  }

  /**
   * Does the work at some time within the request's latency, so that its webhooks can arrive before its response.
   * Throws if another request is writing the same object. Returns null if the sandbox stops first.
   */
  async serve<T>({ operation, call, form, gone }: Visit, work: () => Promise<T>): Promise<T | null> {
    const unlock = this.#locks.lock(changedIds(operation, call, form));
    if (unlock === undefined) throw lockTimeout();
    try {
      const { beforeMs, afterMs } = this.#latencies.next(operation);
      await this.#waits.wait(beforeMs, gone);
      if (this.#closed) return null;
      const result = await work();
      await this.#waits.wait(afterMs, gone);
      return result;
    } finally {
      unlock();
    }
  }

  /** Throws if the work of a request, which is not committed yet, exceeds the limit of an object. */
  checkWork(operation: Operation, call: Call, events: readonly StoredEvent[]): void {
    this.#objects.check(operation, call, events);
  }

  close(): void {
    this.#closed = true;
  }
}
