import type { Queryable } from '#core/platform/postgres.ts';
import type { TimeZone } from '#core/platform/time-zone.ts';
import type { StoredEvent } from '#engine/events/feed/stored-event.ts';
import type { SubscriptionView } from '#features/subscriptions/subscription-fields.ts';
import {
  type Contribution,
  type CountedObject,
  contributionsOf,
  countedFields,
  type PricedPlan,
  turnsOf,
} from './contributions.ts';

/** One number of the overview. */
export interface Cell extends Contribution {
  /** A day, or `now`. */
  readonly day: string;
}

/**
 * The metrics of subscriptions. Their cells of a day count changes, which rows do not show. All other cells follow from
 * rows.
 */
export const subscriptionMetrics = /^(subscriptions|recurring|mrr|trials|recovery)\./;

/** The day of a cell with a current value. PostgreSQL sorts it after every other day. */
export const now = 'infinity';

/** The parts of an event that the overview needs. */
export type CountedEvent = Pick<StoredEvent, 'createdAtMs' | 'type' | 'objectType' | 'data' | 'previous'>;

/** A change of a counted object. `before` is null if the change created it. */
export interface Change {
  readonly createdAtMs: number;
  readonly before: Draft | null;
  readonly after: Draft;
}

/** A counted object whose plan has not been looked up yet. */
interface Draft {
  readonly type: CountedObject['type'];
  readonly view: Readonly<Record<string, unknown>>;
}

/** The change of an event. Undefined if it changes no number. */
export function changeOf({
  createdAtMs,
  type,
  objectType,
  data,
  previous,
}: CountedEvent): Change | undefined {
  if (!isCountedType(objectType)) return undefined;
  if (type.endsWith('.created'))
    return { createdAtMs, before: null, after: { type: objectType, view: JSON.parse(data) } };
  const old: Readonly<Record<string, unknown>> = JSON.parse(previous);
  // Most changes are of other fields. Then the object, which is longer, is not parsed.
  if (!countedFields[objectType].some((field) => Object.hasOwn(old, field))) return undefined;
  const view: Readonly<Record<string, unknown>> = JSON.parse(data);
  return {
    createdAtMs,
    before: { type: objectType, view: { ...view, ...old } },
    after: { type: objectType, view },
  };
}

function isCountedType(objectType: string): objectType is CountedObject['type'] {
  return Object.hasOwn(countedFields, objectType);
}

export interface PlanReader {
  find(db: Queryable, ids: readonly string[]): Promise<readonly (PricedPlan & { readonly id: string })[]>;
}

type Plans = ReadonlyMap<string, PricedPlan>;

/** The plans whose prices these objects need. The price of a plan never changes. */
export async function findPrices(db: Queryable, plans: PlanReader, drafts: readonly Draft[]): Promise<Plans> {
  const ids = planIdsOf(drafts);
  const found = ids.length === 0 ? [] : await plans.find(db, ids);
  return new Map(found.map((plan) => [plan.id, plan]));
}

/** The objects of the changes, before and after each. */
export function draftsOf(changes: readonly Change[]): readonly Draft[] {
  return changes.flatMap(({ before, after }) => (before === null ? [after] : [before, after]));
}

export function planIdsOf(drafts: readonly Draft[]): readonly string[] {
  const subscriptions = drafts.filter(({ type }) => type === 'subscription');
  return [...new Set(subscriptions.flatMap(({ view }) => [String(view['planId']), ...addOnPlanIdsOf(view)]))];
}

function addOnPlanIdsOf({ addOns }: Draft['view']): readonly string[] {
  // Events contain views.
  return (addOns as SubscriptionView['addOns']).map(({ planId }) => planId);
}

/** Adds up cells. Cells that become zero are kept, and change nothing. */
export class CellSum {
  readonly #cells = new Map<string, Cell>();

  add({ day, currency, metric, count, amount }: Cell, sign: 1 | -1 = 1): void {
    const key = `${day} ${currency} ${metric}`;
    const sum = this.#cells.get(key);
    this.#cells.set(key, {
      ...{ day, currency, metric },
      count: (sum?.count ?? 0) + sign * count,
      amount: (sum?.amount ?? 0n) + BigInt(sign) * amount,
    });
  }

  addAll(cells: readonly Cell[], sign: 1 | -1 = 1): void {
    for (const cell of cells) this.add(cell, sign);
  }

  /** Adds what an object adds to the numbers that rows alone determine. */
  addObject(object: CountedObject, zone: TimeZone): void {
    for (const one of contributionsOf(object, zone)) this.add({ ...one, day: one.day ?? now });
  }

  /** Adds what a change adds to the numbers, and subtracts what its object added before. */
  addChange({ createdAtMs, before, after }: PricedChange, zone: TimeZone): void {
    const day = zone.dayOf(createdAtMs);
    for (const one of contributionsOf(after, zone)) this.#contribute(one, day, 1);
    for (const one of before === null ? [] : contributionsOf(before, zone)) this.#contribute(one, day, -1);
    if (after.type !== 'subscription') return;
    const { currency } = after.plan;
    for (const metric of turnsOf(before?.view.status ?? null, after.view.status))
      this.add({ day, currency, metric, count: 1, amount: 0n });
  }

  /** The cells that differ from zero. */
  all(): readonly Cell[] {
    return [...this.#cells.values()].filter(({ count, amount }) => count !== 0 || amount !== 0n);
  }

  /** The cells that differ from zero and that rows alone determine, without the daily changes. */
  computable(): readonly Cell[] {
    return this.all().filter(({ day, metric }) => day === now || !subscriptionMetrics.test(metric));
  }

  /** A current value has a cell for now, and one for its change on this day. */
  #contribute(contribution: Contribution, changedOn: string, sign: 1 | -1): void {
    const { day } = contribution;
    for (const each of day === null ? [now, changedOn] : [day])
      this.add({ ...contribution, day: each }, sign);
  }
}

/** A change, with the plans of its object. */
export interface PricedChange {
  readonly createdAtMs: number;
  readonly before: CountedObject | null;
  readonly after: CountedObject;
}

export function pricedChange({ createdAtMs, before, after }: Change, plans: Plans): PricedChange {
  return { createdAtMs, before: before && priced(before, plans), after: priced(after, plans) };
}

/** Events contain views, so a parsed object of an event is a view. */
export function priced({ type, view }: Draft, plans: Plans): CountedObject {
  if (type !== 'subscription') return { type, view } as unknown as CountedObject;
  const plan = pricedPlan(String(view['planId']), plans);
  const addOnPlans = addOnPlanIdsOf(view).map((planId) => pricedPlan(planId, plans));
  return { type, view, plan, addOnPlans } as unknown as CountedObject;
}

/** A subscription refers to its plans, and plans are never deleted. */
function pricedPlan(planId: string, plans: Plans): PricedPlan {
  const plan = plans.get(planId);
  if (plan === undefined) throw new Error(`the plan of a subscription is missing: ${planId}`);
  return plan;
}
