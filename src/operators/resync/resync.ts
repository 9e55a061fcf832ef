import { notFound } from '#core/errors.ts';
import type { Customer } from '#core/model/customer.ts';
import type { Resource } from '#core/model/facts.ts';
import { runAs } from '#core/platform/cause.ts';
import { repeatCollisions } from '#core/platform/collisions.ts';
import { isUuid } from '#core/platform/id.ts';
import type { PlatformParts } from '#core/platform/parts.ts';
import type { CountedRows } from '#engine/mirrors/list.ts';
import { correctListTotals, type TotalCorrection } from '#engine/mirrors/list-totals.ts';
import type { Mirror } from '#engine/mirrors/mirror.ts';
import type { MirroredList } from '#engine/mirrors/mirrored-list.ts';
import { noRevisions } from '#engine/mirrors/refresh.ts';
import { refreshObject } from '#engine/sync/refresh-object.ts';
import type { CheckoutService } from '#features/checkouts/checkout-service.ts';
import type { CustomerService } from '#features/customers/customer-service.ts';
import type { LostCustomers } from '#features/customers/lost-customers.ts';
import type { InvoiceService } from '#features/invoices/invoice-service.ts';
import { mirroredLists } from '#features/mirrored-lists.ts';
import type { Mirrors } from '#features/mirrors.ts';
import type { PaymentService } from '#features/payments/payment-service.ts';
import type { RefundService } from '#features/payments/refund-service.ts';
import type { PlanService } from '#features/plans/plan-service.ts';
import type { SubscriptionService } from '#features/subscriptions/subscription-service.ts';
import type { Pages } from '#processor/port/pages.ts';
import type { Processor } from '#processor/port/processor.ts';

interface ResyncParts extends Pick<PlatformParts, 'database' | 'logger' | 'metrics'> {
  readonly processor: Processor;
  readonly mirrors: Mirrors;
  readonly lostCustomers: LostCustomers;
  readonly customers: CustomerService;
  readonly plans: PlanService;
  readonly payments: PaymentService;
  readonly refunds: RefundService;
  readonly subscriptions: SubscriptionService;
  readonly invoices: InvoiceService;
  readonly checkouts: CheckoutService;
  readonly countedLists: readonly CountedRows[];
}

export interface ResyncProgress {
  readonly resource: Resource;
  readonly compared: number;
  /** The number of rows: about as many objects as the processor will list. */
  readonly expected: number;
  readonly corrected: number;
}

/** An object that could not be compared. `id` is the processor's id. */
export interface Skipped {
  readonly resource: Resource;
  readonly id: string;
  readonly reason: string;
}

interface Run {
  readonly report: Report;
  readonly beforeRefresh: BeforeRefresh;
  readonly skipped: Skipped[];
}

/** Called after every page. The next page waits for it. */
type Report = (progress: ResyncProgress) => Promise<void> | void;

/** Called before the refresh of an object, which waits for it. There can be any number of them between two pages. */
type BeforeRefresh = () => Promise<void> | void;

const doNothing = () => {};

/**
 * Compares the mirrors with the processor's objects, of all customers or of one. Corrects rows that differ and recovers
 * lost rows. A row may have changed since the list was read, so every object that differs or has no row is refreshed.
 * The order matters: an object comes after those that it depends on.
 */
export class Resync {
  readonly #parts: ResyncParts;

  constructor(parts: ResyncParts) {
    this.#parts = parts;
  }

