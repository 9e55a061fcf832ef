import { randomUUID } from 'node:crypto';
import { Failure, isDefiniteRefusal, requireFound } from '#core/errors.ts';
import type { IdempotencyKey } from '#core/model/idempotency-key.ts';
import { type Plan, type PlanChange, planArchived } from '#core/model/plan.ts';
import type { Transaction } from '#core/platform/postgres.ts';
import { SharedReads } from '#core/platform/shared-statement.ts';
import type { OperationResult } from '#engine/idempotency/operation.ts';
import { applyChange, correct } from '#engine/mirrors/refresh.ts';
import { notReached } from '#processor/port/attempt.ts';
import type { PlanValues } from '#processor/port/processor.ts';
import { type PlanContext, type PlanCreation, planCreation } from './plan-creation.ts';
import { addOnUpdate, finishAddOnChange, type PlanUpdate, planUpdate } from './plan-update.ts';

export class PlanService {
  /** The sweeper also uses these two. */
  readonly creation: PlanCreation;
  readonly updating: PlanUpdate;
  readonly #context: PlanContext;
  readonly #reads: SharedReads<Plan>;

  constructor(context: PlanContext) {
    this.#context = context;
    this.creation = planCreation(context);
    this.updating = planUpdate(context);
    this.#reads = new SharedReads((ids) => context.store.find(context.database, ids));
  }

  create(values: PlanValues, key: IdempotencyKey | undefined): Promise<OperationResult<Plan>> {
    return this.#context.idempotency.run(this.creation, values, key);
  }

  async read(id: string): Promise<Plan> {
    return requireFound('plan', await this.find(id));
  }

  find(id: string): Promise<Plan | undefined> {
    return this.#reads.read(id);
  }

  /** The plans with these ids, in a transaction. */
  findAll(tx: Transaction, ids: readonly string[]): Promise<readonly Plan[]> {
    return this.#context.store.find(tx, ids);
  }

  list(activeOnly: boolean): Promise<readonly Plan[]> {
    const { database, store } = this.#context;
    return database.read((db) => store.list(db, activeOnly));
  }

  /**
   * Archives the price, and the product unless another plan needs it. An archived plan needs no call to the processor.
   */
  async archive(id: string): Promise<Plan> {
    const { database, store, mirror, processor } = this.#context;
    const plan = await this.read(id);
    if (!plan.active) return plan;
    const ofProduct = await store.findByProductIds(database, [plan.processorProductId]);
    const keepsProduct = ofProduct.some((other) => other.id !== id && other.active);
    const attempt = await processor.plans.archive({ ...plan, keepsProduct, idempotencyKey: randomUUID() });
    if (attempt.outcome === 'done') await applyChange(database, mirror, attempt.value, plan);
    else await correct(mirror, plan.processorPriceId);
    const archived = await this.read(id);
    if (archived.active) throw notReached(attempt, 'plan', 'active');
    return archived;
  }

  async update(
    id: string,
    change: PlanChange,
    key: IdempotencyKey | undefined,
  ): Promise<OperationResult<Plan>> {
    // An empty change without an idempotency key needs no claim.
    if (key === undefined && Object.keys(change).length === 0)
      return { result: await this.read(id), replayed: false };
    const updating = change.addOn === undefined ? this.updating : addOnUpdate(this.#context);
    return this.#context.idempotency.run(updating, { id, change }, key);
  }

  /** See `finishAddOnChange`. A request that waits for the change calls it once the claim has ended. */
  finishAddOnChange(claimId: string): Promise<void> {
    return finishAddOnChange(this.#context, claimId);
  }

  /**
   * The failure to report after a call to the processor about plans failed. If the processor refused because a price is
   * archived there, the row is corrected, and the failure says so. It also says so if there are too many plans.
   */
  async explainRefusal(error: unknown, ids: readonly string[]): Promise<unknown> {
    const tooMany = tooManyItems(error);
    if (tooMany !== undefined) return tooMany;
    const isAboutPrice = isDefiniteRefusal(error) && error.extras.processorParam?.includes('price') === true;
    if (!isAboutPrice) return error;
    for (const id of ids) {
      const { processorPriceId } = await this.read(id);
      await correct(this.#context.mirror, processorPriceId);
      if (!(await this.read(id)).active) return planArchived();
    }
    return error;
  }
}

/** A parameter for a list of items, or for a new item. Other parameters concern a value of one item. */
const isList = /^(?:.*items\]?|price|plan)$/;
/** An item of an invoice is not meant. */
const namesItems = /(?<!invoice |invoice_)(?:items?|plans?|prices?|elements)\b/i;
const namesLimit = /maximum|\bmax\b|at most|up to|(?:no|not have) more than|exceed|too many|limit/i;

/**
 * The failure to report if the processor refused the number of items of a subscription. It has no documented error code
 * for that, so the parameter and the message decide. Undefined for another refusal.
 */
export function tooManyItems(error: unknown): Failure | undefined {
  if (!isDefiniteRefusal(error)) return undefined;
  const { processorParam, processorCode = '' } = error.extras;
  if (processorParam !== undefined && !isList.test(processorParam)) return undefined;
  const text = `${processorCode.replaceAll('_', ' ')} ${error.message}`;
  if (!namesItems.test(text) || !namesLimit.test(text)) return undefined;
  return new Failure('too_many_items', `${error.message} Send fewer addOns.`, { effect: 'none' });
}
