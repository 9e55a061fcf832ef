import { Due } from '../billing/due.ts';
import { Faults } from '../control/faults.ts';
import { Manners } from '../manners/manners.ts';
import type { Journal } from '../state/journal.ts';
import type { Retention } from '../state/retention.ts';
import type { SandboxClock } from '../state/sandbox-clock.ts';
import { Store } from '../state/store.ts';
import { type BuiltInEndpoint, Deliverer } from '../webhooks/deliverer.ts';
import type { Call } from '../wire/operation.ts';
import { objectTime } from '../wire/request-clock.ts';

export interface WorldOptions {
  readonly accountId: string;
  /** The sandbox's own address. */
  readonly url: () => string;
  /** The path prefix of this world's pages, which distinguishes them from those of other worlds. */
  readonly basePath: string;
  /** An endpoint that receives every event, in addition to those registered through the API. */
  readonly webhook?: BuiltInEndpoint | undefined;
  /** Called with how far the clock is ahead of real time, at the start and when the clock was moved. */
  readonly onClock?: ((aheadSeconds: number) => void | Promise<void>) | undefined;
  /** A warning in the response to a reset, for a service that stores what the world creates. */
  readonly resetWarning?: string | undefined;
  readonly log: WorldLog;
  readonly clock?: SandboxClock;
  readonly retention?: Retention | undefined;
}

/**
 * One account with everything that belongs to it: objects, events, clock, scheduled work, webhooks, faults and
 * idempotency keys. Worlds share nothing but the process. A world without scheduled work and pending webhooks has no
 * timer and no open file.
 */
export class World {
  readonly accountId: string;
  readonly basePath: string;
  readonly store: Store;
  readonly faults = new Faults();
  readonly manners: Manners;
  readonly due: Due;
  readonly deliverer: Deliverer;
  /** The idempotency keys of requests in progress. */
  readonly keysInFlight = new Set<string>();
  readonly resetWarning: string | undefined;
  readonly #onClock: WorldOptions['onClock'];
  #journal: Journal | null = null;
  /** The time up to which an earlier process has completed the scheduled work. */
  #doneUntil = 0;

  constructor({
    accountId,
    url,
    basePath,
    webhook,
    onClock,
    log,
    clock,
    retention,
    resetWarning,
  }: WorldOptions) {
    this.#onClock = onClock;
    this.resetWarning = resetWarning;
    this.accountId = accountId;
    this.basePath = basePath;
    this.store = new Store(clock, retention);
    this.manners = new Manners(this.store);
    this.store.baseUrl = () => `${url()}${basePath}`;
    this.due = new Due(this.store, (fields, message) => log('error', fields, message));
    this.deliverer = new Deliverer(this.store, webhook ?? null, (fields, message) =>
      log('warn', fields, message),
    );
  }

  /** Restores the state from the lines of the journal, and writes all later changes to it. */
  async keepIn(openJournal: (onLine: (line: unknown) => void) => Promise<Journal>): Promise<void> {
    const { store } = this;
    let lines = 0;
    let lastAtMs = 0;
    this.#journal = await openJournal((line) => {
      lines += 1;
      lastAtMs = Math.max(lastAtMs, store.restore(line));
    });
    this.#doneUntil = Math.floor(lastAtMs / 1_000) + store.clock.offsetSeconds;
    store.clock.catchUp();
    store.keepIn(this.#journal);
    store.forgetExpired();
    if (lines > compactAboveLines && lines > compactAboveRatio * store.size) await store.compact();
  }

  /** Does the work that fell due while the world was closed, and resumes its deliveries. */
  async start(): Promise<void> {
    await this.#reportClock();
    this.due.start(this.#doneUntil);
    await this.due.advanceTo(this.store.now());
    this.deliverer.start();
  }

  /** A request for the object with this id that does not come from a client. */
  callOn(id: string): Call {
    return { store: this.store, id, fromBrowser: false, accountId: this.accountId, version: null };
  }

  /** Does the work of a person, at the time of the object's customer. */
  async act<T>({ name }: { readonly name: string }, id: string, work: () => T): Promise<T> {
    const { store } = this;
    const result = store.clock.at(objectTime(store, name, id), () => store.transact(null, work));
    await store.written();
    return result;
  }

  /** Moves the clock. An earlier time is only for an empty world: lists rely on the order of times. */
  async moveClock(to: number): Promise<void> {
    const { store, due } = this;
    if (to >= store.now()) await due.advanceTo(to);
    else {
      store.clock.reset();
      store.clock.runOnFrom(to);
      store.changeSettings({});
      await store.written();
    }
    await this.#reportClock();
  }

  /** Removes everything in the world, and resets its clock. */
  async reset(): Promise<void> {
    this.faults.clear();
    this.manners.restart();
    this.due.reset();
    await this.deliverer.reset();
    await this.store.reset();
    await this.#reportClock();
  }

  async close(): Promise<void> {
    await this.#stop();
    await this.#journal?.close();
  }

  /** Closes the world and deletes its journal. */
  async remove(): Promise<void> {
    await this.#stop();
    await this.#journal?.remove();
  }

  async #reportClock(): Promise<void> {
    await this.#onClock?.(this.store.clock.offsetSeconds);
  }

  async #stop(): Promise<void> {
    this.manners.close();
    this.faults.clear();
    await this.due.close();
    await this.deliverer.close();
  }
}

/** A shorter journal loads quickly even with obsolete lines. */
const compactAboveLines = 10_000;
/** A rewritten journal has about one line per object. Rewrite it when a third of its lines are obsolete. */
const compactAboveRatio = 1.5;

export type WorldLog = (level: 'info' | 'warn' | 'error', fields: object, message: string) => void;
