import { setTimeout } from 'node:timers/promises';
import { runAs } from '../../platform/cause.ts';
import type { Clock } from '../../platform/clock.ts';
import type { Database, Transaction } from '../../platform/postgres.ts';
import type { EventObjectType } from '../event.ts';
import type { UpkeepStore } from './upkeep-store.ts';

/** Few enough that a transaction takes milliseconds and holds few locks. */
const objectsPerBatch = 200;
/** Twenty thousand per run: far more than expected, and every run ends. */
const dueBatchesMax = 100;
/** Between two batches of older objects: a million of them take a few minutes, and leave room for requests. */
const batchDelayMs = 10;

interface Row {
  readonly id: string;
}

/** Reads the rows of one kind of object. */
interface RowReader {
  lockAfter(tx: Transaction, id: string | null, limit: number): Promise<readonly Row[]>;
}

interface UpkeepParts {
  readonly database: Database;
  readonly store: UpkeepStore;
  readonly clock: Clock;
  readonly readers: Readonly<Record<EventObjectType, { readonly table: string; readonly store: RowReader }>>;
  readonly subscriptions: {
    find(tx: Transaction, ids: readonly string[]): Promise<readonly Row[]>;
    listPastDueAfter(tx: Transaction, id: string | null, limit: number): Promise<readonly Row[]>;
  };
}

/**
 * Passes objects to the outbox that no transaction writes: those that change by time alone, and those that existed before
 * events did. The outbox compares them with what is recorded of them.
 */
export class EventUpkeep {
  readonly #parts: UpkeepParts;
  #isGraceChecked = false;

  constructor(parts: UpkeepParts) {
    this.#parts = parts;
  }

  /** Writes the events of subscriptions whose grace period has ended. */
  writeDue(signal?: AbortSignal): Promise<void> {
    return runAs('sweeper', () => this.#writeDue(signal));
  }

  /** Records what the API shows of objects that existed before events did. */
  recordOlder(signal?: AbortSignal): Promise<void> {
    return runAs('sweeper', () => this.#recordOlder(signal));
  }

  async #writeDue(signal: AbortSignal | undefined): Promise<void> {
    const { database, store, subscriptions, clock } = this.#parts;
    if (!this.#isGraceChecked) await this.#checkGrace(signal);
    for (let batch = 0; batch < dueBatchesMax && !signal?.aborted; batch += 1) {
      const ids = await store.listDue(database, clock.now(), objectsPerBatch);
      if (ids.length > 0)
        await database.transaction(async (tx) =>
          passOn(tx, 'subscriptions', await subscriptions.find(tx, ids)),
        );
      if (ids.length < objectsPerBatch) return;
    }
  }

  /** The setting of the grace period may have changed since the last start. */
  async #checkGrace(signal: AbortSignal | undefined): Promise<void> {
    const { database, subscriptions } = this.#parts;
    let last: string | null = null;
    for (;;) {
      if (signal?.aborted) return;
      const rows: readonly Row[] = await database.transaction(async (tx) =>
        passOn(tx, 'subscriptions', await subscriptions.listPastDueAfter(tx, last, objectsPerBatch)),
      );
      if (rows.length < objectsPerBatch) break;
      last = rows.at(-1)?.id ?? null;
    }
    this.#isGraceChecked = true;
  }

  async #recordOlder(signal: AbortSignal | undefined): Promise<void> {
    while (!signal?.aborted && (await this.#recordNext()))
      await setTimeout(batchDelayMs, undefined, { signal }).catch(() => {});
  }

  /** False if nothing is left to do, or another process does it. */
  #recordNext(): Promise<boolean> {
    const { database, store, readers } = this.#parts;
    return database.transaction(async (tx) => {
      const baseline = await store.lockBaseline(tx);
      if (baseline === undefined) return false;
      const { table, store: reader } = readers[baseline.objectType];
      // A row that another transaction has locked is about to change, and is recorded then.
      const rows = passOn(tx, table, await reader.lockAfter(tx, baseline.lastId, objectsPerBatch));
      const lastId = rows.at(-1)?.id;
      if (lastId === undefined) await store.endBaseline(tx, baseline);
      else await store.moveBaseline(tx, { ...baseline, lastId });
      return true;
    });
  }
}

/** Passes rows to the outbox that were not written. */
function passOn<One extends Row>(tx: Transaction, table: string, rows: readonly One[]): readonly One[] {
  tx.written.add(
    table,
    rows.map((row) => ({ row, isUnwritten: true })),
  );
  return rows;
}
