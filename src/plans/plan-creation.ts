import type { IdempotencyService } from '../idempotency/idempotency-service.ts';
import {
  type CheckedOperation,
  type FoundClaim,
  lookUpOf,
  type OperationWrite,
  ofSameRequest,
  type Recorded,
} from '../idempotency/operation.ts';
import type { MirrorParts } from '../mirrors/mirror.ts';
import { untilSettled } from '../mirrors/refresh.ts';
import type { Plan, PlanFacts } from '../model/plan.ts';
import type { Transaction } from '../platform/postgres.ts';
import type { PlanValues } from '../processor/port/processor.ts';
import { type PlanMirror, toPlan } from './plan-mirror.ts';
import type { PlanStore } from './plan-store.ts';

export interface PlanParts extends MirrorParts {
  readonly idempotency: IdempotencyService;
  readonly store: PlanStore;
  readonly mirror: PlanMirror;
}

/** The steps of creating a plan. */
export class PlanCreation implements CheckedOperation<PlanValues, undefined, PlanFacts, Plan> {
  readonly name = 'plans.create';
  readonly #parts: PlanParts;

  constructor(parts: PlanParts) {
    this.#parts = parts;
  }

  parentIdOf(): null {
    return null;
  }

  async prepare(): Promise<undefined> {}

  call(values: PlanValues, _: undefined, write: OperationWrite): Promise<PlanFacts> {
    return this.#parts.processor.plans.create({ ...values, ...write });
  }

  async record(tx: Transaction, id: string, facts: PlanFacts): Promise<Recorded<Plan>> {
    const { store, clock } = this.#parts;
    const plan = toPlan(id, facts, clock.now());
    if (plan === undefined) {
      const { processorPriceId } = facts.price;
      throw new Error(
        `the plan of price ${processorPriceId} has no name, no whole amount or no simple interval`,
      );
    }
    await store.insert(tx, [plan]);
    return { result: await store.read(tx, id) };
  }

  idOf({ price }: PlanFacts): string | null {
    return price.localId;
  }

  async find(claim: FoundClaim): Promise<PlanFacts | null> {
    return ofSameRequest(claim, await this.#parts.processor.plans.find(lookUpOf(claim)));
  }

  async refresh({ id, processorPriceId }: Plan): Promise<Plan> {
    await untilSettled(() => this.#parts.mirror.refresh(processorPriceId));
    return this.replay(id);
  }

  replay(id: string): Promise<Plan> {
    const { store, database } = this.#parts;
    return store.read(database, id);
  }
}
