import type { NewPlan, Plan, PlanChange } from '@till/client';
import { intervalCountMax, intervalsMax } from '../../../../src/core/model/plan.ts';
import { groupLengthMax, isGroupName } from '../../../../src/core/model/plan-features.ts';
import { isCurrency, parseMoney } from '../../format/money.ts';
import { type Entry, metadataChange, parseFeatures, parseMetadata } from '../../parts/entries.ts';

/** The API's own limits. */
const nameLengthMax = 256;
export const amountMax = 999_999_999_999;

/** The inputs of a plan, as typed. */
export interface PlanInputs {
  readonly name: string;
  /** Not used for an add-on, which is in no group. */
  readonly group: string;
  readonly addOn: boolean;
  /** Counts for a plan without a group. */
  readonly repeatable: boolean;
  readonly features: readonly Entry[];
  readonly metadata: readonly Entry[];
}

export interface NewPlanInputs extends PlanInputs {
  readonly amount: string;
  readonly currency: string;
  readonly interval: Plan['interval'];
  readonly intervalCount: string;
}

/** What is wrong with each input. Empty if nothing is. */
export type PlanProblems = Readonly<Record<Exclude<keyof PlanInputs, 'addOn' | 'repeatable'>, string>>;

/** What to send to change a plan: only what differs. Undefined if nothing does, or an input is not valid. */
export function planChange(
  plan: Plan,
  inputs: PlanInputs,
): { readonly body: PlanChange | undefined; readonly problems: PlanProblems } {
  const { values, problems } = parse(inputs);
  if (values === undefined) return { body: undefined, problems };
  const { name, group, addOn, repeatable, features, metadata } = values;
  const changed = metadataChange(plan.metadata, metadata);
  const body = {
    ...(name === plan.name ? {} : { name }),
    ...(addOn === plan.addOn ? {} : { addOn }),
    ...(addOn || group === plan.group ? {} : { group }),
    ...(repeatable === plan.repeatable ? {} : { repeatable }),
    ...(isSame(features, plan.features) ? {} : { features }),
    ...(Object.keys(changed).length === 0 ? {} : { metadata: changed }),
  };
  return { body: Object.keys(body).length === 0 ? undefined : body, problems };
}

/** What to send to create a plan. Undefined if an input is not valid. */
export function newPlan(inputs: NewPlanInputs): {
  readonly body: (NewPlan & Pick<Plan, 'intervalCount'>) | undefined;
  readonly problems: PlanProblems;
} {
  const { values, problems } = parse(inputs);
  const { interval } = inputs;
  const currency = inputs.currency.trim().toLowerCase();
  const amount = isCurrency(currency) ? parseMoney(inputs.amount, currency) : undefined;
  const intervalCount = parseIntervalCount(inputs.intervalCount, interval);
  if (values === undefined || amount === undefined || amount > amountMax || intervalCount === undefined)
    return { body: undefined, problems };
  return { body: { ...values, amount, currency, interval, intervalCount }, problems };
}

/** The most intervals between two bills: at least every three years. */
export function intervalCountLimit(interval: Plan['interval']): number {
  return Math.min(intervalCountMax, intervalsMax[interval]);
}

export function parseIntervalCount(text: string, interval: Plan['interval']): number | undefined {
  const count = /^\d{1,2}$/.test(text.trim()) ? Number(text) : 0;
  return count >= 1 && count <= intervalCountLimit(interval) ? count : undefined;
}

function parse(inputs: PlanInputs) {
  const name = inputs.name.trim();
  const group = inputs.group.trim();
  const features = parseFeatures(inputs.features);
  const metadata = parseMetadata(inputs.metadata);
  const isNamed = name !== '' && name.length <= nameLengthMax;
  const { addOn, repeatable } = inputs;
  const isGrouped = addOn || group === '' || isGroupName(group);
  const problems: PlanProblems = {
    name: isNamed ? '' : `Enter a name of at most ${nameLengthMax} characters.`,
    group: isGrouped ? '' : `Enter at most ${groupLengthMax} characters.`,
    features: typeof features === 'string' ? features : '',
    metadata: typeof metadata === 'string' ? metadata : '',
  };
  const isValid = isNamed && isGrouped && typeof features !== 'string' && typeof metadata !== 'string';
  return {
    problems,
    values: isValid
      ? { name, group: addOn || group === '' ? null : group, addOn, repeatable, features, metadata }
      : undefined,
  };
}

function isSame(a: Readonly<Record<string, unknown>>, b: Readonly<Record<string, unknown>>): boolean {
  const keys = Object.keys(a);
  return (
    keys.length === Object.keys(b).length && keys.every((key) => Object.hasOwn(b, key) && a[key] === b[key])
  );
}
