import { applyFacts } from '../mirrors/apply-facts.ts';
import type { Applied, Folding, Source } from '../mirrors/fold.ts';
import type { Mirror } from '../mirrors/mirror.ts';
import { ignoredAll, nothingApplied, revisionsOf, unknownToProcessor } from '../mirrors/refresh.ts';
import type { Clock } from '../platform/clock.ts';
import { idTime, isOurId } from '../platform/id.ts';
import type { Database, Queryable, Transaction } from '../platform/postgres.ts';
import type { Processor } from '../processor/processor.ts';
import {
  type Plan,
  type PlanFacts,
  type PriceFacts,
  type ProductFacts,
  takePlanFacts,
  takePriceFacts,
  takeProductFacts,
} from './plan.ts';
import type { PlanStore } from './plan-store.ts';

interface PlanMirrorParts {
  readonly database: Database;
  readonly store: PlanStore;
  readonly processor: Processor;
  readonly clock: Clock;
}

/** A plan is a product and a price at the processor. Its key is the id of the price. */
export class PlanMirror implements Mirror<PlanFacts> {
  readonly resource = 'plan';
  /** An event contains either the product or the price of a plan. */
  readonly products: Mirror<ProductFacts>;
  readonly prices: Mirror<PriceFacts>;
  readonly #parts: PlanMirrorParts;

  constructor(parts: PlanMirrorParts) {
    const { store, clock } = parts;
    this.#parts = parts;
    this.products = {
      resource: 'plan',
      keyOf: productKeyOf,
      apply: (tx, facts, source) =>
        applyHalf<ProductFacts>(facts, source, {
          keyOf: productKeyOf,
          lock: (keys) => store.lockByProductIds(tx, keys),
          take: (plan, next, origin) => takeProductFacts(plan, next, origin, clock.now()),
          update: (plans) => store.update(tx, plans),
        }),
      refresh: (key) => this.#refreshByProduct(key),
    };
    this.prices = {
      resource: 'plan',
      keyOf: priceKeyOf,
      apply: (tx, facts, source) =>
        applyHalf<PriceFacts>(facts, source, {
          keyOf: priceKeyOf,
          lock: (keys) => store.lockByKeys(tx, keys),
          take: (plan, next, origin) => takePriceFacts(plan, next, origin, clock.now()),
          update: (plans) => store.update(tx, plans),
        }),
      refresh: (key) => this.refresh(key),
    };
  }

  keyOf({ price }: PlanFacts): string {
    return price.processorPriceId;
  }

  /** Does not create lost plans. Their refresh does, if the price can be a plan. */
  async apply(tx: Transaction, facts: readonly PlanFacts[], source: Source): Promise<Applied> {
    const { store, clock } = this.#parts;
    const now = clock.now();
    const { applied } = await applyFacts<Plan, PlanFacts>({
      facts,
      source,
      keyOf: (item) => ('price' in item ? this.keyOf(item) : item.processorPriceId),
      lock: (keys) => store.lockByKeys(tx, keys),
      insert: async (unknown) => lostAmong(unknown, ({ price }) => price.localId, this.keyOf),
      take: (plan, next, origin) => takePlanFacts(plan, next, origin, now),
      update: (plans) => store.update(tx, plans),
    });
    return applied;
  }

