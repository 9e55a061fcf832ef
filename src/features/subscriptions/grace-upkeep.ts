import { runAs } from '#core/platform/cause.ts';
import type { ProcessorClock } from '#core/platform/clock.ts';
import type { Platform } from '#core/platform/platform.ts';
import type { Queryable, Transaction } from '#core/platform/postgres.ts';

/** Few enough that a transaction takes milliseconds and holds few locks. */
const objectsPerBatch = 200;
/** Twenty thousand per run: far more than expected. The limit ensures that every run ends. */
const dueBatchesMax = 100;

interface SubscriptionRow {
  readonly id: string;
}

/** Passes subscriptions to the outbox whose entitlement ends with time alone, without a write. */
export class GraceUpkeep {
  readonly #context: Pick<Platform, 'database'>;
  readonly #processorClock: ProcessorClock;
  readonly #graces: {
    listEndedGrace(db: Queryable, now: Date, limit: number): Promise<readonly string[]>;
  };
  readonly #subscriptions: {
    find(tx: Transaction, ids: readonly string[]): Promise<readonly SubscriptionRow[]>;
    listPastDueAfter(tx: Transaction, id: string | null, limit: number): Promise<readonly SubscriptionRow[]>;
  };
  #isGraceChecked = false;

  constructor(
    context: Pick<Platform, 'database'>,
    processorClock: ProcessorClock,
    graces: {
      listEndedGrace(db: Queryable, now: Date, limit: number): Promise<readonly string[]>;
    },
    subscriptions: {
      find(tx: Transaction, ids: readonly string[]): Promise<readonly SubscriptionRow[]>;
      listPastDueAfter(
        tx: Transaction,
        id: string | null,
        limit: number,
      ): Promise<readonly SubscriptionRow[]>;
    },
  ) {
    this.#context = context;
    this.#processorClock = processorClock;
    this.#graces = graces;
    this.#subscriptions = subscriptions;
  }

  /** Writes the events of subscriptions whose grace period has ended. */
  writeDue(signal?: AbortSignal): Promise<void> {
    return runAs('sweeper', () => this.#writeDue(signal));
  }

  async #writeDue(signal: AbortSignal | undefined): Promise<void> {
    const { database } = this.#context;
    const now = await this.#processorClock.read();
    if (!this.#isGraceChecked) await this.#checkGrace(signal);
    for (let batch = 0; batch < dueBatchesMax && !signal?.aborted; batch += 1) {
      const ids = await this.#graces.listEndedGrace(database, now, objectsPerBatch);
      if (ids.length > 0)
        await database.transaction(async (tx) => passOn(tx, await this.#subscriptions.find(tx, ids)));
      if (ids.length < objectsPerBatch) return;
    }
  }

  /** The setting of the grace period may have changed since the last start. */
  async #checkGrace(signal: AbortSignal | undefined): Promise<void> {
    const { database } = this.#context;
    let last: string | null = null;
    for (;;) {
      if (signal?.aborted) return;
      const rows: readonly SubscriptionRow[] = await database.transaction(async (tx) =>
        passOn(tx, await this.#subscriptions.listPastDueAfter(tx, last, objectsPerBatch)),
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
