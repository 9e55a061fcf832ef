import { setTimeout } from 'node:timers/promises';
import { WakeableSleep } from '#core/platform/wakeable-sleep.ts';
import { type EventEndpoint, wantsType } from '../endpoints/endpoint.ts';
import { messageOf } from '../feed/stored-event.ts';
import { DeliveryQueue, newDelivery, type QueuedDelivery } from './delivery-queue.ts';
import { DeliveryReport } from './delivery-report.ts';
import type { WaitingDelivery, WaitingKind } from './delivery-store.ts';
import {
  type DeliveryContext,
  type EndedDelivery,
  type RecordedBatch,
  recordDeliveries,
} from './record-deliveries.ts';

/**
 * Concurrent deliveries to one endpoint. An attempt takes at most ten seconds, so even the slowest endpoint gets one
 * event a second. A fast one gets thousands.
 */
const parallelMax = 10;
/**
 * Concurrent resends. They take at most half of the deliveries, so that a million of them delay no new event and no
 * retry for long.
 */
const parallelResendsMax = 5;
/** Events in memory for one endpoint: 20 MB with fifty endpoints and events of 2 KB. */
const heldMax = 200;
/**
 * Objects that may wait at one endpoint. Each has one row and an attempt every few hours. At this limit the endpoint
 * reads no more events. It continues from its position later.
 */
const waitingMax = 10_000;
/** An attempt that takes longer than this no longer blocks the position: its event gets a row and waits. */
const slowAfterMs = 1_000;
/** How often the position is written if there is nothing else to write. */
const positionDelayMs = 5_000;
/** How long a stop waits for attempts in progress. */
const stopGraceMs = 1_000;
const failureDelayMs = 1_000;

/** The lease of an endpoint. A failover or a restore ends it: it is valid only in its own history of the database. */
interface Lease {
  readonly owner: number;
  readonly history: number;
  readonly leasedUntilMs: number;
}

/** An endpoint, and the secrets that sign its events. */
export interface LaneEndpoint {
  readonly endpoint: EventEndpoint;
  readonly secrets: readonly string[];
}

/**
 * Delivers events to one endpoint, while this process holds its lease. Sends the events of each object one after the
 * other, and those of different objects concurrently. One loop both reads and records, because the waiting events
 * decide what is read next.
 */
export class DeliveryLane {
  readonly #context: DeliveryContext;
  readonly #owner: number;
  readonly history: number;
  readonly #queue = new DeliveryQueue();
  readonly #ending = new AbortController();
  readonly #attempts = new Set<Promise<void>>();
  readonly #report: DeliveryReport;
  #settings: LaneEndpoint;
  readonly #ended: EndedDelivery[] = [];
  /** Waiting events whose rows could not be written. */
  readonly #unsaved: QueuedDelivery[] = [];
  #readPosition: number;
  #writtenPosition: number;
  #writtenAtMs = 0;
  #horizon = 0;
  /** When to look for waiting events again. */
  readonly #dueAtMs: Record<WaitingKind, number> = { retries: 0, resends: 0 };
  /** An upper bound on the number of waiting deliveries. Infinity before they are counted. */
  #waiting = Number.POSITIVE_INFINITY;
  #leasedUntilMs: number;
  #isStopping = false;
  #isWoken = false;
  readonly #rest = new WakeableSleep();
  #running: Promise<void> = Promise.resolve();
  #isOver = false;

  constructor(context: DeliveryContext, { owner, history, leasedUntilMs }: Lease, settings: LaneEndpoint) {
    this.#context = context;
    this.#report = new DeliveryReport(context);
    this.#owner = owner;
    this.history = history;
    this.#settings = settings;
    this.#readPosition = settings.endpoint.position;
    this.#writtenPosition = settings.endpoint.position;
    this.#leasedUntilMs = leasedUntilMs;
  }

  get endpoint(): EventEndpoint {
    return this.#settings.endpoint;
  }

  /** The lease was lost: another process may deliver already. */
  get isOver(): boolean {
    return this.#isOver;
  }

  /** The lane sends nothing more, for example because it turned the endpoint off. */
  get isStopping(): boolean {
    return this.#isStopping;
  }

  start(): void {
    this.#running = this.#run();
  }

