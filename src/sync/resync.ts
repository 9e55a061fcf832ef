import type { Customer } from '../customers/customer.ts';
import type { CustomerService } from '../customers/customer-service.ts';
import type { LostCustomers } from '../customers/lost-customers.ts';
import { Failure, isOutageOfAll } from '../errors.ts';
import type { InvoiceService } from '../invoices/invoice-service.ts';
import type { Applied } from '../mirrors/fold.ts';
import { correctListTotals, type TotalCorrection } from '../mirrors/list-totals.ts';
import { noRevisions, untilSettled } from '../mirrors/refresh.ts';
import type { PaymentService } from '../payments/payment-service.ts';
import type { RefundService } from '../payments/refund-service.ts';
import type { PlanService } from '../plans/plan-service.ts';
import { isUuid } from '../platform/id.ts';
import type { Logger } from '../platform/logger.ts';
import type { Metrics } from '../platform/metrics.ts';
import type { Database, Transaction } from '../platform/postgres.ts';
import type { Pages, Processor } from '../processor/processor.ts';
import type { SubscriptionService } from '../subscriptions/subscription-service.ts';

interface ResyncParts {
  readonly database: Database;
  readonly processor: Processor;
  readonly customers: CustomerService;
  readonly lostCustomers: LostCustomers;
  readonly plans: PlanService;
  readonly payments: PaymentService;
  readonly refunds: RefundService;
  readonly subscriptions: SubscriptionService;
  readonly invoices: InvoiceService;
  readonly metrics: Metrics;
  readonly logger: Logger;
}

export interface ResyncProgress {
  readonly resource: string;
  readonly compared: number;
  /** How many rows we have of it: about as many as the processor will list. */
  readonly expected: number;
  readonly corrected: number;
}

/** An object that could not be compared, by the processor's id, and why. */
export interface Skipped {
  readonly resource: string;
  readonly id: string;
  readonly reason: string;
}

interface Run {
  readonly report: Report;
  readonly skipped: Skipped[];
}

/** Told after every page; the next one waits for it. */
type Report = (progress: ResyncProgress) => Promise<void> | void;

const onePage = { page: 1, limit: 1 };

/**
 * Compares mirrors with the processor's own objects, all of them or one customer's, corrects what differs and recovers what
 * is missing. No answer is for a row as it stands: what is the same stays, what differs or has no row is refreshed
 * one by one. The order matters: what others depend on comes first.
 */
export class Resync {
  readonly #parts: ResyncParts;

  constructor(parts: ResyncParts) {
    this.#parts = parts;
  }

