import { chargeDueAt, chargeFallsDue } from '../payments/charge-life.ts';
import { disputeDueAt, disputeFallsDue } from '../payments/dispute.ts';
import { refundDueAt, settleRefund } from '../payments/refund.ts';
import type { Changes } from '../state/changes.ts';
import { MinHeap } from '../state/min-heap.ts';
import type { Store } from '../state/store.ts';
import { invoiceDueTimes, invoiceFallsDue } from './invoice-life.ts';
import { subscriptionDueTimes, subscriptionFallsDue } from './subscription-life.ts';

/** The kinds of objects that change over time. */
const kinds = ['subscription', 'invoice', 'refund', 'charge', 'dispute'] as const;

interface DueItem {
  readonly kind: (typeof kinds)[number];
  readonly id: string;
}

/** Timers cannot exceed 24.8 days, and the clock jumps after the machine sleeps, so check at least this often. */
const timerMsMax = 60 * 60 * 1_000;
/** After this many items, the journal is written and other requests are served. */
const batchItems = 200;

/**
 * Scheduled work: renewals, trial ends, retries, expiries. Due times follow from the objects' state, so the schedule is
 * not stored. An entry that no longer matches its object's state is skipped.
 */
export class Due {
  readonly #store: Store;
  readonly #baseUrl: () => string;
  readonly #heap = new MinHeap<DueItem>();
  /** The entries in the heap, so that an object that changes often is not scheduled twice for the same time. */
  readonly #scheduled = new Set<string>();
  readonly #onProblem: (fields: object, message: string) => void;
  #timer: NodeJS.Timeout | null = null;
  #running: Promise<void> | null = null;
  #closed = false;

  constructor(store: Store, baseUrl: () => string, onProblem: (fields: object, message: string) => void) {
    this.#store = store;
    this.#baseUrl = baseUrl;
    this.#onProblem = onProblem;
    store.onChanges((changes) => this.#note(changes));
  }

  /** Schedules all objects. An earlier process has completed everything up to `doneUntil`. */
  start(doneUntil: number): void {
    for (const { id } of this.#store.subscriptions.values())
      this.#push({ kind: 'subscription', id }, doneUntil);
    for (const { id } of this.#store.invoices.values()) this.#push({ kind: 'invoice', id }, 0);
    for (const { id } of this.#store.refunds.values()) this.#push({ kind: 'refund', id }, 0);
    for (const { id } of this.#store.charges.values()) this.#push({ kind: 'charge', id }, 0);
    for (const { id } of this.#store.disputes.values()) this.#push({ kind: 'dispute', id }, 0);
    this.#setTimer();
  }

  /** Moves the clock. Resolves when everything due by then is done, each item at its own time. */
  async advanceTo(seconds: number): Promise<void> {
    while (this.#running !== null) await this.#running;
    this.#running = this.#run(seconds).finally(() => {
      this.#store.clock.release();
      this.#running = null;
    });
    await this.#running;
    if (seconds > this.#store.now()) {
      this.#store.clock.runOnFrom(seconds);
      this.#store.changeSettings({});
    }
    await this.#store.written();
    this.#setTimer();
  }

  reset(): void {
    this.#heap.clear();
    this.#scheduled.clear();
  }

  async close(): Promise<void> {
    this.#closed = true;
    if (this.#timer !== null) clearTimeout(this.#timer);
    await this.#running;
  }

  async #run(until: number): Promise<void> {
    for (let done = 1; (this.#heap.firstAt ?? Number.POSITIVE_INFINITY) <= until && !this.#closed; done++) {
      const next = this.#pop();
      if (next === undefined || !this.#timesOf(next.item).includes(next.at)) continue;
      this.#store.clock.holdAt(next.at);
      this.#store.transact(null, () => this.#happen(next.item, next.at));
      if (done % batchItems === 0) {
        await this.#store.written();
        await new Promise((resolve) => setImmediate(resolve));
      }
    }
  }

  #happen({ kind, id }: DueItem, at: number): void {
    const store = this.#store;
    if (kind === 'invoice') {
      const invoice = store.invoices.get(id);
      if (invoice !== undefined) invoiceFallsDue(store, invoice, this.#baseUrl());
    } else if (kind === 'refund') {
      const refund = store.refunds.get(id);
      if (refund !== undefined) settleRefund(store, refund);
    } else if (kind === 'charge') {
      const charge = store.charges.get(id);
      if (charge !== undefined) chargeFallsDue(store, charge);
    } else if (kind === 'dispute') {
      const dispute = store.disputes.get(id);
      if (dispute !== undefined) disputeFallsDue(store, dispute);
    } else {
      const subscription = store.subscriptions.get(id);
      if (subscription !== undefined) subscriptionFallsDue(store, subscription, at, this.#baseUrl());
    }
  }

  #note(changes: Changes): void {
    const before = this.#heap.firstAt;
    for (const { value } of changes.puts) {
      const kind = kinds.find((known) => known === value.object);
      if (kind !== undefined) this.#push({ kind, id: value.id }, this.#store.now());
    }
    if (this.#heap.firstAt !== before && this.#running === null) this.#setTimer();
  }

  #push(item: DueItem, doneUntil: number): void {
    for (const at of this.#timesOf(item, doneUntil)) {
      const key = `${item.id} ${at}`;
      if (this.#scheduled.has(key)) continue;
      this.#scheduled.add(key);
      this.#heap.push(at, item);
    }
  }

  #pop(): { readonly at: number; readonly item: DueItem } | undefined {
    const next = this.#heap.pop();
    if (next !== undefined) this.#scheduled.delete(`${next.item.id} ${next.at}`);
    return next;
  }

  #timesOf({ kind, id }: DueItem, doneUntil = 0): number[] {
    if (kind === 'subscription') {
      const subscription = this.#store.subscriptions.get(id);
      return subscription === undefined ? [] : subscriptionDueTimes(subscription, doneUntil);
    }
    if (kind === 'invoice') {
      const invoice = this.#store.invoices.get(id);
      return invoice === undefined ? [] : invoiceDueTimes(this.#store, invoice);
    }
    const at = this.#timeOf(kind, id);
    return at === null ? [] : [at];
  }

  #timeOf(kind: 'refund' | 'charge' | 'dispute', id: string): number | null {
    const { refunds, charges, disputes } = this.#store;
    const refund = kind === 'refund' ? refunds.get(id) : undefined;
    if (refund !== undefined) return refundDueAt(this.#store, refund);
    const charge = kind === 'charge' ? charges.get(id) : undefined;
    if (charge !== undefined) return chargeDueAt(charge);
    const dispute = kind === 'dispute' ? disputes.get(id) : undefined;
    return dispute === undefined ? null : disputeDueAt(dispute);
  }

  #setTimer(): void {
    if (this.#timer !== null) clearTimeout(this.#timer);
    const at = this.#heap.firstAt;
    if (at === undefined || this.#closed) return;
    const waitMs = Math.min(timerMsMax, Math.max(0, (at - this.#store.now()) * 1_000));
    this.#timer = setTimeout(() => {
      this.advanceTo(this.#store.now()).catch((error: unknown) =>
        this.#onProblem({ error }, 'scheduled work failed'),
      );
    }, waitMs);
  }
}
