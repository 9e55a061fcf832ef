import cluster from 'node:cluster';
import { Failure } from '../errors.ts';
import { runWithCause } from './cause.ts';
import { isOutage } from './postgres.ts';
import { currentSpan, endAfter, runInSpan, type Span } from './tracing.ts';

/** More items in one statement save little, and delay its first caller. */
const batchMax = 200;
/**
 * For reads: while one statement is at the database, the rows of another are turned into responses. With several
 * processes, those of the others keep the database busy, so one statement at a time is enough and serves more callers.
 */
const readsRunningMax = cluster.isWorker ? 1 : 2;
/** At a few thousand items a second this is about a second of waiting; further callers should retry. */
const waitingMax = 5_000;

interface Waiting<Item, Result> {
  readonly item: Item;
  readonly resolve: (result: Result) => void;
  readonly reject: (error: unknown) => void;
  /** The step of the caller's trace that waits, if the caller is traced. */
  readonly span: Span | undefined;
}

interface SharedStatementOptions<Item, Result> {
  /** Runs one statement for all items, and returns the results in the order of the items. */
  readonly run: (items: readonly Item[]) => Promise<readonly Result[]>;
  /** How long to wait for more items to share a statement, for work that no caller waits for. */
  readonly gatherMs?: number;
  /** One by default: with two, each would commit half as much. */
  readonly runningMax?: number;
  /** For work that can no longer be refused, and whose amount is bounded elsewhere. */
  readonly waitingMax?: number;
}

/**
 * Combines database work of concurrent requests. Items that arrive together, or while another statement runs, share one
 * statement: a round trip costs far more than a row, and a commit even more. A statement always starts after its items
 * were added, so it sees everything committed by then. One bad item does not fail the others: when a shared statement
 * fails, each item is retried alone, unless the database is unreachable. A statement has no cause: an item that needs
 * its own carries it.
 */
export class SharedStatement<Item, Result> {
  readonly #run: (items: readonly Item[]) => Promise<readonly Result[]>;
  readonly #gatherMs: number;
  readonly #runningMax: number;
  readonly #waitingMax: number;
  readonly #waiting: Waiting<Item, Result>[] = [];
  #running = 0;
  #isScheduled = false;

  constructor(options: SharedStatementOptions<Item, Result>) {
    this.#run = options.run;
    this.#gatherMs = options.gatherMs ?? 0;
    this.#runningMax = options.runningMax ?? 1;
    this.#waitingMax = options.waitingMax ?? waitingMax;
  }

  add(item: Item): Promise<Result> {
    if (this.#waiting.length >= this.#waitingMax) {
      const detail = 'Too many requests are waiting for the database. Retry later.';
      return Promise.reject(new Failure('overloaded', detail, { retryAfterSeconds: 1 }));
    }
    const { promise, resolve, reject } = Promise.withResolvers<Result>();
    const span = currentSpan()?.start('shared statement');
    this.#waiting.push({ item, resolve, reject, span });
    this.#schedule();
    return span === undefined ? promise : endAfter(span, () => promise);
  }

  /** Starts at the end of this turn of the event loop, or after `gatherMs`, with all items that arrived by then. */
  #schedule(): void {
    if (this.#isScheduled || this.#running >= this.#runningMax || this.#waiting.length === 0) return;
    this.#isScheduled = true;
    const begin = () => {
      this.#isScheduled = false;
      // The statement serves several requests, and must not be attributed to the first of them.
      runWithCause(undefined, () => void this.#work());
    };
    if (this.#gatherMs > 0) setTimeout(begin, this.#gatherMs);
    else setImmediate(begin);
  }

  async #work(): Promise<void> {
    this.#running += 1;
    const batch = this.#waiting.splice(0, batchMax);
    this.#schedule();
    try {
      await this.#runTogether(batch);
    } catch (error) {
      if (batch.length === 1 || isOutage(error)) for (const { reject } of batch) reject(error);
      else await Promise.all(batch.map((one) => this.#runTogether([one]).catch(one.reject)));
    }
    this.#running -= 1;
    this.#schedule();
  }

  async #runTogether(batch: readonly Waiting<Item, Result>[]): Promise<void> {
    const items = batch.map(({ item }) => item);
    const results = await runTraced(batch, () => this.#run(items));
    if (results.length !== batch.length) throw new Error('a shared statement lost a result');
    // The length was checked above.
    for (const [index, { resolve }] of batch.entries()) resolve(results[index] as Result);
  }
}

/**
 * A statement of one caller belongs to the caller's trace. One of several callers has a trace of its own, and all of
 * them refer to each other.
 */
function runTraced<Result>(
  batch: readonly Pick<Waiting<unknown, unknown>, 'span'>[],
  run: () => Promise<Result>,
): Promise<Result> {
  const waiting = batch.flatMap(({ span }) => span ?? []);
  const [first] = waiting;
  if (first === undefined || batch.length === 1) return runInSpan(first, run);
  const shared = first.startTrace('statement of several requests', waiting);
  for (const span of waiting) {
    span.set({ 'till.batch.size': batch.length });
    if (shared !== undefined) span.link(shared.traceparent);
  }
  shared?.set({ 'till.batch.size': batch.length });
  return shared === undefined ? runInSpan(undefined, run) : endAfter(shared, run);
}

/** Reads rows by id, sharing statements between callers. */
export class SharedReads<Row extends { readonly id: string }> {
  readonly #statement: SharedStatement<string, Row | undefined>;

  constructor(find: (ids: readonly string[]) => Promise<readonly Row[]>) {
    this.#statement = new SharedStatement({
      run: async (ids) => {
        const rows = new Map((await find(ids)).map((row) => [row.id, row]));
        return ids.map((id) => rows.get(id));
      },
      runningMax: readsRunningMax,
    });
  }

  /** The row with this id, which must be written the way the database returns it. */
  read(id: string): Promise<Row | undefined> {
    return this.#statement.add(id);
  }
}
