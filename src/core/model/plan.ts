import { isDeepStrictEqual } from 'node:util';
import { Failure, invalidRequest, requireFound } from '../errors.ts';
import { type Origin, type OwnFacts, type Rule, type Taken, takeValues } from './facts.ts';
import {
  isMetadataChangeIgnored,
  type Metadata,
  type MetadataChange,
  needsMetadata,
  noMetadata,
} from './metadata.ts';
import type { PlanFeatures } from './plan-features.ts';
import type { PriceObstacle } from './price-obstacle.ts';

/** How often a plan bills. */
export const planIntervals = ['day', 'week', 'month', 'year'] as const;

export type PlanInterval = (typeof planIntervals)[number];

/** The API's own limit. */
export const intervalCountMax = 52;

/** Three years, the processor's longest billing period. */
export const intervalsMax: Readonly<Record<PlanInterval, number>> = {
  day: 1_095,
  week: 156,
  month: 36,
  year: 3,
};

export interface Plan {
  readonly id: string;
  readonly processorProductId: string;
  readonly processorPriceId: string;
  readonly name: string;
  /** The metadata of the product. */
  readonly metadata: Metadata;
  readonly amount: number;
  readonly currency: string;
  readonly interval: PlanInterval;
  /** The number of intervals between two bills. */
  readonly intervalCount: number;
  /** The features of the product. */
  readonly features: PlanFeatures;
  /** The group of the product. Null if it has none. `groupOf` returns the group that counts. */
  readonly groupName: string | null;
  /** Whether the price is that of an add-on, which is sold only together with a main plan. */
  readonly addOn: boolean;
  /** Whether checkouts sell a plan without a group to a customer who has it already. A value of the price. */
  readonly repeatable: boolean;
  /** The claim of a request that changes `addOn`. Until the row shows the change, no subscription gets the plan. */
  readonly addOnClaimId: string | null;
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

/** The product: the half of a plan that describes what is sold. */
export interface ProductFacts extends OwnFacts {
  readonly processorProductId: string;
  /** Null if the name cannot be read. The plan then keeps its name. */
  readonly name: string | null;
  /** Null if the event or the response does not show it. */
  readonly metadata: Metadata | null;
  /** Features and group are part of the product's metadata. If that is unknown, so are they. */
  readonly features: PlanFeatures;
  readonly groupName: string | null;
  /** False after archiving or deletion. */
  readonly active: boolean;
  /** Deletion is final, whatever its time. */
  readonly deleted?: true;
}

/** The price: the half of a plan that has the amount and the interval. */
export interface PriceFacts extends OwnFacts {
  readonly processorPriceId: string;
  readonly processorProductId: string;
  /**
   * Null if the price is not one whole amount in the smallest unit (tiers, fractions). Such a price cannot be a Till
   * plan.
   */
  readonly amount: number | null;
  readonly currency: string;
  /** Null if the price is paid once. Such a price cannot be a Till plan. */
  readonly interval: PlanInterval | null;
  readonly intervalCount: number;
  /** Why it cannot be a Till plan. Absent if it can. */
  readonly obstacle?: PriceObstacle;
  /** Parts of the price's metadata. Null if the event or the response does not show it. */
  readonly addOn: boolean | null;
  readonly repeatable: boolean | null;
  /** False after archiving or deletion. */
  readonly active: boolean;
  /** Deletion is final, whatever its time. */
  readonly deleted?: true;
}

export interface PlanFacts {
  readonly product: ProductFacts;
  readonly price: PriceFacts;
}

/** A changed plan. The price is there if it changed too. */
export interface ChangedPlanFacts extends ProductFacts {
  readonly price?: PriceFacts;
}

export function takeProductFacts(plan: Plan, facts: ProductFacts, origin: Origin, now: Date): Taken<Plan> {
  const dated = { ...plan, processorAsOf: plan.productAsOf, processorAsOfLatest: plan.productAsOfLatest };
  const values = {
    name: facts.name ?? plan.name,
    ...shownMetadata(facts),
    productActive: facts.active,
  };
  const taking = { rule: ruleOf(facts), origin, asOf: facts.asOf, now };
  const { verdict, row } = takeValues(dated, values, taking);
  const { processorAsOf: productAsOf, processorAsOfLatest: productAsOfLatest, ...taken } = row;
  return {
    verdict: needsMetadata(facts, origin, verdict) ? 'refresh' : verdict,
    row: { ...taken, productAsOf, productAsOfLatest, active: isActive(taken) },
  };
}

export function takePriceFacts(plan: Plan, facts: PriceFacts, origin: Origin, now: Date): Taken<Plan> {
  const dated = { ...plan, processorAsOf: plan.priceAsOf, processorAsOfLatest: plan.priceAsOfLatest };
  const taking = { rule: ruleOf(facts), origin, asOf: facts.asOf, now };
  const values = {
    priceActive: facts.active,
    addOn: facts.addOn ?? plan.addOn,
    repeatable: facts.repeatable ?? plan.repeatable,
  };
  const { verdict, row } = takeValues(dated, values, taking);
  const { processorAsOf: priceAsOf, processorAsOfLatest: priceAsOfLatest, ...taken } = row;
  const metadata = facts.addOn === null ? null : noMetadata;
  return {
    verdict: needsMetadata({ ...facts, metadata }, origin, verdict) ? 'refresh' : verdict,
    row: { ...taken, priceAsOf, priceAsOfLatest, active: isActive(taken) },
  };
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

/** A change of a plan. An absent field keeps its value. */
export interface PlanChange {
  readonly name?: string;
  /** Replaces all features. */
  readonly features?: PlanFeatures;
  /** Null removes the plan from its group. */
  readonly group?: string | null;
  readonly addOn?: boolean;
  readonly repeatable?: boolean;
  readonly metadata?: MetadataChange;
}

/** Whether the processor's response to an update still shows an old value. */
export function isPlanChangeIgnored(
  plan: Plan,
  { name, metadata = {}, features, group, addOn, repeatable }: PlanChange,
  after: ChangedPlanFacts,
): boolean {
  if (
    isIgnored(name, plan.name, after.name) ||
    isIgnored(addOn, plan.addOn, after.price?.addOn) ||
    isIgnored(repeatable, plan.repeatable, after.price?.repeatable)
  )
    return true;
  if (after.metadata === null) return false;
  return (
    isMetadataChangeIgnored(plan.metadata, metadata, after.metadata) ||
    isIgnored(features, plan.features, after.features) ||
    isIgnored(group, plan.groupName, after.groupName)
  );
}

/** Whether a new value was requested, and the response still has the old one. */
function isIgnored(requested: unknown, before: unknown, after: unknown): boolean {
  return requested !== undefined && !isDeepStrictEqual(requested, before) && isDeepStrictEqual(after, before);
}

/** The processor refuses a billing period of more than three years. */
export function refuseLongPeriod(interval: PlanInterval, intervalCount: number): void {
  const countMax = intervalsMax[interval];
  if (intervalCount <= countMax) return;
  const message = `must be at most ${countMax} with the interval ${interval}: a plan bills at least every three years`;
  throw invalidRequest('body.intervalCount', message);
}

/** An add-on has no group, even if its product carries one. */
export function groupOf({ addOn, groupName }: Pick<Plan, 'addOn' | 'groupName'>): string | null {
  return addOn ? null : groupName;
}

/**
 * The group within which a checkout sells the plan: a plan without a group is a group of its own, unless it is
 * repeatable. Null for a repeatable plan.
 */
export function soldGroupOf(plan: Pick<Plan, 'id' | 'addOn' | 'groupName' | 'repeatable'>): string | null {
  return groupOf(plan) ?? (plan.addOn || plan.repeatable ? null : ownGroupOf(plan));
}

/** The group that contains only this plan. The name of a group does not begin with a space. */
export function ownGroupOf({ id }: Pick<Plan, 'id'>): string {
  return ` plan ${id}`;
}

/** Fails if a plan that is, or becomes, an add-on would get a group. */
export function refuseGroupOfAddOn(addOn: boolean, group: string | null | undefined): void {
  if (!addOn || group === undefined || group === null) return;
  throw invalidRequest('body.group', 'must be null or absent: an add-on is in no group');
}

export function planInUse(): Failure {
  return new Failure(
    'plan_in_use',
    'A live subscription or an open checkout has this plan, so addOn cannot change. Create another plan instead.',
  );
}

/** Fails unless the plan exists and is active. */
export function activePlan(plan: Plan | undefined): Plan {
  const found = requireFound('plan', plan);
  if (!found.active) throw planArchived();
  return found;
}

/** False if the plan does not exist. */
export function isGrouped(plan: Plan | undefined): boolean {
  return plan !== undefined && groupOf(plan) !== null;
}

export function planArchived(): Failure {
  return new Failure('plan_archived', 'The plan is archived. Choose an active plan.');
}

/** The values that the product's metadata contains, if the facts show it. */
function shownMetadata({ metadata, features, groupName }: ProductFacts): Partial<Plan> {
  return metadata === null ? {} : { metadata, features, groupName };
}

/** The processor can reactivate products and prices, so neither state is final. Deletion is. */
function ruleOf({ deleted }: Pick<PriceFacts, 'deleted'>): Rule {
  return deleted ? 'always' : 'if newer';
}

function isActive({ productActive, priceActive }: Pick<Plan, 'productActive' | 'priceActive'>): boolean {
  return productActive && priceActive;
}
