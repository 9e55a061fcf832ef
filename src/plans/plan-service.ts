import { randomUUID } from 'node:crypto';
import { Failure, isDefiniteRefusal } from '../errors.ts';
import type { Adoption } from '../idempotency/adoption.ts';
import type { Created } from '../idempotency/creation.ts';
import type { IdempotencyService } from '../idempotency/idempotency-service.ts';
import {
  type Applied,
  foldFacts,
  groupFacts,
  type Source,
  withoutRow,
  withRecovery,
} from '../mirrors/fold.ts';
import { ignoredAll, nothingApplied, unknownThere, untilKnown, untilSettled } from '../mirrors/refresh.ts';
import type { Clock } from '../platform/clock.ts';
import { idTime, isOurId, isUuid } from '../platform/id.ts';
import type { Database, Queryable, Transaction } from '../platform/postgres.ts';
import { SharedReads } from '../platform/shared-statement.ts';
import type { NewPlan, Processor } from '../processor/processor.ts';
import { notReached } from '../processor/refused-write.ts';
import {
  type Plan,
  type PlanFacts,
  type PriceFacts,
  type ProductFacts,
  takePriceFacts,
  takeProductFacts,
} from './plan.ts';
import type { PlanStore } from './plan-store.ts';

interface PlanParts {
  readonly database: Database;
  readonly store: PlanStore;
  readonly processor: Processor;
  readonly idempotency: IdempotencyService;
  readonly clock: Clock;
}

export class PlanService {
  readonly #parts: PlanParts;
  readonly #reads: SharedReads<Plan>;

  constructor(parts: PlanParts) {
    this.#parts = parts;
    this.#reads = new SharedReads((ids) => parts.store.find(parts.database, ids));
  }

  create(values: Omit<NewPlan, 'id'>, key: string | undefined): Promise<Created<Plan>> {
    const { processor, idempotency } = this.#parts;
    return idempotency.create<PlanFacts, Plan>({
      operation: 'plans.create',
      key,
      request: values,
      parentId: null,
      call: (id, idempotencyKey) => processor.plans.create({ ...values, id, idempotencyKey }),
      ...this.adoption(),
      replay: (id) => this.read(id),
    });
  }

  adoption(): Adoption<PlanFacts, Plan> {
    return {
      find: (localId, since) => this.#parts.processor.plans.find({ localId, since }),
      record: (tx, id, facts) => this.#record(tx, id, facts),
      refresh: ({ processorPriceId }) => untilSettled(() => this.refresh(processorPriceId)),
      release: async () => {},
    };
  }

