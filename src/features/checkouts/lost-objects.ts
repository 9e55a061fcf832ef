import { runAs } from '#core/platform/cause.ts';
import { repeatCollisions } from '#core/platform/collisions.ts';
import type { Mirror, MirrorContext } from '#engine/mirrors/mirror.ts';
import { correct, noRevisions } from '#engine/mirrors/refresh.ts';
import { refreshObject } from '#engine/sync/refresh-object.ts';
import type { Pages } from '#processor/port/pages.ts';
import type { CustomerService } from '../customers/customer-service.ts';
import type { LostCommits } from '../subscriptions/reserve-group.ts';
import type { SubscriptionMirror } from '../subscriptions/subscription-mirror.ts';
import type { CheckoutMirror } from './checkout-mirror.ts';

/** A process forgets all of them beyond this number, and asks again. Recovery usually passes long before. */
const customersMax = 10_000;

/**
 * Recovers the objects that take a group and whose rows a failover or a restore has lost: open checkouts and live
 * subscriptions that Till created. Checkouts come first: one that is completed meanwhile is then found as a
 * subscription.
 */
export class LostObjects implements LostCommits {
  readonly #context: MirrorContext;
  readonly #mirrors: { readonly checkouts: CheckoutMirror; readonly subscriptions: SubscriptionMirror };
  readonly #customers: CustomerService;
  /**
   * The history in which each customer's objects were recovered. Later ones get rows in the database of this history.
   */
  readonly #histories = new Map<string, number>();

  constructor(
    context: MirrorContext,
    mirrors: { readonly checkouts: CheckoutMirror; readonly subscriptions: SubscriptionMirror },
    customers: CustomerService,
  ) {
    this.#context = context;
    this.#mirrors = mirrors;
    this.#customers = customers;
  }

  areRecovered(customerId: string, history: number): boolean {
    return this.#histories.get(customerId) === history;
  }

  /**
   * Recovers those of a customer. Fails if one cannot be read, because the customer may still be able to pay for it.
   */
  async recoverOf(customerId: string, history: number): Promise<void> {
    const { processorCustomerId } = await this.#customers.read(customerId);
    try {
      await runAs('recovery', () => this.#recoverOf(processorCustomerId));
    } catch (error) {
      throw await this.#customers.explainRefusal(error, customerId);
    }
    if (this.#histories.size >= customersMax) this.#histories.clear();
    this.#histories.set(customerId, history);
  }

  /**
   * Recovers those that were created since. Skips an object that cannot be read. Waits for `pace` between its calls.
   */
  async recoverSince(createdSince: Date, pace: () => Promise<void>): Promise<void> {
    const { processor, logger } = this.#context;
    const refreshWith = async (mirror: Mirror<never>, key: string): Promise<readonly string[]> => {
      await pace();
      return (await refreshObject(mirror, key, logger)).changed;
    };
    await this.#apply(this.#mirrors.checkouts, processor.checkouts.list({ createdSince }), refreshWith);
    // An earlier run may have died after it inserted the row.
    for await (const key of this.#mirrors.checkouts.listWithoutGroup())
      await refreshWith(this.#mirrors.checkouts, key);
    await pace();
    const live = processor.subscriptions.list({ createdSince, isOpen: true });
    await this.#apply(this.#mirrors.subscriptions, live, refreshWith);
    await pace();
  }

  async #recoverOf(processorCustomerId: string): Promise<void> {
    const { processor } = this.#context;
    const refresh = async (mirror: Mirror<never>, key: string): Promise<readonly string[]> => {
      await repeatCollisions(() => correct(mirror, key));
      return [];
    };
    // Also those with a row: recovery may have inserted it, and not yet expired the page.
    for await (const { items } of processor.checkouts.list({ processorCustomerId }))
      for (const { localId, processorCheckoutSessionId: key } of items)
        if (localId !== null) await refresh(this.#mirrors.checkouts, key);
    const live = processor.subscriptions.list({ processorCustomerId, isOpen: true });
    await this.#apply(this.#mirrors.subscriptions, live, refresh);
  }

  /** Applies the pages of a list, and refreshes the objects that have no row or differ from it. */
  async #apply<Facts>(
    mirror: Mirror<Facts>,
    pages: Pages<NoInfer<Facts>>,
    refresh: (mirror: Mirror<never>, key: string) => Promise<readonly string[]>,
  ): Promise<void> {
    const { database, logger, metrics } = this.#context;
    const { resource } = mirror;
    for await (const { items } of pages) {
      const apply = () => database.transaction((tx) => mirror.apply(tx, items, noRevisions));
      const applied = await repeatCollisions(apply);
      const changed = [...applied.changed];
      for (const key of applied.unsettled) changed.push(...(await refresh(mirror, key)));
      metrics.mirrorDrift.inc({ resource }, changed.length);
      if (changed.length > 0) logger.warn({ resource, ids: changed }, 'lost objects recovered');
    }
  }
}
