import { Failure } from '../errors.ts';

/** More ids in one statement save little, and its first caller waits for the last row. */
const batchMax = 100;
/** While one statement is at the database, the rows of another can be turned into answers. */
const underWayMax = 2;
/** About a second of reads; whoever comes past it had better come back. */
const waitingMax = 10_000;

interface Waiting<Row> {
  readonly promise: Promise<Row | undefined>;
  readonly resolve: (row: Row | undefined) => void;
  readonly reject: (error: unknown) => void;
}

/**
 * Reads rows by their id. Reads that come together, or while others are under way, share one statement: a round trip costs
 * far more than a row. A read always starts after it was asked for, so it sees everything committed by then.
 */
export class SharedReads<Row extends { readonly id: string }> {
  readonly #readAll: (ids: readonly string[]) => Promise<readonly Row[]>;
  readonly #waiting = new Map<string, Waiting<Row>>();
  #underWay = 0;
  #isScheduled = false;

  constructor(readAll: (ids: readonly string[]) => Promise<readonly Row[]>) {
    this.#readAll = readAll;
  }

  /** The row with this id, in the form in which rows have it. */
  read(id: string): Promise<Row | undefined> {
    const asked = this.#waiting.get(id);
    if (asked !== undefined) return asked.promise;
    if (this.#waiting.size >= waitingMax) {
      const detail = 'More is asked for than can be read; please try again.';
      return Promise.reject(new Failure('overloaded', detail, { retryAfterSeconds: 1 }));
    }
    const waiting = Promise.withResolvers<Row | undefined>();
    this.#waiting.set(id, waiting);
    this.#schedule();
    return waiting.promise;
  }

  /** At the end of this turn of the event loop, so that requests which arrived in it go together. */
  #schedule(): void {
    if (this.#isScheduled || this.#underWay >= underWayMax || this.#waiting.size === 0) return;
    this.#isScheduled = true;
    setImmediate(() => {
      this.#isScheduled = false;
      void this.#readBatch();
    });
  }

  async #readBatch(): Promise<void> {
    const batch = [...this.#waiting.entries().take(batchMax)];
    for (const [id] of batch) this.#waiting.delete(id);
    this.#underWay += 1;
    this.#schedule();
    try {
      const rows = new Map((await this.#readAll(batch.map(([id]) => id))).map((row) => [row.id, row]));
      for (const [id, { resolve }] of batch) resolve(rows.get(id));
    } catch (error) {
      for (const [, { reject }] of batch) reject(error);
    }
    this.#underWay -= 1;
    this.#schedule();
  }
}
