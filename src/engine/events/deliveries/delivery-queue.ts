import { newId } from '#core/platform/id.ts';
import type { StoredEvent } from '../feed/stored-event.ts';

/** An event in memory, on its way to an endpoint. */
export interface QueuedDelivery {
  readonly id: string;
  readonly createdAt: Date;
  readonly event: StoredEvent;
  /** The number of attempts before this one. */
  readonly attempt: number;
  /** The retry period has ended, so a failure is final. */
  readonly isLast: boolean;
  /** It has a row in the table of waiting deliveries, or will get one. Later events of its object wait behind it. */
  hasRow: boolean;
  /** It is sent again on request, outside the order of its object: it waits for no event, and no event waits for it. */
  readonly isResend: boolean;
  startedAtMs: number | undefined;
}

/** A delivery of an event that was not sent yet. */
export function newDelivery(event: StoredEvent, now: Date): QueuedDelivery {
  const [attempt, isLast, hasRow, isResend, startedAtMs] = [0, false, false, false, undefined];
  return { id: newId(now), createdAt: now, event, attempt, isLast, hasRow, isResend, startedAtMs };
}

/** Deliveries with the same key are sent one after the other. */
function orderKeyOf({ id, event, isResend }: QueuedDelivery): string {
  return isResend ? id : event.objectId;
}

/**
 * The events in memory for one endpoint. It decides what may be sent now: one event of each object at a time, in order.
 * It also knows how far the position may move: never past an event that is not recorded, unless it waits behind a
 * recorded one.
 */
export class DeliveryQueue {
  /**
   * The deliveries of each object, in order. The first one is ready or in flight. A resend counts as its own object.
   */
  readonly #byObject = new Map<string, QueuedDelivery[]>();
  readonly #ready: QueuedDelivery[] = [];
  readonly #inFlight = new Set<QueuedDelivery>();
  /** The positions of unrecorded events, in order. Events that were read from their rows are not included. */
  readonly #open = new Set<number>();
  /** Objects whose rows are in memory. */
  readonly #busy = new Set<string>();
  /** The ids of resends whose rows are in memory. */
  readonly #resends = new Set<string>();
  /** Unrecorded failures, by object. Later events of the object will wait behind the row of the failure. */
  readonly #failed = new Map<string, QueuedDelivery>();

  /** The number of events in memory. A sent event counts until it is recorded. */
  get size(): number {
    return this.#open.size + this.#busy.size + this.#resends.size;
  }

  get inFlightCount(): number {
    return this.#inFlight.size;
  }

  get busyObjects(): readonly string[] {
    return [...this.#busy];
  }

  get busyResends(): readonly string[] {
    return [...this.#resends];
  }

  /** Adds an event that was read. Call it in the order of positions. */
  add(delivery: QueuedDelivery): void {
    const { objectId, position } = delivery.event;
    if (this.#failed.has(objectId)) return;
    this.#open.add(position);
    this.#enqueue(delivery);
  }

  /** Adds an event that was read from its row. */
  addWaiting(delivery: QueuedDelivery): void {
    (delivery.isResend ? this.#resends : this.#busy).add(orderKeyOf(delivery));
    this.#enqueue(delivery);
  }

  /** The next event to send. Undefined if no event may be sent now. */
  start(nowMs: number): QueuedDelivery | undefined {
    const delivery = this.#ready.shift();
    if (delivery === undefined) return undefined;
    delivery.startedAtMs = nowMs;
    this.#inFlight.add(delivery);
    return delivery;
  }

  /** An attempt has ended. After a success, the next event of the object may be sent. */
  end(delivery: QueuedDelivery, succeeded: boolean): void {
    const key = orderKeyOf(delivery);
    this.#inFlight.delete(delivery);
    const queue = this.#byObject.get(key);
    if (queue?.[0] !== delivery) return;
    queue.shift();
    if (!succeeded && !delivery.hasRow) {
      this.#failed.set(key, delivery);
      this.#forget(queue.splice(0));
    }
    const [next] = queue;
    if (next === undefined) this.#byObject.delete(key);
    else this.#ready.push(next);
  }

  /** An attempt was aborted. The event can be sent again. */
  putBack(delivery: QueuedDelivery): void {
    this.#inFlight.delete(delivery);
    delivery.startedAtMs = undefined;
  }

  /**
   * The events that have been in flight since before `sinceMs` and block the position. From now on they wait, with
   * rows.
   */
  letSlowWait(sinceMs: number): readonly QueuedDelivery[] {
    const slow = [...this.#inFlight].filter(
      ({ startedAtMs, hasRow }) => !hasRow && (startedAtMs ?? sinceMs) < sinceMs,
    );
    for (const delivery of slow) this.#giveRow(delivery);
    return slow;
  }

  /**
   * The first unrecorded event of each object. From now on they wait, with rows, and the queue keeps no other events.
   */
  letAllWait(): readonly QueuedDelivery[] {
    const firsts = [...this.#byObject.values()].flatMap(([first]) => first ?? []);
    const waiting = firsts.filter(({ hasRow }) => !hasRow);
    for (const delivery of waiting) this.#giveRow(delivery);
    this.#ready.length = 0;
    return waiting;
  }

  /** The position that can be written together with these deliveries. */
  positionWith(recorded: readonly QueuedDelivery[], readPosition: number): number {
    // The success of a resend does not mean that the same event was delivered in its order.
    const inOrder = recorded.filter(({ isResend }) => !isResend);
    const positions = new Set(inOrder.map(({ event }) => event.position));
    for (const position of this.#open) if (!positions.has(position)) return position - 1;
    return readPosition;
  }

  /** Marks as recorded: attempts that have ended, and events that wait from now on. */
  recorded(ended: readonly QueuedDelivery[], waiting: readonly QueuedDelivery[]): void {
    for (const { id, event, isResend } of [...ended, ...waiting])
      if (isResend) this.#resends.delete(id);
      else this.#open.delete(event.position);
    for (const delivery of ended) {
      if (delivery.isResend) continue;
      const { objectId } = delivery.event;
      // An earlier event of the object may be recorded while the failure of a later one is not.
      if (this.#failed.get(objectId) === delivery) this.#failed.delete(objectId);
      if (delivery.hasRow) this.#busy.delete(objectId);
    }
  }

  #enqueue(delivery: QueuedDelivery): void {
    const key = orderKeyOf(delivery);
    const queue = this.#byObject.get(key);
    if (queue !== undefined) {
      queue.push(delivery);
      return;
    }
    this.#byObject.set(key, [delivery]);
    this.#ready.push(delivery);
  }

  #giveRow(delivery: QueuedDelivery): void {
    const { objectId } = delivery.event;
    delivery.hasRow = true;
    this.#busy.add(objectId);
    this.#forget(this.#byObject.get(objectId)?.splice(1) ?? []);
  }

  /** Forgets events that wait behind the row of an earlier event. They are read again later. */
  #forget(followers: readonly QueuedDelivery[]): void {
    for (const { event } of followers) this.#open.delete(event.position);
  }
}
