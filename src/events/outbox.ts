import { causeOfKind, currentCauseOf } from '../platform/cause.ts';
import type { Transaction } from '../platform/postgres.ts';
import type { WrittenRow } from '../platform/written-rows.ts';
import type { OutboxStore } from './outbox-store.ts';
import type { SubscriptionLinks } from './subscription-links.ts';
import { type Candidate, eventText, recordText, tellChange } from './tell-change.ts';
import type { Shown, ToldObject } from './told-object.ts';

/** Rows that are read and told together: enough for any batch, few enough that their JSON is a few megabytes. */
const rowsPerStep = 1_000;

interface OutboxParts {
  readonly store: OutboxStore;
  readonly objects: readonly ToldObject[];
  readonly links: SubscriptionLinks;
}

/** An object to look at: written by the transaction, or showing something of what was written. */
interface Touched {
  readonly kind: ToldObject;
  readonly id: string;
  readonly written: WrittenRow | undefined;
  /** Read already, or returned by the statement that wrote it. */
  readonly shown: Shown | undefined;
}

/**
 * Writes an event for every change of what the API shows, in the transaction of the change. The stores report every row
 * that they write, so that no other code has to know of events.
 */
export class Outbox {
  readonly #parts: OutboxParts;
  readonly #byTable: ReadonlyMap<string, ToldObject>;
  #onAppended: () => void = () => {};

  constructor(parts: OutboxParts) {
    this.#parts = parts;
    this.#byTable = new Map(parts.objects.map((object) => [object.table, object]));
  }

  /** Calls the listener after each commit of new events by this process. */
  onAppended(listener: () => void): void {
    this.#onAppended = listener;
  }

  /** Runs right before the commit of a transaction that wrote rows. */
  async write(tx: Transaction, rows: readonly WrittenRow[]): Promise<void> {
    const { store, links } = this.#parts;
    const locks = links.locksOf(rows);
    // From here on, no other transaction changes what these rows show of each other.
    if (locks.length > 0) store.lockLinks(tx, locks);
    const isLocked = locks.length > 0;
    const dependents = isLocked ? links.findDependents(tx, rows) : Promise.resolve([]);
    // If it fails, so does every later statement of the transaction.
    dependents.catch(() => {});
    const written = rows.flatMap((one) => this.#toTouched(one, isLocked));
    for (let start = 0; start < written.length; start += rowsPerStep)
      await this.#tell(tx, written.slice(start, start + rowsPerStep));
    const known = new Set(written.map(({ id }) => id));
    const others = (await dependents).filter(({ row }) => !known.has(row.id));
    const touched = others.flatMap(({ table, row }) => {
      const kind = this.#byTable.get(table);
      return kind === undefined ? [] : [{ kind, id: row.id, written: undefined, shown: kind.show(row) }];
    });
    await this.#tell(tx, touched);
  }

  #toTouched(written: WrittenRow, isLocked: boolean): readonly Touched[] {
    const kind = this.#byTable.get(written.table);
    if (kind === undefined) return [];
    const { row, isStored } = written;
    // A row that shows something of another is read again under the lock.
    const shown = isStored && !isLocked ? kind.show(row) : undefined;
    return [{ kind, id: row.id, written, shown }];
  }

  async #tell(tx: Transaction, touched: readonly Touched[]): Promise<void> {
    if (touched.length === 0) return;
    const { store } = this.#parts;
    const toAsk = touched.filter(({ written }) => written?.isFirst !== true).map(({ id }) => id);
    const [told, shown] = await Promise.all([
      toAsk.length === 0 ? [] : store.findTold(tx, toAsk),
      this.#read(tx, touched),
    ]);
    const toldById = new Map(told.map((one) => [one.id, one]));
    const events: string[] = [];
    const records: string[] = [];
    for (const { kind, id, written } of touched) {
      const present = shown.get(id);
      if (present === undefined) continue;
      const candidate: Candidate = {
        kind,
        shown: present,
        told: toldById.get(id),
        isNew: written?.isNew ?? false,
        before: written?.before,
        isUnwritten: written?.isUnwritten ?? false,
      };
      const data = JSON.stringify(present.view);
      const telling = tellChange(candidate, data);
      if (telling.outcome === 'record') records.push(recordText(candidate, data));
      if (telling.outcome === 'event')
        events.push(eventText(candidate, telling, data, currentCauseOf(present.ids) ?? unknownCause));
    }
    if (records.length > 0) store.record(tx, records);
    if (events.length === 0) return;
    store.append(tx, events);
    tx.afterCommit(() => this.#onAppended());
  }

  /** What the API shows of the objects now. A row that was removed again shows nothing. */
  async #read(tx: Transaction, touched: readonly Touched[]): Promise<ReadonlyMap<string, Shown>> {
    const known = touched.flatMap(({ shown }) => shown ?? []);
    const unread = touched.filter(({ shown }) => shown === undefined);
    const byKind = Map.groupBy(unread, ({ kind }) => kind);
    const reads = [...byKind].map(([kind, some]) =>
      kind.find(
        tx,
        some.map(({ id }) => id),
      ),
    );
    return new Map([...known, ...(await Promise.all(reads)).flat()].map((one) => [one.id, one]));
  }
}

/** Background work that nobody asked for. */
const unknownCause = causeOfKind('sweeper');