  async #record(tx: Transaction, id: string, { product, price }: PlanFacts): Promise<Plan> {
    const { store, clock } = this.#parts;
    const plan = toPlan(id, { product, price }, clock.now());
    if (plan === undefined) {
      throw new Error(
        `the plan of price ${price.processorPriceId} has no name, no whole amount or no simple interval`,
      );
    }
    await store.insert(tx, plan);
    return found((await store.find(tx, [id]))[0]);
  }

  async read(id: string): Promise<Plan> {
    return found(isUuid(id) ? await this.#reads.read(id) : undefined);
  }

  list(activeOnly: boolean): Promise<readonly Plan[]> {
    return this.#parts.store.list(this.#parts.database, activeOnly);
  }

  /** Archives price and product; of one that is archived already nothing is asked. */
  async archive(id: string): Promise<Plan> {
    const { processor } = this.#parts;
    const plan = await this.read(id);
    if (!plan.active) return plan;
    const attempt = await processor.plans.archive({ ...plan, idempotencyKey: randomUUID() });
    const isSettled =
      attempt.outcome === 'done' && (await this.#applyPresent(plan, attempt.value)).unsettled.length === 0;
    if (!isSettled) await this.#correct(plan.processorPriceId);
    const archived = await this.read(id);
    if (archived.active) throw notReached(attempt, 'plan', 'active');
    return archived;
  }

  #correct(processorPriceId: string): Promise<void> {
    return untilKnown('plan', () => this.refresh(processorPriceId));
  }

  /** Reads the processor's present state into ours. */
  async refresh(processorPriceId: string): Promise<Applied> {
    const { database, store, processor } = this.#parts;
    const [row] = await store.findByPriceIds(database, [processorPriceId]);
    const facts = await processor.plans.read(processorPriceId);
    if (row === undefined) {
      const isOurs = facts !== null && (await this.#recoverFrom(facts));
      return isOurs ? { ...nothingApplied, changed: [processorPriceId] } : ignoredAll(processorPriceId);
    }
    return facts === null ? unknownThere : this.#applyPresent(row, facts);
  }

  /**
   * Makes sure that there is a plan for the price of a subscription, as after the restore of an older backup. False if
   * the price is no Till plan.
   */
  async recover(processorPriceId: string): Promise<boolean> {
    const { database, store, processor } = this.#parts;
    if ((await store.findByPriceIds(database, [processorPriceId])).length > 0) return true;
    const facts = await processor.plans.read(processorPriceId);
    return facts !== null && this.#recoverFrom(facts);
  }

  async #recoverFrom(facts: PlanFacts): Promise<boolean> {
    const { database, store, clock } = this.#parts;
    const { localId, processorPriceId } = facts.price;
    const plan = isOurId(localId) ? toPlan(localId, facts, clock.now()) : undefined;
    if (plan === undefined) return false;
    await store.insert(database, plan);
    return (await store.findByPriceIds(database, [processorPriceId])).length > 0;
  }

  /** The same for the plan that a product belongs to. */
  async refreshByProduct(processorProductId: string): Promise<Applied> {
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

  /** Both halves, in one transaction; the second meets the row as the first left it. */
  #applyPresent(plan: Plan, { product, price }: PlanFacts): Promise<Applied> {
    const { database, store } = this.#parts;
    const { processorProductId, processorPriceId } = plan;
    return database.transaction(async (tx) => {
      const first = await this.applyProducts(tx, [product], new Map([[processorProductId, plan.revision]]));
      if (first.unsettled.length > 0) return first;
      const [current] = await store.findByPriceIds(tx, [processorPriceId]);
      const second = await this.applyPrices(
        tx,
        [price],
        new Map([[processorPriceId, current?.revision ?? 0]]),
      );
      return { ...second, changed: [...first.changed, ...second.changed] };
    });
  }

  /** For a new subscription: the plan must be there, and not archived. */
  async requireActive(id: string): Promise<Plan> {
    const plan = await this.read(id);
    if (!plan.active) throw archived();
    return plan;
  }

  /**
   * What to tell a caller whose request the processor refused because of the price: ours is corrected first. If the
   * price is unknown there, this throws.
   */
  async truthBehind(error: unknown, id: string): Promise<unknown> {
    const isAboutPrice = isDefiniteRefusal(error) && error.extras.processorParam?.includes('price') === true;
    if (!isAboutPrice) return error;
    const { processorPriceId } = await this.read(id);
    await this.#correct(processorPriceId);
    return (await this.read(id)).active ? error : archived();
  }

  /** The plans behind the processor's prices. */
  async findByPriceIds(db: Queryable, ids: readonly string[]): Promise<ReadonlyMap<string, Plan>> {
    const plans = await this.#parts.store.findByPriceIds(db, ids);
    return new Map(plans.map((plan) => [plan.processorPriceId, plan]));
  }

  /** For whoever will apply facts to both halves, one after the other. */
  async lock(
    tx: Transaction,
    processorProductIds: readonly string[],
    processorPriceIds: readonly string[],
  ): Promise<void> {
    await this.#parts.store.lock(tx, processorProductIds, processorPriceIds);
  }

  async applyProducts(tx: Transaction, facts: readonly ProductFacts[], source: Source): Promise<Applied> {
    const { store, clock } = this.#parts;
    const now = clock.now();
    const keyOf = ({ processorProductId }: { readonly processorProductId: string }) => processorProductId;
    const groups = groupFacts(facts, keyOf);
    const rows = await store.lockByProductIds(tx, [...groups.keys()]);
    const { written, applied } = foldFacts({
      rows,
      groups,
      source,
      keyOf,
      take: (plan, next: ProductFacts, origin) => takeProductFacts(plan, next, origin, now),
    });
    store.update(
      tx,
      written.map(({ after }) => after),
    );
    return withRecovery(applied, { lost: withoutRow(groups, rows, keyOf).filter(isOurs).map(keyOf) });
  }

  async applyPrices(tx: Transaction, facts: readonly PriceFacts[], source: Source): Promise<Applied> {
    const { store, clock } = this.#parts;
    const now = clock.now();
    const keyOf = ({ processorPriceId }: { readonly processorPriceId: string }) => processorPriceId;
    const groups = groupFacts(facts, keyOf);
    const rows = await store.lockByPriceIds(tx, [...groups.keys()]);
    const { written, applied } = foldFacts({
      rows,
      groups,
      source,
      keyOf,
      take: (plan, next: PriceFacts, origin) => takePriceFacts(plan, next, origin, now),
    });
    store.update(
      tx,
      written.map(({ after }) => after),
    );
    return withRecovery(applied, { lost: withoutRow(groups, rows, keyOf).filter(isOurs).map(keyOf) });
  }
}

/** An event shows one half of a plan, so a plan that was lost is read whole from the processor. */
function isOurs({ localId }: ProductFacts | PriceFacts): boolean {
  return isOurId(localId);
}

/** Undefined for a price that no Till plan can have. */
function toPlan(id: string, { product, price }: PlanFacts, now: Date): Plan | undefined {
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

function archived(): Failure {
  return new Failure('plan_archived', 'The plan is archived. Choose an active plan.');
}

function found(plan: Plan | undefined): Plan {
  if (plan === undefined) throw new Failure('not_found', 'No plan has this id. Check the id.');
  return plan;
}