  /** Returns the objects that could not be compared; all others have been. */
  async all(report: Report = () => {}): Promise<readonly Skipped[]> {
    const { processor, customers, plans } = this.#parts;
    const skipped: Skipped[] = [];
    const listed = new Set<string>();
    await this.#compare(
      'customer',
      processor.customers.list(),
      { report, skipped },
      {
        apply: (tx, facts) => {
          for (const { processorCustomerId } of facts) listed.add(processorCustomerId);
          return customers.apply(tx, facts, noRevisions);
        },
        refresh: (id) => customers.refresh(id),
        count: async () => (await customers.list(onePage)).total,
      },
    );
    // The processor lists no customer that was deleted: those that it left out are refreshed one by one.
    for await (const page of customers.listLive()) {
      for (const { processorCustomerId: id } of page.filter((row) => !listed.has(row.processorCustomerId)))
        await this.#refreshOne({ resource: 'customer', id, skipped }, () => customers.refresh(id));
    }
    await this.#compare(
      'plan',
      processor.plans.list(),
      { report, skipped },
      {
        apply: async (tx, facts) => {
          const products = await plans.applyProducts(
            tx,
            facts.map(({ product }) => product),
            noRevisions,
          );
          const prices = await plans.applyPrices(
            tx,
            facts.map(({ price }) => price),
            noRevisions,
          );
          const unsettled = facts.filter(
            ({ product, price }) =>
              products.unsettled.includes(product.processorProductId) ||
              prices.unsettled.includes(price.processorPriceId),
          );
          return {
            changed: [...products.changed, ...prices.changed],
            ignored: [],
            unsettled: unsettled.map(({ price }) => price.processorPriceId),
          };
        },
        refresh: (id) => plans.refresh(id),
        count: async () => (await plans.list(false)).length,
      },
    );
    await this.#compareMoney(undefined, { report, skipped });
    await this.#compareRefunds(processor.refunds.list(), { report, skipped });
    return skipped;
  }

  /** Counts the rows of every list, which takes a while with many millions of them. */
  async correctTotals(): Promise<readonly TotalCorrection[]> {
    const totals = await correctListTotals(this.#parts.database);
    for (const correction of totals) this.#parts.logger.warn(correction, 'list total corrected');
    return totals;
  }

  /** Returns the objects that could not be compared. */
  async ofCustomer(id: string, report: Report = () => {}): Promise<readonly Skipped[]> {
    const { database, customers, payments, refunds } = this.#parts;
    const skipped: Skipped[] = [];
    const known = isUuid(id) ? await customers.findAny(database, id) : undefined;
    const { processorCustomerId } = known ?? (await this.#recoverCustomer(id));
    if (known?.deletedAt === null)
      await this.#refreshOne({ resource: 'customer', id: processorCustomerId, skipped }, () =>
        customers.refresh(processorCustomerId),
      );
    await this.#compareMoney({ id, processorCustomerId }, { report, skipped });
    for (let page = 1; ; page += 1) {
      const { data } = await payments.list({ page, limit: 100 }, id);
      if (data.length === 0) return skipped;
      for (const { processorPaymentIntentId: intentId } of data)
        await this.#refreshOne({ resource: 'refund', id: intentId, skipped }, () =>
          refunds.refreshOfPayment(intentId),
        );
    }
  }

  async #recoverCustomer(id: string): Promise<Customer> {
    const recovered = await this.#parts.lostCustomers.recoverById(id);
    if (recovered === undefined) throw new Failure('not_found', 'No customer has this id. Check the id.');
    this.#note('customer', [recovered.processorCustomerId]);
    return recovered;
  }

  async #compareMoney(
    customer: { readonly id: string; readonly processorCustomerId: string } | undefined,
    run: Run,
  ): Promise<void> {
    const customerId = customer?.id;
    const filter = customer === undefined ? {} : { processorCustomerId: customer.processorCustomerId };
    const { processor, payments, subscriptions, invoices } = this.#parts;
    await this.#compare('payment', processor.payments.list(filter), run, {
      apply: (tx, facts) => payments.apply(tx, facts, noRevisions),
      refresh: (id) => payments.refresh(id),
      count: async () => (await payments.list(onePage, customerId)).total,
    });
    await this.#compare('subscription', processor.subscriptions.list(filter), run, {
      apply: (tx, facts) => subscriptions.apply(tx, facts, noRevisions),
      refresh: (id) => subscriptions.refresh(id),
      count: async () => (await subscriptions.list(onePage, customerId)).total,
    });
    await this.#compare('invoice', processor.invoices.list(filter), run, {
      apply: (tx, facts) => invoices.apply(tx, facts, noRevisions),
      refresh: (id) => invoices.refresh(id),
      count: async () => (await invoices.list(onePage, customerId)).total,
    });
  }

  async #compareRefunds(pages: ReturnType<Processor['refunds']['list']>, run: Run): Promise<void> {
    const { refunds } = this.#parts;
    await this.#compare('refund', pages, run, {
      apply: (tx, facts) => refunds.apply(tx, facts, noRevisions),
      refresh: (id) => refunds.refresh(id),
      count: () => refunds.count(),
    });
  }

  async #compare<Facts>(
    resource: string,
    pages: Pages<Facts>,
    { report, skipped }: Run,
    mirror: {
      readonly apply: (tx: Transaction, facts: readonly Facts[]) => Promise<Applied>;
      readonly refresh: (id: string) => Promise<Applied>;
      readonly count: () => Promise<number>;
    },
  ): Promise<void> {
    const { database } = this.#parts;
    const expected = await mirror.count();
    let [compared, corrected] = [0, 0];
    for await (const facts of pages) {
      const applied = await database.transaction((tx) => mirror.apply(tx, facts));
      this.#note(resource, applied.changed);
      corrected += applied.changed.length;
      for (const id of applied.unsettled)
        corrected += await this.#refreshOne({ resource, id, skipped }, () => mirror.refresh(id));
      compared += facts.length;
      await report({ resource, compared, expected, corrected });
    }
  }

  /** Refreshes until the row is settled; returns how many rows were corrected. One that fails is skipped, unless all would. */
  async #refreshOne(
    {
      resource,
      id,
      skipped,
    }: { readonly resource: string; readonly id: string; readonly skipped: Skipped[] },
    refresh: () => Promise<Applied>,
  ): Promise<number> {
    const changed: string[] = [];
    try {
      await untilSettled(async () => {
        const applied = await refresh();
        changed.push(...applied.changed);
        return applied;
      });
    } catch (error) {
      if (isOutageOfAll(error)) throw error;
      this.#parts.logger.warn({ err: error, resource, id }, 'mirror comparison failed');
      skipped.push({ resource, id, reason: error instanceof Error ? error.message : String(error) });
    }
    this.#note(resource, changed);
    return changed.length;
  }

  #note(resource: string, changed: readonly string[]): void {
    const { metrics, logger } = this.#parts;
    metrics.mirrorDrift.inc({ resource }, changed.length);
    if (changed.length > 0) logger.warn({ resource, ids: changed }, 'drifted mirrors corrected');
  }
}
