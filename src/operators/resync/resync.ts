import { notFound } from '#core/errors.ts';
import type { Customer } from '#core/model/customer.ts';
import type { Resource } from '#core/model/facts.ts';
import { runAs } from '#core/platform/cause.ts';
import { repeatCollisions } from '#core/platform/collisions.ts';
import { isUuid } from '#core/platform/id.ts';
import type { Platform } from '#core/platform/platform.ts';
import type { CountedRows } from '#engine/mirrors/list.ts';
import { correctListTotals, type TotalCorrection } from '#engine/mirrors/list-totals.ts';
import type { Mirror } from '#engine/mirrors/mirror.ts';
import type { MirroredList } from '#engine/mirrors/mirrored-list.ts';
import { noRevisions } from '#engine/mirrors/refresh.ts';
import type { ComparedList, ResyncScope, UnlistedObjects } from '#engine/sync/compared-list.ts';
import { refreshObject } from '#engine/sync/refresh-object.ts';
import type { LostCustomers } from '#features/customers/lost-customers.ts';

/** A list, and what is not in it. */
export interface ResyncedList extends Pick<ComparedList<never>, 'isOfCustomer' | 'remembersListed'> {
  readonly list: MirroredList<unknown>;
  count(customerId: string | undefined): Promise<number>;
  unlisted(scope: ResyncScope): AsyncIterable<UnlistedObjects>;
}

interface ResyncParts extends Pick<Platform, 'database' | 'logger' | 'metrics'> {
  /** An object comes after those that it depends on. */
  readonly lists: readonly ResyncedList[];
  readonly lostCustomers: LostCustomers;
  readonly customers: { findAny(id: string): Promise<Customer | undefined> };
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
    for (const one of this.#parts.lists) await this.#compare(one, run);
    return run.skipped;
  }

  async #ofCustomer(id: string, run: Run): Promise<readonly Skipped[]> {
    const known = isUuid(id) ? await this.#parts.customers.findAny(id) : undefined;
    const customer = known ?? (await this.#recoverCustomer(id));
    for (const one of this.#parts.lists) await this.#compare(one, run, customer);
    return run.skipped;
  }

  async #recoverCustomer(id: string): Promise<Customer> {
    const recovered = await this.#parts.lostCustomers.recoverById(id);
    if (recovered === undefined) throw notFound('customer');
    this.#reportDrift('customer', [recovered.processorCustomerId]);
    return recovered;
  }

  async #compare(one: ResyncedList, run: Run, customer?: Customer): Promise<void> {
    const listed = new Set<string>();
    if (customer === undefined || one.isOfCustomer) await this.#compareList(one, run, listed, customer);
    for await (const { mirror, keys } of one.unlisted({ customerId: customer?.id, listed }))
      for (const key of keys) await this.#refresh(mirror, key, run);
  }

  async #compareList(
    { list: { mirror, list }, count, remembersListed }: ResyncedList,
    run: Run,
    listed: Set<string>,
    customer: Customer | undefined,
  ): Promise<void> {
    const { database } = this.#parts;
    const { resource } = mirror;
    const expected = await count(customer?.id);
    let [compared, corrected] = [0, 0];
    const filter = customer && { processorCustomerId: customer.processorCustomerId };
    for await (const { items: facts } of list(filter ?? {})) {
      if (remembersListed) for (const one of facts) listed.add(mirror.keyOf(one));
      const apply = () => database.transaction((tx) => mirror.apply(tx, facts, noRevisions));
      const applied = await repeatCollisions(apply);
      this.#reportDrift(resource, applied.changed);
      corrected += applied.changed.length;
      for (const key of applied.unsettled) corrected += await this.#refresh(mirror, key, run);
      compared += facts.length;
      await run.report({ resource, compared, expected, corrected });
    }
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
