import { setTimeout } from 'node:timers/promises';
import { isGone } from '#core/platform/owner-lock.ts';
import { WakeableSleep } from '#core/platform/wakeable-sleep.ts';
import type { EventEndpoint } from '../endpoints/endpoint.ts';
import type { SecretBox } from '../endpoints/endpoint-secret.ts';
import type { LeasableEndpoint } from '../endpoints/endpoint-store.ts';
import { EventStore } from '../feed/event-store.ts';
import { DeliveryLane, type LaneEndpoint } from './delivery-lane.ts';
import type { DeliveryContext } from './record-deliveries.ts';

/** How often it looks for events and endpoint changes of other processes. Those of this process wake it at once. */
const pollDelayMs = 500;
/**
 * The same interval, if other processes deliver to all endpoints or there are none. A check costs one small statement.
 */
const standbyDelayMs = 1_000;
const idleDelayMs = 5_000;
/** Commits in quick succession share one read of the table. */
const gatherMs = 10;
const failureDelayMs = 1_000;
/** How long a lease lasts without renewal. Other processes take it earlier if they detect that its process is gone. */
const leaseMs = 30_000;
/** Several renewals can fail before a lease expires. */
const renewDelayMs = 2_000;
/** Two missed renewals. After this time, a process without its owner lock is considered dead. */
const staleMs = 4_000;
/** The owner treats its lease as lost a little before others may take it. */
const leaseMarginMs = 5_000;
/** How long a request that changed an endpoint waits until the lanes apply the change. That usually takes 20 ms. */
const takeMsMax = 2_000;

/**
 * Starts and ends the lanes of this process: one for each enabled endpoint whose lease it holds. Each endpoint has its
 * own lane, so a slow or dead endpoint does not delay the others.
 */
export class DeliveryDispatcher {
  readonly #context: DeliveryContext;
  readonly #events = new EventStore();
  readonly #secrets: SecretBox;
  readonly #lanes = new Map<string, DeliveryLane>();
  /** Lanes that are ending, by endpoint. The next lane of the same endpoint starts after them. */
  readonly #ending = new Map<string, Promise<void>>();
  /** Endpoints whose secret cannot be decrypted, with the time of the last change, so that each is logged once. */
  readonly #undecryptable = new Map<string, number>();
  /** Resolves at the end of the next reload. */
  #reloaded = Promise.withResolvers<void>();
  #running: Promise<void> | undefined;
  readonly #rest = new WakeableSleep();
  #isChanged = false;
  #isNudged = false;
  #isStopped = false;
  #isPaused = false;
  /** The check in progress. */
  #ticking: Promise<number> = Promise.resolve(0);
  #hasEndpoints = false;
  #renewAtMs = 0;
  #reloadAtMs = 0;

  constructor(context: DeliveryContext, secrets: SecretBox) {
    this.#context = context;
    this.#secrets = secrets;
  }

  start(): void {
    this.#running = this.#run();
  }

