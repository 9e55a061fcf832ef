import type { Customer } from '../customers/customer.ts';
import type { CustomerService } from '../customers/customer-service.ts';
import type { LostCustomers } from '../customers/lost-customers.ts';
import { Failure } from '../errors.ts';
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

  async all(report: Report = () => {}): Promise<{ readonly totals: readonly TotalCorrection[] }> {
    const { database, processor, customers, plans, logger } = this.#parts;
    const listed = new Set<string>();
    await this.#compare('customer', processor.customers.list(), report, {
      apply: (tx, facts) => {
        for (const { processorCustomerId } of facts) listed.add(processorCustomerId);
        return customers.apply(tx, facts, noRevisions);
      },
      refresh: (id) => customers.refresh(id),
      count: async () => (await customers.list(onePage)).total,
    });
    // The processor lists no customer that was deleted: those that it left out are refreshed one by one.
    for await (const page of customers.listLive()) {
      for (const { processorCustomerId: id } of page.filter((row) => !listed.has(row.processorCustomerId)))
        this.#note('customer', await this.#refresh(() => customers.refresh(id)));
    }
    await this.#compare('plan', processor.plans.list(), report, {
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
    });
    await this.#compareMoney(undefined, report);
    await this.#compareRefunds(processor.refunds.list(), report);
    const totals = await correctListTotals(database);
    for (const correction of totals) logger.warn(correction, 'list total corrected');
    return { totals };
  }

  async ofCustomer(id: string, report: Report = () => {}): Promise<void> {
    const { database, customers, payments, refunds } = this.#parts;
    const known = isUuid(id) ? await customers.findAny(database, id) : undefined;
    const { processorCustomerId } = known ?? (await this.#recoverCustomer(id));
    if (known?.deletedAt === null)
      this.#note('customer', await this.#refresh(() => customers.refresh(processorCustomerId)));
    await this.#compareMoney({ id, processorCustomerId }, report);
    for (let page = 1; ; page += 1) {
      const { data } = await payments.list({ page, limit: 100 }, id);
      if (data.length === 0) break;
      for (const { processorPaymentIntentId } of data) {
        this.#note('refund', await this.#refresh(() => refunds.refreshOfPayment(processorPaymentIntentId)));
      }
    }
  }

  async #recoverCustomer(id: string): Promise<Customer> {
    const recovered = await this.#parts.lostCustomers.recoverById(id);
    if (recovered === undefined) throw new Failure('not_found', 'No customer has this id.');
    this.#note('customer', [recovered.processorCustomerId]);
    return recovered;
  }

  async #compareMoney(
    customer: { readonly id: string; readonly processorCustomerId: string } | undefined,
    report: Report,
  ): Promise<void> {
    const customerId = customer?.id;
    const filter = customer === undefined ? {} : { processorCustomerId: customer.processorCustomerId };
    const { processor, payments, subscriptions, invoices } = this.#parts;
    await this.#compare('payment', processor.payments.list(filter), report, {
      apply: (tx, facts) => payments.apply(tx, facts, noRevisions),
      refresh: (id) => payments.refresh(id),
      count: async () => (await payments.list(onePage, customerId)).total,
    });
    await this.#compare('subscription', processor.subscriptions.list(filter), report, {
      apply: (tx, facts) => subscriptions.apply(tx, facts, noRevisions),
      refresh: (id) => subscriptions.refresh(id),
      count: async () => (await subscriptions.list(onePage, customerId)).total,
    });
    await this.#compare('invoice', processor.invoices.list(filter), report, {
      apply: (tx, facts) => invoices.apply(tx, facts, noRevisions),
      refresh: (id) => invoices.refresh(id),
      count: async () => (await invoices.list(onePage, customerId)).total,
    });
  }

  async #compareRefunds(pages: ReturnType<Processor['refunds']['list']>, report: Report): Promise<void> {
    const { refunds } = this.#parts;
    await this.#compare('refund', pages, report, {
      apply: (tx, facts) => refunds.apply(tx, facts, noRevisions),
      refresh: (id) => refunds.refresh(id),
      count: () => refunds.count(),
    });
  }

  async #compare<Facts>(
    resource: string,
    pages: Pages<Facts>,
    report: Report,
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
      const changed = [...applied.changed];
      for (const id of applied.unsettled) changed.push(...(await this.#refresh(() => mirror.refresh(id))));
      compared += facts.length;
      corrected += changed.length;
      this.#note(resource, changed);
      await report({ resource, compared, expected, corrected });
    }
  }

  /** Refreshes until the row is settled; returns what was corrected. */
  async #refresh(refresh: () => Promise<Applied>): Promise<readonly string[]> {
    const changed: string[] = [];
    await untilSettled(async () => {
      const applied = await refresh();
      changed.push(...applied.changed);
      return applied;
    });
    return changed;
  }

  #note(resource: string, changed: readonly string[]): void {
    const { metrics, logger } = this.#parts;
    metrics.mirrorDrift.inc({ resource }, changed.length);
    if (changed.length > 0) logger.warn({ resource, ids: changed }, 'mirrors had drifted and were corrected');
  }
}
