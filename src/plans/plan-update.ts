import {
  type CheckedOperation,
  type FoundClaim,
  type OperationWrite,
  parentOf,
  type Recorded,
} from '../idempotency/operation.ts';
import { applyInTransaction, correct } from '../mirrors/refresh.ts';
import { refuseTooManyKeys } from '../model/metadata.ts';
import {
  foundPlan,
  isPlanChangeIgnored,
  type Plan,
  type PlanChange,
  type ProductFacts,
} from '../model/plan.ts';
import type { Queryable, Transaction } from '../platform/postgres.ts';
import { notReached, objectMissing } from '../processor/refused-write.ts';
import type { PlanParts } from './plan-creation.ts';

export interface PlanUpdateRequest {
  readonly planId: string;
  readonly change: PlanChange;
}

/** The processor's response, and the row before the request. */
interface Made {
  /** Null if there was nothing to change. */
  readonly facts: ProductFacts | null;
  readonly plan: Plan;
}

/** The steps of changing a plan, which is a change of its product. */
export class PlanUpdate implements CheckedOperation<PlanUpdateRequest, Plan, Made, Plan> {
  readonly name = 'plans.update';
  readonly isChange = true;
  readonly #parts: PlanParts;

  constructor(parts: PlanParts) {
    this.#parts = parts;
  }

  parentIdOf({ planId }: PlanUpdateRequest): string {
    return planId;
  }

  async prepare({ planId, change }: PlanUpdateRequest): Promise<Plan> {
    const plan = await this.#find(this.#parts.database, planId);
    refuseTooManyKeys(plan.metadata, change.metadata ?? {});
    return plan;
  }

  async call(
    { change }: PlanUpdateRequest,
    plan: Plan,
    { idempotencyKey, isRepeated }: OperationWrite,
  ): Promise<Made> {
    const { processor, mirror } = this.#parts;
    if (Object.keys(change).length === 0) return { facts: null, plan };
    const { processorProductId, processorPriceId } = plan;
    const attempt = await processor.plans.update({ ...change, processorProductId, idempotencyKey });
    if (attempt.outcome !== 'done') {
      await correct(mirror, processorPriceId);
      throw notReached(attempt, 'plan', 'unchanged');
    }
    if (isRepeated || attempt.isReplayed || attempt.value.metadata === null)
      return { facts: await this.#read(plan), plan };
    if (isPlanChangeIgnored(plan, change, attempt.value)) throw notReached(attempt, 'plan', 'unchanged');
    return { facts: attempt.value, plan };
  }

  async record(tx: Transaction, _id: string, { facts, plan }: Made): Promise<Recorded<Plan>> {
    const applied = facts && (await applyInTransaction(tx, this.#parts.mirror.products, facts, plan));
    return { result: await this.#find(tx, plan.id), ...applied };
  }

  async refresh({ id, processorPriceId }: Plan): Promise<Plan> {
    const { mirror, database } = this.#parts;
    await correct(mirror, processorPriceId);
    return this.#find(database, id);
  }

  /** Nothing at the processor shows whether a change was made. Making it again has the same effect. */
  async find(): Promise<null> {
    return null;
  }

  /** The first request may have died before it could refresh a row that had changed meanwhile. */
  async replay(_id: string, claim: FoundClaim): Promise<Plan> {
    return this.refresh(await this.#find(this.#parts.database, parentOf(claim)));
  }

  async #find(db: Queryable, id: string): Promise<Plan> {
    return foundPlan((await this.#parts.store.find(db, [id]))[0]);
  }

  async #read({ processorPriceId }: Plan): Promise<ProductFacts> {
    const facts = await this.#parts.processor.plans.read(processorPriceId);
    if (facts === null) throw objectMissing('plan');
    return facts.product;
  }
}