  /** This process has committed events. */
  nudge(): void {
    if (this.#lanes.size === 0) return;
    this.#isNudged = true;
    this.#rest.wake();
  }

  /**
   * This process has changed an endpoint. Resolves when its lanes have applied the change, so that a caller who gets
   * the response can rely on it. If that takes longer than `takeMsMax`, the lanes apply it a little later.
   */
  async endpointsChanged(): Promise<void> {
    const reloaded = this.#reloadSoon();
    if (this.#running === undefined || this.#isStopped) return;
    await Promise.race([reloaded, setTimeout(takeMsMax, undefined, { ref: false })]);
  }

  /** Ends all deliveries at once, and begins none before `resume`. */
  async pause(): Promise<void> {
    this.#isPaused = true;
    await this.#ticking.catch(() => {});
    for (const [id, lane] of this.#lanes) this.#end(id, lane.abort());
    await Promise.all(this.#ending.values());
  }

  resume(): void {
    this.#isPaused = false;
    void this.#reloadSoon();
  }

  async stop(): Promise<void> {
    this.#isStopped = true;
    this.#rest.wake();
    await this.#running;
    this.#reloaded.resolve();
    for (const [id, lane] of this.#lanes) this.#end(id, lane.stop());
    await Promise.all(this.#ending.values());
    this.#context.sender.close();
  }

  async #run(): Promise<void> {
    while (!this.#isStopped) {
      if (!this.#isPaused) this.#ticking = this.#tick();
      const delayMs = await this.#ticking.catch((error: unknown) => {
        this.#context.logger.warn({ err: error }, 'event endpoints not checked; retry scheduled');
        return failureDelayMs;
      });
      if (!this.#isNudged && !this.#isChanged && !this.#isStopped) await this.#rest.sleep(delayMs);
      // New commits do not shorten this delay.
      if (!this.#isStopped) await setTimeout(gatherMs);
    }
  }

  /** Returns the delay until the next check, in milliseconds. */
  async #tick(): Promise<number> {
    const { database } = this.#context;
    this.#isNudged = false;
    if (this.#isChanged || performance.now() >= this.#reloadAtMs) await this.#reload();
    if (this.#lanes.size === 0) return this.#hasEndpoints ? standbyDelayMs : idleDelayMs;
    if (performance.now() >= this.#renewAtMs) await this.#renew();
    const { position, history } = await this.#events.horizon(database);
    // After a failover or a restore, a lane may hold events that are lost, and lack deliveries that must be repeated.
    for (const [id, lane] of this.#lanes)
      if (lane.history === history) lane.advanceTo(position);
      else this.#end(id, lane.abort());
    return pollDelayMs;
  }

  /** Resolves at the end of a reload that begins after this call. */
  #reloadSoon(): Promise<void> {
    this.#isChanged = true;
    this.#rest.wake();
    return this.#reloaded.promise;
  }

  async #reload(): Promise<void> {
    const { resolve } = this.#reloaded;
    this.#reloaded = Promise.withResolvers();
    this.#isChanged = false;
    try {
      await this.#compareLanes();
    } finally {
      resolve();
    }
  }

  /** Compares the lanes with the endpoints. */
  async #compareLanes(): Promise<void> {
    const { database, endpoints } = this.#context;
    const enabled = new Map((await endpoints.listEnabled(database)).map((row) => [row.id, row]));
    this.#hasEndpoints = enabled.size > 0;
    for (const [id, lane] of this.#lanes) {
      const row = enabled.get(id);
      if (lane.isOver || (row !== undefined && this.#isLost(lane, row))) this.#end(id, lane.abort());
      else if (row === undefined || lane.isStopping) this.#end(id, lane.stop());
      else this.#update(lane, row);
    }
    for (const row of enabled.values())
      if (!this.#lanes.has(row.id) && !this.#ending.has(row.id)) await this.#open(row);
    this.#reloadAtMs = performance.now() + (this.#lanes.size === 0 ? 0 : pollDelayMs);
  }

  /** Another process has the lease, or the endpoint went back to an earlier position. */
  #isLost({ endpoint }: DeliveryLane, { owner, revision }: LeasableEndpoint): boolean {
    return revision !== endpoint.revision || (owner !== null && owner !== this.#context.ownerLock.owner);
  }

  #update(lane: DeliveryLane, row: LeasableEndpoint): void {
    const settings = this.#settingsOf(row);
    if (settings === undefined) this.#end(row.id, lane.stop());
    else lane.update(settings);
  }

  /**
   * Starts a lane if the lease is free, or its process is gone. A restart after a crash does not wait for the lease.
   */
  async #open(row: LeasableEndpoint): Promise<void> {
    const { database, endpoints, ownerLock, logger } = this.#context;
    const { owner } = ownerLock;
    if (this.#settingsOf(row) === undefined) return;
    const isAlive = row.owner !== null && row.owner !== owner && !(await isGone(database, row.owner));
    if (isAlive) return;
    const leasedUntilMs = performance.now() + leaseMs - leaseMarginMs;
    const leased = await endpoints.lease(database, row.id, { owner, leaseMs, from: row.owner, staleMs });
    const settings = leased && this.#settingsOf(leased);
    if (leased === undefined || settings === undefined) return;
    if (row.owner !== null && row.owner !== owner)
      logger.warn({ endpointId: row.id }, 'stale lease of an event endpoint taken over');
    const lane = new DeliveryLane(this.#context, { owner, history: leased.history, leasedUntilMs }, settings);
    this.#lanes.set(row.id, lane);
    lane.start();
  }

  async #renew(): Promise<void> {
    const { database, endpoints, ownerLock } = this.#context;
    const leasedUntilMs = performance.now() + leaseMs - leaseMarginMs;
    const held = await endpoints.renew(database, ownerLock.owner, leaseMs);
    this.#renewAtMs = performance.now() + renewDelayMs;
    for (const [id, lane] of this.#lanes)
      if (held.has(id)) lane.renewed(leasedUntilMs);
      else this.#end(id, lane.abort());
  }

  #end(id: string, ended: Promise<void>): void {
    this.#lanes.delete(id);
    const ending = ended.finally(() => {
      this.#ending.delete(id);
      void this.#reloadSoon();
    });
    this.#ending.set(id, ending);
  }

  /** Undefined if the secret cannot be decrypted. */
  #settingsOf(endpoint: EventEndpoint): LaneEndpoint | undefined {
    const { logger } = this.#context;
    const { id, secret, replacedSecrets, updatedAt } = endpoint;
    const current = this.#secrets.open(secret, id);
    if (current === undefined) {
      if (this.#undecryptable.get(id) !== updatedAt.getTime())
        logger.error(
          { endpointId: id },
          'event endpoint stopped: no key of EVENT_SECRET_KEYS decrypts its secret',
        );
      this.#undecryptable.set(id, updatedAt.getTime());
      return undefined;
    }
    const replaced = replacedSecrets.flatMap((one) => this.#secrets.open(one.secret, id) ?? []);
    return { endpoint, secrets: [current, ...replaced] };
  }
}
