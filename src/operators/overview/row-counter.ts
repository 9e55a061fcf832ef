import type { Queryable } from '#core/platform/postgres.ts';
import type { TimeZone } from '#core/platform/time-zone.ts';
import type { CountedKind, RecurringKind } from '#engine/overview/counted-kind.ts';
import { type CellSum, now } from './cells.ts';
import type { OverviewStore } from './overview-store.ts';
import { keyOf, type Subscriber, totalMetric } from './subscription-moves.ts';

/** About 20 ms of work. Between two pages, the process serves requests. */
const rowsPerPage = 1_000;

interface Count {
  readonly tx: Queryable;
  readonly sum: CellSum;
  readonly signal: AbortSignal | undefined;
  /** The amounts that events which are not counted yet add to those of subscribers. */
  readonly later: ReadonlyMap<string, bigint>;
  /** Whether the numbers are counted for the first time. */
  readonly isFirst: boolean;
}

/**
 * Counts the rows themselves, for numbers that no event has counted: a row adds what its event would add. The rows of a
 * table are read page by page, so that no statement takes long.
 */
export class RowCounter {
  readonly #kinds: readonly CountedKind[];
  readonly #store: OverviewStore;
  readonly #timeZone: TimeZone;

  constructor(kinds: readonly CountedKind[], store: OverviewStore, timeZone: TimeZone) {
    this.#kinds = kinds;
    this.#store = store;
    this.#timeZone = timeZone;
  }

  /** Adds up all rows, and corrects the amounts of subscribers. */
  async count(count: Count): Promise<void> {
    for (const kind of this.#kinds)
      if (kind.recurring === undefined) await this.#countRows(count, kind);
      else await this.#countRecurring(count, kind, kind.recurring);
  }

  async #countRows({ tx, sum, signal }: Count, kind: CountedKind): Promise<void> {
    for await (const { counted } of pagesOf(tx, kind, signal))
      for (const { object } of counted) sum.addObject(kind, object, this.#timeZone);
  }

  /** The objects of a customer follow each other, so that few customers are in memory at a time. */
  async #countRecurring(count: Count, kind: CountedKind, recurring: RecurringKind): Promise<void> {
    const { tx, sum, signal, isFirst } = count;
    const subscribers = new Map<string, Subscriber>();
    for await (const { counted, isMore } of pagesOf(tx, kind, signal)) {
      const rows = counted.map(({ row }) => row);
      const paid = isFirst ? await recurring.findPaid(tx, rows) : new Set();
      for (const { row, object } of counted) {
        sum.addObject(kind, object, this.#timeZone);
        addSubscriber(subscribers, recurring, object, paid.has(row));
      }
      // Further objects of the last customer may be on the next page.
      const last = isMore ? counted.at(-1) : undefined;
      const open = last && recurring.ownerOf(last.object).customerId;
      const complete = [...subscribers.values()].filter(({ customerId }) => customerId !== open);
      for (const one of complete) subscribers.delete(keyOf(one));
      await this.#putSubscribers(count, complete);
    }
    await this.#putSubscribers(count, [...subscribers.values()]);
  }

  async #putSubscribers({ tx, sum, later }: Count, complete: readonly Subscriber[]): Promise<void> {
    const stored = await this.#store.findSubscribers(tx, [...new Set(complete.map((one) => one.customerId))]);
    const none = stored.map((one): Subscriber => ({ ...one, amount: 0n, wasSubscriber: false }));
    const shown = new Map([...none, ...complete].map((one) => [keyOf(one), one]));
    const subscribers = [...shown].map(([key, one]): Subscriber => {
      const amount = one.amount - (later.get(key) ?? 0n);
      return { ...one, amount, wasSubscriber: amount > 0n || one.wasSubscriber };
    });
    await this.#store.putSubscribers(tx, subscribers);
    for (const { currency, amount } of subscribers)
      sum.add({ day: now, currency, metric: totalMetric, count: amount > 0n ? 1 : 0, amount });
  }
}

/** In every currency, because events that are not counted yet may have changed the amount. */
function addSubscriber(
  subscribers: Map<string, Subscriber>,
  kind: RecurringKind,
  object: unknown,
  hasPaid: boolean,
): void {
  const { customerId } = kind.ownerOf(object);
  const amounts = new Map(kind.monthlyAmountsOf(object));
  for (const currency of new Set(kind.currenciesOf(object))) {
    const key = keyOf({ customerId, currency });
    const before = subscribers.get(key);
    const amount = (before?.amount ?? 0n) + (amounts.get(currency) ?? 0n);
    const wasSubscriber = hasPaid || before?.wasSubscriber === true;
    subscribers.set(key, { customerId, currency, amount, wasSubscriber });
  }
}

/** The rows that count, with their objects. */
interface CountedPage {
  readonly counted: readonly { readonly row: unknown; readonly object: unknown }[];
  readonly isMore: boolean;
}

async function* pagesOf(
  tx: Queryable,
  kind: CountedKind,
  signal: AbortSignal | undefined,
): AsyncGenerator<CountedPage> {
  let last: unknown;
  for (let isMore = true; isMore; ) {
    signal?.throwIfAborted();
    const page = await kind.listAfter(tx, last, rowsPerPage);
    const shown = page.flatMap((row) => {
      const view = kind.viewOf(row);
      return view === undefined ? [] : [{ row, view }];
    });
    const objects = await kind.complete(
      tx,
      shown.map(({ view }) => view),
    );
    last = page.at(-1);
    isMore = page.length === rowsPerPage;
    const counted = shown.map(({ row }, index) => ({ row, object: objects[index] }));
    if (counted.length > 0) yield { counted, isMore };
  }
}
