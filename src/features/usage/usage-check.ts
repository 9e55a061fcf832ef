import type { Platform } from '#core/platform/platform.ts';
import { UsageCheckStore, type WrongCounter } from './usage-check-store.ts';

/** Few enough that a statement holds its locks for milliseconds, unless a customer has very many events. */
const customersPerBatch = 100;
const dayMs = 86_400_000;

interface UsageCheckResult {
  readonly customers: number;
  readonly wrong: readonly WrongCounter[];
}

/** Compares every counter with the sum of its events, as far as the events are kept. */
export class UsageCheck {
  readonly #context: Platform;
  readonly #store = new UsageCheckStore();
  readonly #usageRetentionDays: number;

  constructor(context: Platform, usageRetentionDays: number) {
    this.#context = context;
    this.#usageRetentionDays = usageRetentionDays;
  }

  /** `corrects`: sets wrong counters to the sum. Usage may be recorded at the same time. */
  async run(corrects: boolean, signal?: AbortSignal): Promise<UsageCheckResult> {
    const { database } = this.#context;
    const since = this.#keptSince();
    const wrong: WrongCounter[] = [];
    let customers = 0;
    let after: string | null = null;
    for (;;) {
      const ids: readonly string[] = await this.#store.listCustomers(database, {
        after,
        limit: customersPerBatch,
      });
      wrong.push(...(await this.#check(ids, since, corrects)));
      customers += ids.length;
      after = ids.at(-1) ?? null;
      if (ids.length < customersPerBatch || signal?.aborted) return { customers, wrong };
    }
  }

  async #check(ids: readonly string[], since: Date, corrects: boolean): Promise<readonly WrongCounter[]> {
    const { database } = this.#context;
    // One snapshot: an event and its counter are committed together.
    const found = await this.#store.findWrong(database, ids, since);
    if (found.length === 0 || !corrects) return found;
    return database.transaction(async (tx) => {
      await this.#store.lock(tx, ids);
      const wrong = await this.#store.findWrong(tx, ids, since);
      for (const one of wrong) await this.#store.correct(tx, one);
      return wrong;
    });
  }

  /** The first day that the next retention does not drop. Earlier ones may have dropped more. */
  #keptSince(): Date {
    const { clock } = this.#context;
    const keptMs = clock.now().getTime() - (this.#usageRetentionDays - 1) * dayMs;
    return new Date(keptMs - (keptMs % dayMs) + dayMs);
  }
}
