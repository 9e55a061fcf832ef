import { Failure } from '../errors.ts';
import type { OwnFacts } from '../mirrors/facts.ts';
import {
  isMetadataChangeIgnored,
  type Metadata,
  type MetadataChange,
  needsMetadata,
} from '../mirrors/metadata.ts';
import {
  type Origin,
  type Rule,
  type Taken,
  type TransitionTable,
  takeValues,
} from '../mirrors/transition.ts';

/** How often a plan bills. */
export const planIntervals = ['day', 'week', 'month', 'year'] as const;

export type PlanInterval = (typeof planIntervals)[number];

export interface Plan {
  readonly id: string;
  readonly processorProductId: string;
  readonly processorPriceId: string;
  readonly name: string;
  /** The product's. */
  readonly metadata: Metadata;
  readonly amount: number;
  readonly currency: string;
  readonly interval: PlanInterval;
  readonly productActive: boolean;
  readonly priceActive: boolean;
  /** True if product and price are both active. */
  readonly active: boolean;
  readonly productAsOf: Date;
  readonly productAsOfLatest: Date;
  readonly priceAsOf: Date;
  readonly priceAsOfLatest: Date;
  readonly createdAt: Date;
  readonly updatedAt: Date;
  /** Increases with every change of the row. */
  readonly revision: number;
}

/** The half of a plan that says what is sold. */
export interface ProductFacts extends OwnFacts {
  readonly processorProductId: string;
  /** Null if the name cannot be read. The plan then keeps its name. */
  readonly name: string | null;
  /** Null if it is unknown: older releases stored events without metadata. */
  readonly metadata: Metadata | null;
  /** False after archiving or deletion. */
  readonly active: boolean;
  /** Deletion is final, whatever its time. */
  readonly deleted?: true;
}

/** The half of a plan that says how much it costs and how often. */
export interface PriceFacts extends OwnFacts {
  readonly processorPriceId: string;
  readonly processorProductId: string;
  /** Null if the price is not one whole amount in the smallest unit (tiers, fractions). It cannot be a Till plan. */
  readonly amount: number | null;
  readonly currency: string;
  /** Null if the price is paid once, or every several intervals. It cannot be a Till plan. */
  readonly interval: PlanInterval | null;
  /** False after archiving or deletion. */
  readonly active: boolean;
  /** Deletion is final, whatever its time. */
  readonly deleted?: true;
}

export interface PlanFacts {
  readonly product: ProductFacts;
  readonly price: PriceFacts;
}

type HalfState = 'active' | 'archived';

/** The processor can reactivate products and prices, so neither state is final. Deletion is. */
const planHalfTransitions: TransitionTable<HalfState> = {
  active: { active: 'if newer', archived: 'if newer' },
  archived: { active: 'if newer', archived: 'if newer' },
};

export function takeProductFacts(plan: Plan, facts: ProductFacts, origin: Origin, now: Date): Taken<Plan> {
  const dated = { ...plan, processorAsOf: plan.productAsOf, processorAsOfLatest: plan.productAsOfLatest };
  const values = {
    name: facts.name ?? plan.name,
    metadata: facts.metadata ?? plan.metadata,
    productActive: facts.active,
  };
  const taking = { rule: ruleOf(plan.productActive, facts), origin, asOf: facts.asOf, now };
  const { verdict, row } = takeValues(dated, values, taking);
  const { processorAsOf: productAsOf, processorAsOfLatest: productAsOfLatest, ...taken } = row;
  return {
    verdict: needsMetadata(facts, origin, verdict) ? 'refresh' : verdict,
    row: { ...taken, productAsOf, productAsOfLatest, active: isActive(taken) },
  };
}

export function takePriceFacts(plan: Plan, facts: PriceFacts, origin: Origin, now: Date): Taken<Plan> {
  const dated = { ...plan, processorAsOf: plan.priceAsOf, processorAsOfLatest: plan.priceAsOfLatest };
  const taking = { rule: ruleOf(plan.priceActive, facts), origin, asOf: facts.asOf, now };
  const { verdict, row } = takeValues(dated, { priceActive: facts.active }, taking);
  const { processorAsOf: priceAsOf, processorAsOfLatest: priceAsOfLatest, ...taken } = row;
  return { verdict, row: { ...taken, priceAsOf, priceAsOfLatest, active: isActive(taken) } };
}

/** Applies both halves of a plan. If one needs a refresh, neither is applied. */
export function takePlanFacts(
  plan: Plan,
  { product, price }: PlanFacts,
  origin: Origin,
  now: Date,
): Taken<Plan> {
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

/** A change of a plan. An absent field stays. */
export interface PlanChange {
  readonly name?: string;
  readonly metadata?: MetadataChange;
}

/** Whether the processor's response to an update still shows an old value. */
export function isPlanChangeIgnored(
  plan: Plan,
  { name, metadata = {} }: PlanChange,
  after: ProductFacts,
): boolean {
  const isNameIgnored = name !== undefined && name !== plan.name && after.name === plan.name;
  return (
    isNameIgnored ||
    (after.metadata !== null && isMetadataChangeIgnored(plan.metadata, metadata, after.metadata))
  );
}

export function foundPlan(plan: Plan | undefined): Plan {
  if (plan === undefined) throw planNotFound();
  return plan;
}

export function planNotFound(): Failure {
  return new Failure('not_found', 'No plan has this id. Check the id.');
}

export function planArchived(): Failure {
  return new Failure('plan_archived', 'The plan is archived. Choose an active plan.');
}

function ruleOf(wasActive: boolean, { active, deleted }: Pick<PriceFacts, 'active' | 'deleted'>): Rule {
  return deleted ? 'always' : planHalfTransitions[stateOf(wasActive)][stateOf(active)];
}

function isActive({ productActive, priceActive }: Pick<Plan, 'productActive' | 'priceActive'>): boolean {
  return productActive && priceActive;
}

function stateOf(active: boolean): HalfState {
  return active ? 'active' : 'archived';
}