  /** Settings can change at any time. If the position changes, the lane must end instead. */
  update(settings: LaneEndpoint): void {
    // A change can make waiting deliveries due.
    const isChanged = settings.endpoint.updatedAt > this.endpoint.updatedAt;
    const isResent = settings.endpoint.resendRevision !== this.endpoint.resendRevision;
    if (isChanged || isResent) Object.assign(this.#dueAtMs, { retries: 0, resends: 0 });
    this.#settings = settings;
  }

  /** The lease was renewed. */
  renewed(leasedUntilMs: number): void {
    this.#leasedUntilMs = leasedUntilMs;
  }

  /** Events up to this position can be read. */
  advanceTo(horizon: number): void {
    this.#horizon = horizon;
    this.#nudge();
  }

  /** Records what is done, stores rows for the rest, and releases the lease. */
  async stop(): Promise<void> {
    const { database, endpoints, logger } = this.#context;
    await this.#endLoop();
    await Promise.race([
      Promise.all(this.#attempts),
      setTimeout(stopGraceMs, undefined, { signal: this.#ending.signal }).catch(() => {}),
    ]);
    await this.abort();
    if (this.#isOver) return;
    this.#isOver = true;
    try {
      await this.#record(this.#queue.letAllWait());
      await endpoints.release(database, this.endpoint.id, this.#owner);
    } catch (error) {
      logger.warn({ err: error, endpointId: this.endpoint.id }, 'event deliveries not recorded at stop');
    }
  }

  /** Ends at once, and records nothing: another process may deliver already. */
  async abort(): Promise<void> {
    this.#ending.abort();
    await this.#endLoop();
    await Promise.all(this.#attempts);
  }

  async #endLoop(): Promise<void> {
    this.#isStopping = true;
    this.#nudge();
    await this.#running;
  }

  async #run(): Promise<void> {
    while (!this.#isStopping) {
      this.#isWoken = false;
      try {
        await this.#step();
      } catch (error) {
        const { logger } = this.#context;
        logger.warn(
          { err: error, endpointId: this.endpoint.id },
          'event deliveries interrupted; retry scheduled',
        );
        await setTimeout(failureDelayMs, undefined, { signal: this.#ending.signal }).catch(() => {});
        this.#isWoken = true;
      }
      if (!this.#isWoken && !this.#isStopping) await this.#rest.sleep();
    }
  }

  async #step(): Promise<void> {
    await this.#record(this.#queue.letSlowWait(performance.now() - slowAfterMs));
    if (this.#isOver) return;
    await this.#readDue('retries');
    await this.#readDue('resends');
    await this.#readEvents();
    this.#send();
  }

  async #record(newlyWaiting: readonly QueuedDelivery[]): Promise<void> {
    const ended = this.#ended.splice(0);
    const done = ended.map(({ delivery }) => delivery);
    const waiting = [...this.#unsaved.splice(0), ...newlyWaiting].filter(
      (delivery) => !done.includes(delivery),
    );
    const position = this.#queue.positionWith([...done, ...waiting], this.#readPosition);
    const isIdle = ended.length === 0 && waiting.length === 0;
    const isWritten = position === this.#writtenPosition;
    if (
      isIdle &&
      (isWritten || (!this.#isStopping && performance.now() < this.#writtenAtMs + positionDelayMs))
    )
      return;
    const progress = { owner: this.#owner, position, readPosition: this.#readPosition };
    const batch = { ...progress, ended, waiting, isEnding: this.#isStopping };
    let recorded: RecordedBatch | undefined;
    try {
      recorded = await recordDeliveries(this.#context, this.endpoint, batch);
    } catch (error) {
      this.#ended.unshift(...ended);
      this.#unsaved.push(...waiting);
      throw error;
    }
    if (recorded === undefined) return this.#end();
    this.#queue.recorded(done, waiting);
    this.#writtenPosition = position;
    this.#writtenAtMs = performance.now();
    this.#setDueIn('retries', recorded.dueInMs);
    this.#setDueIn('resends', recorded.resendDueInMs);
    this.#waiting += recorded.retried + waiting.length;
    this.#report.add(this.endpoint, recorded, ended);
    if (recorded.isTurnedOff) this.#isStopping = true;
  }

  /** Loads the due deliveries of one kind: retries or resends. */
  async #readDue(kind: WaitingKind): Promise<void> {
    const { database, deliveries } = this.#context;
    const [busy, busyMax] =
      kind === 'retries'
        ? [this.#queue.busyObjects, parallelMax]
        : [this.#queue.busyResends, parallelResendsMax];
    const room = busyMax - busy.length;
    if (room <= 0 || performance.now() < this.#dueAtMs[kind]) return;
    // `update` can make deliveries due while the statement runs. The statement may not see them.
    this.#dueAtMs[kind] = Number.POSITIVE_INFINITY;
    try {
      const waiting = await deliveries.findWaiting(database, kind, this.endpoint.id, busy, room + 1);
      this.#setDueIn(kind, this.#load(waiting, room, kind));
    } catch (error) {
      this.#dueAtMs[kind] = 0;
      throw error;
    }
  }

  /** Does not replace an earlier time. */
  #setDueIn(kind: WaitingKind, delayMs: number): void {
    this.#dueAtMs[kind] = Math.min(this.#dueAtMs[kind], performance.now() + delayMs);
  }

  /** Puts the due deliveries into the queue. Returns when the next one is due. Infinity if there is none. */
  #load(waiting: readonly WaitingDelivery[], room: number, kind: WaitingKind): number {
    const due = waiting.filter(({ dueInMs }) => dueInMs <= 0).slice(0, room);
    const isResend = kind === 'resends';
    for (const { event, isKept, ...rest } of due) {
      const delivery = { ...rest, event, isResend, hasRow: true, startedAtMs: undefined };
      if (!isKept) this.#ended.push({ delivery, outcome: null });
      else if (isResend || wantsType(this.endpoint, event.type)) this.#queue.addWaiting(delivery);
      else this.#ended.push({ delivery, outcome: null, isDropped: true });
    }
    if (this.#ended.length > 0) this.#isWoken = true;
    return waiting[due.length]?.dueInMs ?? Number.POSITIVE_INFINITY;
  }

  /** Reads events while there is room, and remembers how far it has read. */
  async #readEvents(): Promise<void> {
    const { database, deliveries } = this.#context;
    const room = heldMax - this.#queue.size;
    if (room <= 0 || this.#readPosition >= this.#horizon || (await this.#isFull())) return;
    const range = { after: this.#readPosition, upTo: this.#horizon, limit: room };
    const { events, position } = await deliveries.readEvents(database, this.endpoint, range);
    this.#readPosition = position;
    const now = new Date();
    for (const event of events) this.#queue.add(newDelivery(event, now));
    if (this.#readPosition < this.#horizon && this.#queue.size < heldMax) this.#isWoken = true;
  }

  async #isFull(): Promise<boolean> {
    const { database, deliveries } = this.#context;
    if (this.#waiting < waitingMax) return false;
    this.#waiting = await deliveries.countWaiting(database, this.endpoint.id, waitingMax);
    return this.#waiting >= waitingMax;
  }

  /** Starts as many attempts as the limit allows. A suspended process may have lost its lease without noticing. */
  #send(): void {
    while (
      this.#queue.inFlightCount < parallelMax &&
      !this.#isStopping &&
      performance.now() < this.#leasedUntilMs
    ) {
      const delivery = this.#queue.start(performance.now());
      if (delivery === undefined) return;
      const attempt: Promise<void> = this.#attempt(delivery).finally(() => this.#attempts.delete(attempt));
      this.#attempts.add(attempt);
    }
  }

  async #attempt(delivery: QueuedDelivery): Promise<void> {
    const { endpoint, secrets } = this.#settings;
    const { id, body } = messageOf(delivery.event);
    const span = this.#context.tracer?.start('deliver event', {
      kind: 'producer',
      parent: delivery.event.traceparent ?? undefined,
      attributes: {
        'till.event.id': id,
        'till.event.type': delivery.event.type,
        'till.endpoint.id': endpoint.id,
        'till.delivery.attempt': delivery.attempt + 1,
      },
    });
    const message = { url: endpoint.url, secrets, id, body, traceparent: span?.traceparent };
    const outcome = await this.#context.sender.send(message, this.#ending.signal);
    if (typeof outcome?.responseStatus === 'number')
      span?.set({ 'http.response.status_code': outcome.responseStatus });
    span?.end(outcome?.succeeded === true ? undefined : new Error());
    if (outcome === undefined) return this.#queue.putBack(delivery);
    this.#queue.end(delivery, outcome.succeeded);
    this.#ended.push({ delivery, outcome });
    this.#send();
    this.#nudge();
  }

  #end(): void {
    this.#isOver = true;
    this.#isStopping = true;
    this.#ending.abort();
  }

  #nudge(): void {
    this.#isWoken = true;
    this.#rest.wake();
  }
}
