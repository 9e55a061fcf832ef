import { causeOfKind, currentCauseOf } from '../../platform/cause.ts';
import type { Transaction } from '../../platform/postgres.ts';
import type { WrittenRow } from '../../platform/written-rows.ts';
import { type Candidate, describeChange, eventText, recordText } from './describe-change.ts';
import type { ObjectKind, Shown } from './object-kind.ts';
import type { OutboxStore } from './outbox-store.ts';
import type { SubscriptionLinks } from './subscription-links.ts';

/** Rows that are handled together: enough for any batch, and their JSON is a few megabytes at most. */
const rowsPerStep = 1_000;

interface OutboxParts {
  readonly store: OutboxStore;
  readonly objects: readonly ObjectKind[];
  readonly links: SubscriptionLinks;
}

/** An object that the transaction wrote, or that shows a value of a written row. */
interface Affected {
  readonly kind: ObjectKind;
  readonly id: string;
  readonly written: WrittenRow | undefined;
  /** Undefined if it must be read first. */
  readonly shown: Shown | undefined;
}

/**
 * Writes an event for every visible change of an object in the API, in the transaction of the change. The stores report
 * every row that they write, so that no other code has to know about events.
 */
export class Outbox {
  readonly #parts: OutboxParts;
  readonly #byTable: ReadonlyMap<string, ObjectKind>;
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
    // If this read fails, every later statement of the transaction fails too, and that error is thrown.
    dependents.catch(() => {});
    const written = rows.flatMap((one) => this.#toAffected(one, isLocked));
    for (let start = 0; start < written.length; start += rowsPerStep)
      await this.#append(tx, written.slice(start, start + rowsPerStep));
    const known = new Set(written.map(({ id }) => id));
    const others = (await dependents).filter(({ row }) => !known.has(row.id));
    const affected = others.flatMap(({ table, row }) => {
      const kind = this.#byTable.get(table);
      return kind === undefined ? [] : [{ kind, id: row.id, written: undefined, shown: kind.show(row) }];
    });
    await this.#append(tx, affected);
  }

  #toAffected(written: WrittenRow, isLocked: boolean): readonly Affected[] {
    const kind = this.#byTable.get(written.table);
    if (kind === undefined) return [];
    const { row, isStored } = written;
    // A row that shows a value of another row is read again under the lock.
    const shown = isStored && !isLocked ? kind.show(row) : undefined;
    return [{ kind, id: row.id, written, shown }];
  }

  async #append(tx: Transaction, affected: readonly Affected[]): Promise<void> {
    if (affected.length === 0) return;
    const { store } = this.#parts;
    const maybeRecorded = affected.filter(({ written }) => written?.isFirst !== true).map(({ id }) => id);
    const [recorded, shown] = await Promise.all([
      maybeRecorded.length === 0 ? [] : store.findRecorded(tx, maybeRecorded),
      this.#read(tx, affected),
    ]);
    const recordedById = new Map(recorded.map((one) => [one.id, one]));
    const events: string[] = [];
    const following: string[] = [];
    const records: string[] = [];
    for (const { kind, id } of affected) {
      const current = shown.get(id);
      if (current === undefined) continue;
      const candidate: Candidate = { kind, shown: current, recorded: recordedById.get(id) };
      const data = JSON.stringify(current.view);
      const description = describeChange(candidate, data);
      if (description.outcome === 'record') records.push(recordText(candidate, data));
      if (description.outcome !== 'event') continue;
      const cause = currentCauseOf(current.ids) ?? unknownCause;
      const { followedBy } = description;
      events.push(eventText(candidate, description, data, cause));
      if (followedBy !== undefined) following.push(eventText(candidate, followedBy, data, cause));
    }
    if (records.length > 0) store.record(tx, records);
    if (events.length === 0) return;
    store.append(tx, events);
    // A separate statement, because one statement can record an object only once.
    if (following.length > 0) store.append(tx, following);
    tx.afterCommit(() => this.#onAppended());
  }

  /** What the API shows of the objects now. Rows that were removed again are left out. */
  async #read(tx: Transaction, affected: readonly Affected[]): Promise<ReadonlyMap<string, Shown>> {
    const known = affected.flatMap(({ shown }) => shown ?? []);
    const unread = affected.filter(({ shown }) => shown === undefined);
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

/** For work that runs without a cause of its own. */
const unknownCause = causeOfKind('sweeper');
