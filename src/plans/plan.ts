import { Failure } from '../errors.ts';
import { laterOf, type OwnFacts } from '../mirrors/facts.ts';
import { judge, type Origin, type TransitionTable, type Verdict } from '../mirrors/transition.ts';

/** How often a plan bills. */
export const planIntervals = ['day', 'week', 'month', 'year'] as const;

export type PlanInterval = (typeof planIntervals)[number];

export interface Plan {
  readonly id: string;
  readonly processorProductId: string;
  readonly processorPriceId: string;
  readonly name: string;
  readonly amount: number;
  readonly currency: string;
  readonly interval: PlanInterval;
  readonly productActive: boolean;
  readonly priceActive: boolean;
  /** Both are: archived at either end is archived. */
  readonly active: boolean;
  readonly productAsOf: Date;
  readonly productAsOfLatest: Date;
  readonly priceAsOf: Date;
  readonly priceAsOfLatest: Date;
  readonly createdAt: Date;
  readonly updatedAt: Date;
  /** Rises with every change of the row. */
  readonly revision: number;
}

/** One half of a plan: what is sold. */
export interface ProductFacts extends OwnFacts {
  readonly processorProductId: string;
  /** Null where it cannot be read; the plan keeps its name then. */
  readonly name: string | null;
  /** False once archived or deleted. */
  readonly active: boolean;
  /** Nothing can come after that, whatever the times say. */
  readonly deleted?: true;
}

/** The other half of a plan: what it costs, how often. */
export interface PriceFacts extends OwnFacts {
  readonly processorPriceId: string;
  readonly processorProductId: string;
  /** Null where the price is not one whole amount in the smallest unit (tiers, fractions): no Till plan. */
  readonly amount: number | null;
  readonly currency: string;
  /** Null for a price that is paid once, or every so many intervals: no Till plan. */
  readonly interval: PlanInterval | null;
  /** False once archived or deleted. */
  readonly active: boolean;
  /** Nothing can come after that, whatever the times say. */
  readonly deleted?: true;
}

export interface PlanFacts {
  readonly product: ProductFacts;
  readonly price: PriceFacts;
}

type HalfState = 'active' | 'archived';

/** Product and price may be brought back at the processor, so neither state is final. Deletion is. */
export const planHalfTransitions: TransitionTable<HalfState> = {
  active: { active: 'if newer', archived: 'if newer' },
  archived: { active: 'if newer', archived: 'if newer' },
};

interface Taken {
  readonly verdict: Verdict;
  readonly row: Plan;
}

export function takeProductFacts(plan: Plan, facts: ProductFacts, origin: Origin, now: Date): Taken {
  const name = facts.name ?? plan.name;
  const isSame = plan.name === name && plan.productActive === facts.active;
  const rowAsOf = { earliest: plan.productAsOf, latest: plan.productAsOfLatest };
  const verdict = judge({
    rule: facts.deleted ? 'always' : planHalfTransitions[stateOf(plan.productActive)][stateOf(facts.active)],
    origin,
    isSame,
    rowAsOf,
    factsAsOf: facts.asOf,
  });
  const asOf = laterOf(rowAsOf, facts.asOf);
  return {
    verdict,
    row: {
      ...plan,
      name,
      productActive: facts.active,
      active: facts.active && plan.priceActive,
      productAsOf: asOf.earliest,
      productAsOfLatest: asOf.latest,
      updatedAt: isSame ? plan.updatedAt : now,
    },
  };
}

export function takePriceFacts(plan: Plan, facts: PriceFacts, origin: Origin, now: Date): Taken {
  const isSame = plan.priceActive === facts.active;
  const rowAsOf = { earliest: plan.priceAsOf, latest: plan.priceAsOfLatest };
  const verdict = judge({
    rule: facts.deleted ? 'always' : planHalfTransitions[stateOf(plan.priceActive)][stateOf(facts.active)],
    origin,
    isSame,
    rowAsOf,
    factsAsOf: facts.asOf,
  });
  const asOf = laterOf(rowAsOf, facts.asOf);
  return {
    verdict,
    row: {
      ...plan,
      priceActive: facts.active,
      active: facts.active && plan.productActive,
      priceAsOf: asOf.earliest,
      priceAsOfLatest: asOf.latest,
      updatedAt: isSame ? plan.updatedAt : now,
    },
  };
}

/** Both halves of a plan. A half that needs a refresh leaves the other for the refresh too. */
export function takePlanFacts(plan: Plan, { product, price }: PlanFacts, origin: Origin, now: Date): Taken {
  const first = takeProductFacts(plan, product, origin, now);
  const halfway = first.verdict === 'take' ? first.row : plan;
  const second = takePriceFacts(halfway, price, origin, now);
  const verdicts = [first.verdict, second.verdict];
  if (verdicts.includes('refresh')) return { verdict: 'refresh', row: plan };
  return {
    verdict: verdicts.includes('take') ? 'take' : 'keep',
    row: second.verdict === 'take' ? second.row : halfway,
  };
}

export function foundPlan(plan: Plan | undefined): Plan {
  if (plan === undefined) throw new Failure('not_found', 'No plan has this id. Check the id.');
  return plan;
}

export function planArchived(): Failure {
  return new Failure('plan_archived', 'The plan is archived. Choose an active plan.');
}

function stateOf(active: boolean): HalfState {
  return active ? 'active' : 'archived';
}
