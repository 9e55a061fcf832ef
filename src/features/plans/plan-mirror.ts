import type { Applied, OwnFacts, Source, Take } from '#core/model/facts.ts';
import { noMetadata } from '#core/model/metadata.ts';
import {
  type Plan,
  type PlanFacts,
  type PriceFacts,
  type ProductFacts,
  takePlanFacts,
  takePriceFacts,
  takeProductFacts,
} from '#core/model/plan.ts';
import { idTime, isOurId } from '#core/platform/id.ts';
import { inLanes } from '#core/platform/lanes.ts';
import type { Queryable, Transaction } from '#core/platform/postgres.ts';
import {
  applyToRows,
  lockRows,
  mergeApplied,
  type RowStore,
  withRecovery,
} from '#engine/mirrors/apply-facts.ts';
import type { Mirror, MirrorContext } from '#engine/mirrors/mirror.ts';
import { ignoredAll, nothingApplied, revisionsOf, unknownToProcessor } from '#engine/mirrors/refresh.ts';
import { planView } from './plan-fields.ts';
import { PlanStore } from './plan-store.ts';

/** A product usually has a few prices. A product with hundreds must not use up the rate limit of the processor. */
const refreshesAtOnce = 4;

/** Plans, each of which is a product and a price at the processor. The key of a plan is the id of its price. */
export class PlanMirror implements Mirror<PlanFacts> {
  readonly resource = 'plan';
  /** An event contains either the product or the price of a plan. */
  readonly products: Mirror<ProductFacts>;
  readonly prices: Mirror<PriceFacts>;
  readonly #context: MirrorContext;
  readonly #store = new PlanStore();

  constructor(context: MirrorContext) {
    this.#context = context;
    const store = this.#store;
    const byProduct: RowStore<Plan> = {
      lockByKeys: (tx, keys) => store.lockByProductIds(tx, keys),
      update: (tx, changes) => store.update(tx, changes),
    };
    this.products = {
      resource: 'plan',
      keyOf: productKeyOf,
      apply: (tx, facts, source) =>
        this.#apply(tx, byProduct, facts, { source, keyOf: productKeyOf, take: takeProductFacts, localIdOf }),
      refresh: (key) => this.#refreshByProduct(key),
    };
    this.prices = {
      resource: 'plan',
      keyOf: priceKeyOf,
      apply: (tx, facts, source) =>
        this.#apply(tx, store, facts, { source, keyOf: priceKeyOf, take: takePriceFacts, localIdOf }),
      refresh: (key) => this.refresh(key),
    };
  }

  keyOf({ price }: PlanFacts): string {
    return price.processorPriceId;
  }

