import { runAs } from '#core/platform/cause.ts';
import type { ProcessorClock } from '#core/platform/clock.ts';
import type { PlatformParts } from '#core/platform/parts.ts';
import type { Queryable, Transaction } from '#core/platform/postgres.ts';

/** Few enough that a transaction takes milliseconds and holds few locks. */
const objectsPerBatch = 200;
/** Twenty thousand per run: far more than expected. The limit ensures that every run ends. */
const dueBatchesMax = 100;

interface SubscriptionRow {
  readonly id: string;
}

interface UpkeepParts extends Pick<PlatformParts, 'database'> {
  readonly processorClock: ProcessorClock;
  readonly graces: {
    listEndedGrace(db: Queryable, now: Date, limit: number): Promise<readonly string[]>;
  };
  readonly subscriptions: {
    find(tx: Transaction, ids: readonly string[]): Promise<readonly SubscriptionRow[]>;
    listPastDueAfter(tx: Transaction, id: string | null, limit: number): Promise<readonly SubscriptionRow[]>;
  };
}

/** Passes subscriptions to the outbox whose entitlement ends with time alone, without a write. */
export class GraceUpkeep {
  readonly #parts: UpkeepParts;
  #isGraceChecked = false;

  constructor(parts: UpkeepParts) {
    this.#parts = parts;
  }

  /** Writes the events of subscriptions whose grace period has ended. */
  writeDue(signal?: AbortSignal): Promise<void> {
    return runAs('sweeper', () => this.#writeDue(signal));
  }

  async #writeDue(signal: AbortSignal | undefined): Promise<void> {
    const { database, graces, subscriptions, processorClock } = this.#parts;
    const now = await processorClock.read();
    if (!this.#isGraceChecked) await this.#checkGrace(signal);
    for (let batch = 0; batch < dueBatchesMax && !signal?.aborted; batch += 1) {
      const ids = await graces.listEndedGrace(database, now, objectsPerBatch);
      if (ids.length > 0)
        await database.transaction(async (tx) => passOn(tx, await subscriptions.find(tx, ids)));
      if (ids.length < objectsPerBatch) return;
    }
  }

  /** The setting of the grace period may have changed since the last start. */
  async #checkGrace(signal: AbortSignal | undefined): Promise<void> {
    const { database, subscriptions } = this.#parts;
    let last: string | null = null;
    for (;;) {
      if (signal?.aborted) return;
      const rows: readonly SubscriptionRow[] = await database.transaction(async (tx) =>
        passOn(tx, await subscriptions.listPastDueAfter(tx, last, objectsPerBatch)),
      );
      if (rows.length < objectsPerBatch) break;
      last = rows.at(-1)?.id ?? null;
    }
    this.#isGraceChecked = true;
  }
}

function passOn(tx: Transaction, rows: readonly SubscriptionRow[]): readonly SubscriptionRow[] {
  tx.written.addUnchanged('subscriptions', rows);
  return rows;
}
