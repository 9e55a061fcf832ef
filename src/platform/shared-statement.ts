import { Failure } from '../errors.ts';
import { isOutage } from './postgres.ts';

/** More items in one statement save little, and delay its first caller. */
const batchMax = 200;
/** Of reads: while one is at the database, the rows of another can be turned into answers. */
const readsUnderWayMax = 2;
/** At some thousand items a second this is about a second of waiting; whoever comes past it had better come back. */
const waitingMax = 5_000;

interface Waiting<Item, Result> {
  readonly item: Item;
  readonly resolve: (result: Result) => void;
  readonly reject: (error: unknown) => void;
}

interface SharedStatementOptions<Item, Result> {
  /** One statement for all items; the results stand in the order of the items. */
  readonly run: (items: readonly Item[]) => Promise<readonly Result[]>;
  /** How long work waits for more to share its statement, where nobody is kept waiting by it. */
  readonly gatherMs?: number;
  /** One unless told: two would each have to commit half as much. */
  readonly underWayMax?: number;
  /** For work that must not be refused any more, and whose amount something else bounds. */
  readonly waitingMax?: number;
}

/**
 * Work for the database that many requests bring at once. What comes together, or while other work is under way, goes as one
 * statement: a round trip costs far more than a row, and a commit more than that. A statement always starts after its
 * work was handed in, so it sees everything committed by then. One bad item does not sink the others: what fails together
 * is tried one by one, unless the database itself is away.
 */
export class SharedStatement<Item, Result> {
  readonly #run: (items: readonly Item[]) => Promise<readonly Result[]>;
  readonly #gatherMs: number;
  readonly #underWayMax: number;
  readonly #waitingMax: number;
  readonly #waiting: Waiting<Item, Result>[] = [];
  #underWay = 0;
  #isScheduled = false;

  constructor(options: SharedStatementOptions<Item, Result>) {
    this.#run = options.run;
    this.#gatherMs = options.gatherMs ?? 0;
    this.#underWayMax = options.underWayMax ?? 1;
    this.#waitingMax = options.waitingMax ?? waitingMax;
  }

  add(item: Item): Promise<Result> {
    if (this.#waiting.length >= this.#waitingMax) {
      const detail = 'Too many requests are waiting for the database. Retry later.';
      return Promise.reject(new Failure('overloaded', detail, { retryAfterSeconds: 1 }));
    }
    const { promise, resolve, reject } = Promise.withResolvers<Result>();
    this.#waiting.push({ item, resolve, reject });
    this.#schedule();
    return promise;
  }

  /** At the end of this turn of the event loop, or when the time to gather is over: what arrived by then goes together. */
  #schedule(): void {
    if (this.#isScheduled || this.#underWay >= this.#underWayMax || this.#waiting.length === 0) return;
    this.#isScheduled = true;
    const begin = () => {
      this.#isScheduled = false;
      void this.#work();
    };
    if (this.#gatherMs > 0) setTimeout(begin, this.#gatherMs);
    else setImmediate(begin);
  }

  async #work(): Promise<void> {
    this.#underWay += 1;
    const batch = this.#waiting.splice(0, batchMax);
    this.#schedule();
    try {
      await this.#runTogether(batch);
    } catch (error) {
      if (batch.length === 1 || isOutage(error)) for (const { reject } of batch) reject(error);
      else await Promise.all(batch.map((one) => this.#runTogether([one]).catch(one.reject)));
    }
    this.#underWay -= 1;
    this.#schedule();
  }

  async #runTogether(batch: readonly Waiting<Item, Result>[]): Promise<void> {
    const results = await this.#run(batch.map(({ item }) => item));
    if (results.length !== batch.length) throw new Error('a shared statement lost a result');
    // Checked just above.
    for (const [index, { resolve }] of batch.entries()) resolve(results[index] as Result);
  }
}

/** Rows by their id, for whoever asks for one of them. */
export class SharedReads<Row extends { readonly id: string }> {
  readonly #statement: SharedStatement<string, Row | undefined>;

  constructor(find: (ids: readonly string[]) => Promise<readonly Row[]>) {
    this.#statement = new SharedStatement({
      run: async (ids) => {
        const rows = new Map((await find(ids)).map((row) => [row.id, row]));
        return ids.map((id) => rows.get(id));
      },
      underWayMax: readsUnderWayMax,
    });
  }

  /** The row with this id, in the form in which rows have it. */
  read(id: string): Promise<Row | undefined> {
    return this.#statement.add(id);
  }
}