  apply(tx: Transaction, facts: readonly PlanFacts[], source: Source): Promise<Applied> {
    return this.#apply(tx, this.#store, facts, {
      source,
      keyOf: (item: Plan | PlanFacts) => priceKeyOf('price' in item ? item.price : item),
      take: takePlanFacts,
      localIdOf: ({ price }: PlanFacts) => price.localId,
    });
  }

  async refresh(key: string): Promise<Applied> {
    const { database, processor } = this.#context;
    const [row] = await this.#store.findByKeys(database, [key]);
    const facts = await processor.plans.read(key);
    if (row === undefined) return facts === null ? ignoredAll(key) : this.#recoverFrom(facts, key);
    if (facts === null) return unknownToProcessor;
    return database.transaction((tx) => this.apply(tx, [facts], revisionsOf(key, row)));
  }

  /**
   * Ensures that the price of a subscription has a plan, for example after the restore of an older backup. Returns
   * false if the price is not a Till plan.
   */
  async recover(processorPriceId: string): Promise<boolean> {
    const { database, processor } = this.#context;
    if ((await this.#store.findByKeys(database, [processorPriceId])).length > 0) return true;
    const facts = await processor.plans.read(processorPriceId);
    if (facts === null) return false;
    return (await this.#recoverFrom(facts, processorPriceId)).ignored.length === 0;
  }

  /** Creates rows for plans that carry a Till id and have no row. Leaves out prices that cannot be a Till plan. */
  async record(tx: Transaction, facts: readonly PlanFacts[]): Promise<readonly Plan[]> {
    const now = this.#context.clock.now();
    const plans = facts.flatMap((one) =>
      isOurId(one.price.localId) ? (toPlan(one.price.localId, one, now) ?? []) : [],
    );
    const created = await this.#store.insert(tx, plans);
    for (const { processorPriceId, processorProductId, productAsOf, priceAsOf } of created)
      tx.late.push(
        { key: processorPriceId, since: priceAsOf },
        { key: processorProductId, since: productAsOf },
      );
    return created;
  }

  findByKeys(db: Queryable, keys: readonly string[]): Promise<readonly Plan[]> {
    return this.#store.findByKeys(db, keys);
  }

  /** The plans of these prices, by price id. */
  async find(db: Queryable, processorPriceIds: readonly string[]): Promise<ReadonlyMap<string, Plan>> {
    const plans = await this.#store.findByKeys(db, processorPriceIds);
    return new Map(plans.map((plan) => [plan.processorPriceId, plan]));
  }

  /** Locks all rows of a batch that has products and prices, which are applied one after the other. */
  async lock(
    tx: Transaction,
    products: readonly ProductFacts[],
    prices: readonly PriceFacts[],
  ): Promise<void> {
    await this.#store.lock(tx, products.map(productKeyOf), prices.map(priceKeyOf));
  }

  /**
   * Does not create rows of lost plans: a product or a price alone is not enough for a row, and not every price can be
   * a plan.
   */
  async #apply<Facts>(
    tx: Transaction,
    store: RowStore<Plan>,
    facts: readonly Facts[],
    { source, keyOf, take, localIdOf }: Application<Facts>,
  ): Promise<Applied> {
    const rows = await lockRows(tx, store, facts, keyOf);
    const lost = rows.unknown.filter((first) => isOurId(localIdOf(first))).map(keyOf);
    const { clock } = this.#context;
    const folding = { rows, inserted: undefined, source, keyOf, take, view: planView, now: clock.now() };
    const { applied } = await applyToRows(tx, store, folding);
    return withRecovery(applied, { lost });
  }

  /**
   * If another refresh has created the row meanwhile, the row may be older than these facts and needs another refresh.
   */
  async #recoverFrom(facts: PlanFacts, key: string): Promise<Applied> {
    const { database } = this.#context;
    const created = await database.transaction((tx) => this.record(tx, [facts]));
    if (created.length > 0) return { ...nothingApplied, changed: [key] };
    const rows = await this.#store.findByKeys(database, [facts.price.processorPriceId]);
    return rows.length > 0 ? { ...nothingApplied, unsettled: [key] } : ignoredAll(key);
  }

  async #refreshByProduct(processorProductId: string): Promise<Applied> {
    const { database, processor } = this.#context;
    const rows = await this.#store.findByProductIds(database, [processorProductId]);
    // The prices of one product can be several plans, if Till did not create the product.
    const refreshed: Applied[] = [];
    await inLanes(rows, refreshesAtOnce, async ({ processorPriceId }) => {
      refreshed.push(await this.refresh(processorPriceId));
    });
    if (rows.length > 0) return mergeApplied(refreshed);
    for await (const { items } of processor.plans.list({ processorProductId })) {
      const ours = items.find(({ product, price }) => price.localId === product.localId);
      const applied = ours && (await this.#recoverFrom(ours, processorProductId));
      if (applied?.ignored.length === 0) return applied;
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

function localIdOf({ localId }: OwnFacts): string | null {
  return localId;
}

interface Application<Facts> {
  readonly source: Source;
  readonly keyOf: (item: Plan | Facts) => string;
  readonly take: Take<Plan, Facts>;
  readonly localIdOf: (facts: Facts) => string | null;
}

/** Undefined for a price that cannot be a Till plan. */
export function toPlan(id: string, { product, price }: PlanFacts, now: Date): Plan | undefined {
  if (product.name === null || price.amount === null || price.interval === null) return undefined;
  return {
    id,
    processorProductId: product.processorProductId,
    processorPriceId: price.processorPriceId,
    name: product.name,
    metadata: product.metadata ?? noMetadata,
    amount: price.amount,
    currency: price.currency,
    interval: price.interval,
    intervalCount: price.intervalCount,
    features: product.features,
    groupName: product.groupName,
    addOn: price.addOn ?? false,
    repeatable: price.repeatable ?? false,
    addOnClaimId: null,
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
