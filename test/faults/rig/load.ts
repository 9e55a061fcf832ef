import { setTimeout } from 'node:timers/promises';
import type { Stripe } from 'stripe';
import { createRandom } from '#runtime/seed/random.ts';
import { effort } from '../../support/effort.ts';
import { LoadClient } from './load-client.ts';
import { Shopper } from './shopper.ts';

/**
 * In the long form enough to have every kind of request in progress at any time, and few enough for a machine with two
 * cores. In the short form enough to have some of them in progress: the load runs for as long as the fault lasts.
 */
const workersDefault = effort({ short: 3, long: 8 });
/**
 * Between two things that a worker does. Without it the load takes all of a small machine, and what is measured is how
 * the machine is shared.
 */
const paceMsDefault = effort({ short: 150, long: 30 });

export interface LoadOptions {
  readonly workers?: number;
  readonly paceMs?: number;
  readonly seed: number;
  /** For clients that give up before the service does. */
  readonly attemptTimeoutMs?: number;
}

export type CreatedKind =
  | 'customers'
  | 'plans'
  | 'payments'
  | 'refunds'
  | 'captures'
  | 'subscriptions'
  | 'setups';

/** A creation that was acknowledged. */
export interface CreatedObject {
  readonly kind: CreatedKind;
  readonly id: string;
  readonly processorId: string;
  /** Shows at the processor that two objects came from one request. */
  readonly mark: string;
}

/** Shared by all clients of the load: the addresses of Till, and the record of its responses. */
export interface Ledger {
  readonly client: LoadClient;
  readonly stripe: Stripe;
  readonly made: CreatedObject[];
  /** A number that no other creation has. */
  readonly nextNumber: () => number;
}

/**
 * Clients that keep creating, changing and reading. Each request is repeated with its idempotency key until it is
 * settled. What was acknowledged is recorded, so that it can be compared with Till and the processor afterwards.
 */
export class Load {
  readonly ledger: Ledger;
  readonly #paceMs: number;
  readonly #ending = new AbortController();
  readonly #abandoning = new AbortController();
  readonly #workers: readonly Promise<void>[];
  #rounds = 0;

  constructor(
    rig: { readonly url: () => string; readonly stripe: Stripe; readonly nextNumber: () => number },
    { workers = workersDefault, paceMs = paceMsDefault, seed, attemptTimeoutMs }: LoadOptions,
  ) {
    this.#paceMs = paceMs;
    this.ledger = {
      client: new LoadClient(rig.url, this.#abandoning.signal, attemptTimeoutMs),
      stripe: rig.stripe,
      made: [],
      nextNumber: rig.nextNumber,
    };
    this.#workers = Array.from({ length: workers }, (_, index) => this.#work(seed + index));
    // `end` reports a worker's failure; until then it does not crash the test.
    for (const worker of this.#workers) worker.catch(() => {});
  }

  /** Resolves when the load has completed this many further steps: it is running, or running again. */
  async progressed(rounds: number): Promise<void> {
    const goal = this.#rounds + rounds;
    while (this.#rounds < goal) {
      await Promise.race([setTimeout(this.#paceMs), ...this.#workers]);
      if (this.#ending.signal.aborted) return;
    }
  }

  /** Resolves once a client has met the fault: a response since `sinceMs` was a failure of the service. */
  async meetsFault(sinceMs: number): Promise<void> {
    const { attempts } = this.ledger.client;
    const isMet = () =>
      attempts.some(({ atMs, tookMs, status }) => atMs + tookMs > sinceMs && (status === 0 || status >= 500));
    while (!isMet()) await Promise.race([setTimeout(this.#paceMs), ...this.#workers]);
  }

  /** Starts nothing new, and waits until everything in progress is settled. */
  async end(): Promise<void> {
    this.#ending.abort();
    await Promise.all(this.#workers);
  }

  /** For a failed test: stops without waiting. */
  async abandon(): Promise<void> {
    this.#ending.abort();
    this.#abandoning.abort();
    await Promise.allSettled(this.#workers);
  }

  async #work(seed: number): Promise<void> {
    const shopper = new Shopper(this.ledger, createRandom(seed));
    while (!this.#ending.signal.aborted) {
      await shopper.doSomething();
      this.#rounds += 1;
      await setTimeout(this.#paceMs, undefined, { signal: this.#ending.signal }).catch(() => {});
    }
  }
}
