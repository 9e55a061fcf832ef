import type { Payment } from '#core/model/payment.ts';
import type { Refund } from '#core/model/refund.ts';
import type { Subscription } from '#core/model/subscription.ts';
import type { Queryable } from '#core/platform/postgres.ts';
import type { TimeZone } from '#core/platform/time-zone.ts';
import { paymentView } from '#features/payments/payment-fields.ts';
import { refundView } from '#features/payments/refund-fields.ts';
import { subscriptionView } from '#features/subscriptions/subscription-fields.ts';
import { type CellSum, findPrices, now, type PlanReader, priced } from './cells.ts';
import type { CountedSubscription } from './contributions.ts';
import type { OverviewStore } from './overview-store.ts';
import { keyOf, monthlyAmountsOf, type Subscriber, totalMetric } from './subscription-moves.ts';

/** About 20 ms of work. Between two pages, the process serves requests. */
const rowsPerPage = 1_000;

interface RowReader<Row> {
  /** Rows in the order of their ids, without values of other rows. */
  listAfter(db: Queryable, afterId: string | null, limit: number): Promise<readonly Row[]>;
}

export interface RowReaders {
  readonly payments: RowReader<Payment>;
  readonly refunds: RowReader<Refund>;
  readonly subscriptions: {
    /** Ordered by customer and id. */
    listByCustomer(
      db: Queryable,
      after: Pick<Subscription, 'customerId' | 'id'> | undefined,
      limit: number,
    ): Promise<readonly Subscription[]>;
  };
  readonly invoices: {
    /** Which of these subscriptions have a paid invoice over more than zero, by the processor's ids. */
    findPaidSubscriptions(db: Queryable, keys: readonly string[]): Promise<readonly string[]>;
  };
  readonly plans: PlanReader;
}

interface CountParts {
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
  readonly #rows: RowReaders;
  readonly #store: OverviewStore;
  readonly #timeZone: TimeZone;

  constructor(rows: RowReaders, store: OverviewStore, timeZone: TimeZone) {
    this.#rows = rows;
    this.#store = store;
    this.#timeZone = timeZone;
  }

  /** Adds up all rows, and corrects the amounts of subscribers. */
  async count({ tx, sum, signal, later, isFirst }: CountParts): Promise<void> {
    const { payments, refunds } = this.#rows;
    const readPayments = (last: Payment | undefined) => payments.listAfter(tx, last?.id ?? null, rowsPerPage);
    for await (const page of pagesOf(readPayments, signal))
      for (const row of page) sum.addObject({ type: 'payment', view: paymentView(row) }, this.#timeZone);
    const readRefunds = (last: Refund | undefined) => refunds.listAfter(tx, last?.id ?? null, rowsPerPage);
    for await (const page of pagesOf(readRefunds, signal))
      for (const row of page) {
        // A reservation is not a refund yet.
        if (row.processorRefundId === null) continue;
        sum.addObject({ type: 'refund', view: refundView(row) }, this.#timeZone);
      }
    await this.#countSubscriptions({ tx, sum, signal, later, isFirst });
  }

  /** The subscriptions of a customer follow each other, so that few customers are in memory at a time. */
  async #countSubscriptions({ tx, sum, signal, later, isFirst }: CountParts): Promise<void> {
    const { subscriptions, plans } = this.#rows;
    const read = (last: Subscription | undefined) => subscriptions.listByCustomer(tx, last, rowsPerPage);
    const counted = new Map<string, Subscriber>();
    for await (const page of pagesOf(read, signal)) {
      const drafts = page.map(
        (row) => ({ type: 'subscription', view: subscriptionView(row, false) }) as const,
      );
      const prices = await findPrices(tx, plans, drafts);
      const paid = isFirst ? await this.#findPaid(tx, page) : new Set();
      for (const [index, draft] of drafts.entries()) {
        // A subscription has its plans.
        const object = priced(draft, prices) as CountedSubscription;
        sum.addObject(object, this.#timeZone);
        addSubscriber(counted, object, paid.has(page[index]?.processorSubscriptionId));
      }
      // Further subscriptions of the last customer may be on the next page.
      const last = page.length === rowsPerPage ? page.at(-1)?.customerId : undefined;
      const complete = [...counted.values()].filter(({ customerId }) => customerId !== last);
      for (const one of complete) counted.delete(keyOf(one));
      await this.#putSubscribers({ tx, sum, later }, complete);
    }
    await this.#putSubscribers({ tx, sum, later }, [...counted.values()]);
  }

  /** The subscriptions that are no longer revenue, and whose customer has paid for them. */
  async #findPaid(tx: Queryable, page: readonly Subscription[]): Promise<ReadonlySet<unknown>> {
    const ended = page.filter(({ status }) => status === 'unpaid' || status === 'canceled');
    const keys = ended.map((row) => row.processorSubscriptionId);
    return new Set(await this.#rows.invoices.findPaidSubscriptions(tx, keys));
  }

  async #putSubscribers(
    { tx, sum, later }: Pick<CountParts, 'tx' | 'sum' | 'later'>,
    complete: readonly Subscriber[],
  ): Promise<void> {
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

/** In every currency of its plans, because events that are not counted yet may have changed the amount. */
function addSubscriber(
  counted: Map<string, Subscriber>,
  object: CountedSubscription,
  hasPaid: boolean,
): void {
  const { customerId } = object.view;
  const amounts = new Map(monthlyAmountsOf(object));
  for (const currency of new Set([object.plan, ...object.addOnPlans].map((plan) => plan.currency))) {
    const key = keyOf({ customerId, currency });
    const before = counted.get(key);
    const amount = (before?.amount ?? 0n) + (amounts.get(currency) ?? 0n);
    counted.set(key, {
      customerId,
      currency,
      amount,
      wasSubscriber: hasPaid || before?.wasSubscriber === true,
    });
  }
}

/** `read` returns the rows after a row, or the first ones. */
async function* pagesOf<Row>(
  read: (last: Row | undefined) => Promise<readonly Row[]>,
  signal: AbortSignal | undefined,
): AsyncGenerator<readonly Row[]> {
  let last: Row | undefined;
  for (let isMore = true; isMore; ) {
    signal?.throwIfAborted();
    const page = await read(last);
    if (page.length > 0) yield page;
    last = page.at(-1);
    isMore = page.length === rowsPerPage;
  }
}
