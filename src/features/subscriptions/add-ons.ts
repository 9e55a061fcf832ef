import { Failure, invalidRequest, requireFound } from '#core/errors.ts';
import { activePlan, type Plan, planArchived } from '#core/model/plan.ts';
import { by, type PlanQuantity } from '#core/model/subscription-items.ts';
import { ReservationHeld } from '#engine/idempotency/operation.ts';
import type { PlanService } from '../plans/plan-service.ts';

/** A plan that a request lists. */
export interface ListedPlan {
  readonly plan: Plan;
  readonly quantity: number;
}

/** Limits the size of a request. The processor decides how many items a subscription can have. */
export const addOnsMax = 200;

/** An add-on in a body. The quantity is 1 by default. */
interface AddOnInput {
  readonly planId: string;
  readonly quantity?: number;
}

/**
 * The add-ons of a body, in the order of `planId`, so that the order of the list makes no difference to the identity of
 * the request. Fails if a plan is listed twice, or is the main plan too.
 */
export function parseAddOns(
  input: readonly AddOnInput[],
  mainPlanId: string | undefined,
): readonly PlanQuantity[] {
  const addOns = input.map(({ planId, quantity = 1 }) => ({ planId: planId.toLowerCase(), quantity }));
  for (const [index, { planId }] of addOns.entries()) {
    const path = `body.addOns.${index}.planId`;
    if (addOns.findIndex((other) => other.planId === planId) !== index)
      throw invalidRequest(path, 'must be listed once. To bill more units of a plan, raise its quantity');
    if (planId === mainPlanId?.toLowerCase()) throw invalidRequest(path, 'must not be the main plan');
  }
  return addOns.toSorted(by(({ planId }) => planId));
}

/** The plans that are sold together in a new subscription, the main plan first. Fails unless they can be. */
export async function requireSoldPlans(
  plans: PlanService,
  wanted: {
    readonly planId: string;
    readonly quantity?: number | undefined;
    readonly addOns?: readonly PlanQuantity[] | undefined;
  },
): Promise<[ListedPlan, ...ListedPlan[]]> {
  const { planId, quantity = 1, addOns = [] } = wanted;
  const found = await Promise.all(
    [planId, ...addOns.map((addOn) => addOn.planId)].map((id) => plans.find(id)),
  );
  const plan = requireMainPlan(activePlan(found[0]));
  const others = addOns.map((addOn, index) => {
    const listed = requireAddOn(found[index + 1]);
    requireSameTerms(listed, plan);
    return { plan: listed, quantity: addOn.quantity };
  });
  waitForAddOnChange([plan, ...others.map((other) => other.plan)]);
  return [{ plan, quantity }, ...others];
}

/** Fails unless the plan can be the main plan of a subscription. */
export function requireMainPlan(plan: Plan): Plan {
  if (plan.addOn)
    throw new Failure(
      'plan_is_add_on',
      'The plan of planId is an add-on. Choose a plan that is not an add-on, and list this one in addOns.',
    );
  return plan;
}

/** Fails unless the plan can become an add-on. */
export function requireAddOn(found: Plan | undefined): Plan {
  const plan = requireFound('plan', found);
  if (!plan.addOn)
    throw new Failure(
      'plan_is_no_add_on',
      `The plan ${plan.id} in addOns is not an add-on. List only plans whose addOn is true.`,
    );
  if (!plan.active) throw planArchived();
  return plan;
}

/** Fails unless the add-on is billed like its main plan. */
function requireSameTerms(addOn: Plan, main: Plan): void {
  requireSameCurrency(addOn, main);
  const [interval, mainInterval] = [intervalOf(addOn), intervalOf(main)];
  if (interval !== mainInterval) throw intervalMismatch(addOn.processorPriceId, interval, mainInterval);
}

/** Fails unless the plan is billed in this currency. */
export function requireSameCurrency(plan: Plan, { currency }: Pick<Plan, 'currency'>): void {
  if (plan.currency !== currency)
    throw new Failure(
      'currency_mismatch',
      `The subscription is billed in ${currency}, and the plan in ${plan.currency}. Choose a plan in the same currency.`,
    );
}

export function intervalMismatch(price: string, interval: string, mainInterval: string): Failure {
  return new Failure(
    'interval_mismatch',
    `The price ${price} bills every ${spoken(interval)}, and the main plan every ${spoken(mainInterval)}. List add-ons ` +
      'with the interval of the main plan.',
  );
}

/** `1 month` as `month`, and `3 month` as `3 months`. */
function spoken(interval: string): string {
  const [count, unit] = interval.split(' ');
  return count === '1' ? String(unit) : `${interval}s`;
}

/** Equal intervals have equal texts, such as `1 month`. */
export function intervalOf({ interval, intervalCount }: Pick<Plan, 'interval' | 'intervalCount'>): string {
  return `${intervalCount} ${interval}`;
}

/** Makes a request wait while `addOn` of a plan that it gives to a subscription changes. */
export function waitForAddOnChange(plans: readonly Plan[]): void {
  for (const { addOnClaimId } of plans)
    if (addOnClaimId !== null) throw new ReservationHeld(addOnClaimId, 'fail');
}