  async refresh(key: string): Promise<Applied> {
    const { database, store, processor } = this.#parts;
    const [row] = await store.findByKeys(database, [key]);
    const facts = await processor.plans.read(key);
    if (row === undefined) {
      const isOurs = facts !== null && (await this.#recoverFrom(facts));
      return isOurs ? { ...nothingApplied, changed: [key] } : ignoredAll(key);
    }
    if (facts === null) return unknownToProcessor;
    return database.transaction((tx) => this.apply(tx, [facts], revisionsOf(key, row)));
  }

  /**
   * Ensures that the price of a subscription has a plan, for example after the restore of an older backup. Returns
   * false if the price is not a Till plan.
   */
  async recover(processorPriceId: string): Promise<boolean> {
    const { database, store, processor } = this.#parts;
    if ((await store.findByKeys(database, [processorPriceId])).length > 0) return true;
    const facts = await processor.plans.read(processorPriceId);
    return facts !== null && this.#recoverFrom(facts);
  }

  /** The plans of these prices, by price id. */
  async find(db: Queryable, processorPriceIds: readonly string[]): Promise<ReadonlyMap<string, Plan>> {
    const plans = await this.#parts.store.findByKeys(db, processorPriceIds);
    return new Map(plans.map((plan) => [plan.processorPriceId, plan]));
  }

  /** Locks all rows of a batch that has products and prices, which are applied one after the other. */
  async lock(
    tx: Transaction,
    products: readonly ProductFacts[],
    prices: readonly PriceFacts[],
  ): Promise<void> {
    await this.#parts.store.lock(tx, products.map(productKeyOf), prices.map(priceKeyOf));
  }

  async #recoverFrom(facts: PlanFacts): Promise<boolean> {
    const { database, store, clock } = this.#parts;
    const { localId, processorPriceId } = facts.price;
    const plan = isOurId(localId) ? toPlan(localId, facts, clock.now()) : undefined;
    if (plan === undefined) return false;
    await store.insert(database, [plan]);
    return (await store.findByKeys(database, [processorPriceId])).length > 0;
  }

  async #refreshByProduct(processorProductId: string): Promise<Applied> {
    const { database, store, processor } = this.#parts;
    const [row] = await store.findByProductIds(database, [processorProductId]);
    if (row !== undefined) return this.refresh(row.processorPriceId);
    for await (const page of processor.plans.list({ processorProductId })) {
      const ours = page.find(({ product, price }) => price.localId === product.localId);
      if (ours !== undefined && (await this.#recoverFrom(ours)))
        return { ...nothingApplied, changed: [processorProductId] };
    }
    return ignoredAll(processorProductId);
  }
}

function productKeyOf({ processorProductId }: { readonly processorProductId: string }): string {
  return processorProductId;
}

function priceKeyOf({ processorPriceId }: { readonly processorPriceId: string }): string {
  return processorPriceId;
}

interface Half<Facts> {
  readonly keyOf: (item: Plan | Facts) => string;
  readonly lock: (keys: readonly string[]) => Promise<readonly Plan[]>;
  readonly take: Folding<Plan, Facts>['take'];
  readonly update: (plans: readonly Plan[]) => void;
}

/** A product or a price alone is not enough for a row, so a lost plan is refreshed. */
async function applyHalf<Facts extends ProductFacts | PriceFacts>(
  facts: readonly Facts[],
  source: Source,
  half: Half<Facts>,
): Promise<Applied> {
  const { applied } = await applyFacts<Plan, Facts>({
    facts,
    source,
    ...half,
    insert: async (unknown) => lostAmong(unknown, ({ localId }) => localId, half.keyOf),
  });
  return applied;
}

function lostAmong<Facts>(
  unknown: readonly Facts[],
  localIdOf: (facts: Facts) => string | null,
  keyOf: (facts: Facts) => string,
) {
  const lost = unknown.filter((facts) => isOurId(localIdOf(facts))).map(keyOf);
  return lost.length === 0 ? undefined : { made: [], lost };
}

/** Undefined for a price that cannot be a Till plan. */
export function toPlan(id: string, { product, price }: PlanFacts, now: Date): Plan | undefined {
  if (product.name === null || price.amount === null || price.interval === null) return undefined;
  return {
    id,
    processorProductId: product.processorProductId,
    processorPriceId: price.processorPriceId,
    name: product.name,
    amount: price.amount,
    currency: price.currency,
    interval: price.interval,
    productActive: product.active,
    priceActive: price.active,
    active: product.active && price.active,
    productAsOf: product.asOf.earliest,
    productAsOfLatest: product.asOf.latest,
    priceAsOf: price.asOf.earliest,
    priceAsOfLatest: price.asOf.latest,
    createdAt: idTime(id),
    updatedAt: now,
    revision: 0,
  };
}