  /** Returns the objects that could not be compared. */
  all(report: Report = doNothing, beforeRefresh: BeforeRefresh = doNothing): Promise<readonly Skipped[]> {
    return runAs('resync', () => this.#all({ report, beforeRefresh, skipped: [] }));
  }

  /** Counts the rows of every list, which is slow for many millions of rows. */
  async correctTotals(): Promise<readonly TotalCorrection[]> {
    const totals = await correctListTotals(this.#parts.database, this.#parts.countedLists);
    for (const correction of totals) this.#parts.logger.warn(correction, 'list total corrected');
    return totals;
  }

  /** Returns the objects that could not be compared. */
  ofCustomer(
    id: string,
    report: Report = doNothing,
    beforeRefresh: BeforeRefresh = doNothing,
  ): Promise<readonly Skipped[]> {
    return runAs('resync', () => this.#ofCustomer(id, { report, beforeRefresh, skipped: [] }));
  }

  async #all(run: Run): Promise<readonly Skipped[]> {
    const { processor, mirrors, customers } = this.#parts;
    const { customer, ...others } = mirroredLists(processor, mirrors);
    const listed = new Set<string>();
    const list = () => visitEach(customer.list({}), (facts) => listed.add(mirrors.customers.keyOf(facts)));
    await this.#compare({ ...customer, list }, run);
    // The processor does not list deleted customers. Refresh every customer that is missing from the list.
    for await (const page of customers.listLive()) {
      for (const { processorCustomerId: key } of page)
        if (!listed.has(key)) await this.#refresh(mirrors.customers, key, run);
    }
    for (const one of Object.values<MirroredList<unknown>>(others)) await this.#compare(one, run);
    // The processor lists the open ones, so those that have ended since are missing.
    for await (const keys of this.#parts.checkouts.listOpen())
      for (const key of keys) await this.#refresh(mirrors.checkouts, key, run);
    return run.skipped;
  }

  async #ofCustomer(id: string, run: Run): Promise<readonly Skipped[]> {
    const { processor, mirrors, customers, payments } = this.#parts;
    const known = isUuid(id) ? await customers.findAny(id) : undefined;
    const { processorCustomerId } = known ?? (await this.#recoverCustomer(id));
    if (known?.deletedAt === null) await this.#refresh(mirrors.customers, processorCustomerId, run);
    const { subscription, invoice, payment, checkout } = mirroredLists(processor, mirrors);
    for (const one of [subscription, invoice, payment, checkout] as readonly MirroredList<unknown>[])
      await this.#compare(one, run, { id, processorCustomerId });
    for await (const keys of this.#parts.checkouts.listOpen(id))
      for (const key of keys) await this.#refresh(mirrors.checkouts, key, run);
    let cursor: string | undefined;
    do {
      const page = await payments.list({ cursor, limit: 100, filters: { customerId: id, source: 'all' } });
      for (const payment of page.data) {
        const key = mirrors.payments.keyOf(payment);
        await this.#refresh(mirrors.refunds.ofPayments, key, run);
        if (payment.dispute !== null) await this.#refresh(mirrors.disputes, key, run);
      }
      cursor = page.nextCursor ?? undefined;
    } while (cursor !== undefined);
    return run.skipped;
  }

  async #recoverCustomer(id: string): Promise<Customer> {
    const recovered = await this.#parts.lostCustomers.recoverById(id);
    if (recovered === undefined) throw notFound('customer');
    this.#reportDrift('customer', [recovered.processorCustomerId]);
    return recovered;
  }

  async #compare<Facts>(
    { mirror, list }: MirroredList<Facts>,
    run: Run,
    customer?: Pick<Customer, 'id' | 'processorCustomerId'>,
  ): Promise<void> {
    const { database } = this.#parts;
    const { resource } = mirror;
    const expected = await this.#countRows(resource, customer?.id);
    let [compared, corrected] = [0, 0];
    const filter = customer && { processorCustomerId: customer.processorCustomerId };
    for await (const { items: facts } of list(filter ?? {})) {
      const apply = () => database.transaction((tx) => mirror.apply(tx, facts, noRevisions));
      const applied = await repeatCollisions(apply);
      this.#reportDrift(resource, applied.changed);
      corrected += applied.changed.length;
      for (const key of applied.unsettled) corrected += await this.#refresh(mirror, key, run);
      compared += facts.length;
      await run.report({ resource, compared, expected, corrected });
    }
  }

  async #countRows(resource: Resource, customerId: string | undefined): Promise<number> {
    const { customers, plans, payments, refunds, subscriptions, invoices, checkouts, mirrors } = this.#parts;
    const onePage = { limit: 1, filters: { customerId, source: 'all' as const } };
    const counts: Readonly<Record<Resource, () => Promise<number>>> = {
      customer: async () => (await customers.list({ limit: 1, filters: {} })).total,
      plan: async () => (await plans.list(false)).length,
      subscription: async () => (await subscriptions.list(onePage)).total,
      invoice: async () => (await invoices.list(onePage)).total,
      payment: async () => (await payments.list(onePage)).total,
      refund: () => refunds.count(),
      dispute: () => mirrors.disputes.count(),
      checkout: async () =>
        (await checkouts.list({ limit: 1, filters: { customerId, status: 'open' } })).total,
    };
    return counts[resource]();
  }

  /** Returns the number of changes. Skips an object whose refresh fails, unless every refresh would fail. */
  async #refresh(mirror: Mirror<never>, key: string, { beforeRefresh, skipped }: Run): Promise<number> {
    const { resource } = mirror;
    await beforeRefresh();
    const { changed, failure } = await refreshObject(mirror, key, this.#parts.logger);
    if (failure !== null) skipped.push({ resource, id: key, reason: failure });
    this.#reportDrift(resource, changed);
    return changed.length;
  }

  #reportDrift(resource: Resource, changed: readonly string[]): void {
    const { metrics, logger } = this.#parts;
    metrics.mirrorDrift.inc({ resource }, changed.length);
    if (changed.length > 0) logger.warn({ resource, ids: changed }, 'drifted mirrors corrected');
  }
}

/** Passes the pages on, and calls `visit` for each item. */
async function* visitEach<Item>(pages: Pages<Item>, visit: (item: Item) => void): Pages<Item> {
  for await (const page of pages) {
    for (const item of page.items) visit(item);
    yield page;
  }
}
