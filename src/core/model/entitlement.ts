import type { PlanFeatures } from './plan-features.ts';
import type { Subscription } from './subscription.ts';

/** Why a subscription entitles its customer, or why it does not. */
export const entitlementReasons = [
  'active',
  'trialing',
  'grace',
  'past_due',
  'unpaid',
  'canceled',
  'incomplete',
] as const;

type EntitlementReason = (typeof entitlementReasons)[number];

/** How long access lasts after the paid period, for a subscription that is `past_due`. */
interface Grace {
  readonly days: number;
  readonly now: Date;
}

export interface Entitlement {
  readonly entitled: boolean;
  readonly reason: EntitlementReason;
  readonly until: Date | null;
}

/** What decides whether a subscription entitles its customer. */
export type EntitlementTerms = Pick<Subscription, 'status' | 'currentPeriodEnd' | 'trialEnd' | 'paidUntil'>;

const dayMs = 86_400_000;

/** Judges one subscription alone. docs/gating.md has the same rules as a table. */
export function entitlementOf(terms: EntitlementTerms, { days, now }: Grace): Entitlement {
  const { status, currentPeriodEnd, trialEnd, paidUntil } = terms;
  switch (status) {
    case 'active':
      return { entitled: true, reason: status, until: currentPeriodEnd };
    case 'trialing':
      return { entitled: true, reason: status, until: trialEnd };
    case 'past_due': {
      const until = paidUntil === null ? null : new Date(paidUntil.getTime() + days * dayMs);
      const entitled = until !== null && now < until;
      return { entitled, reason: entitled ? 'grace' : status, until };
    }
    case 'incomplete_expired':
      return { entitled: false, reason: 'incomplete', until: null };
    default:
      return { entitled: false, reason: status, until: null };
  }
}

type FeatureValue = PlanFeatures[string];

/** The features of an add-on's plan, and how many units of it the subscription has. */
export interface AddOnFeatures {
  readonly features: PlanFeatures;
  readonly quantity: number;
}

/**
 * The features of one subscription: those of its main plan, joined by those of its add-ons. A boolean is true if it is
 * true in one of them. An integer is the main plan's value plus each add-on's value times its quantity, and `true`
 * means that it is unlimited. For texts and other mixed types, the main plan's value counts. Without a value of the
 * main plan, the first add-on's takes its place.
 */
export function joinAddOns(main: PlanFeatures, addOns: readonly AddOnFeatures[]): PlanFeatures {
  if (addOns.length === 0) return main;
  const values = new Map(Object.entries(main).map(([name, value]) => [name, [{ value, quantity: 1 }]]));
  for (const { features, quantity } of addOns) {
    for (const [name, value] of Object.entries(features))
      values.set(name, [...(values.get(name) ?? []), { value, quantity }]);
  }
  return Object.fromEntries(
    [...values].flatMap(([name, [first, ...others]]) =>
      first === undefined ? [] : [[name, joinValues(first, others)]],
    ),
  );
}

interface CountedValue {
  readonly value: FeatureValue;
  readonly quantity: number;
}

function joinValues(first: CountedValue, others: readonly CountedValue[]): FeatureValue {
  if (typeof first.value === 'string') return first.value;
  if ([first, ...others].some(({ value }) => value === true)) return true;
  return typeof first.value === 'number' ? sumOf([first, ...others]) : false;
}

/** The sum of the integers. It stops at the largest integer that JSON numbers hold exactly. */
function sumOf(values: readonly CountedValue[]): number {
  const products = values.map(({ value, quantity }) =>
    typeof value === 'number' ? BigInt(value) * BigInt(quantity) : 0n,
  );
  const sum = products.reduce((total, product) => total + product, 0n);
  return Math.min(Math.max(Number(sum), Number.MIN_SAFE_INTEGER), Number.MAX_SAFE_INTEGER);
}

/**
 * The features of all these plans together, the plan of the newest subscription first. A boolean is true if it is true
 * in one of them. The largest integer counts. For other values, and for mixed types, the newest subscription's value
 * counts.
 */
export function mergeFeatures(newestFirst: readonly PlanFeatures[]): PlanFeatures {
  const [only, ...others] = newestFirst;
  if (only !== undefined && others.length === 0) return only;
  const values = new Map<string, [FeatureValue, ...FeatureValue[]]>();
  for (const features of newestFirst) {
    for (const [name, value] of Object.entries(features)) {
      const others = values.get(name);
      if (others === undefined) values.set(name, [value]);
      else others.push(value);
    }
  }
  return Object.fromEntries([...values].map(([name, all]) => [name, mergeValues(all)]));
}

function mergeValues(newestFirst: readonly [FeatureValue, ...FeatureValue[]]): FeatureValue {
  if (newestFirst.every((value) => typeof value === 'boolean')) return newestFirst.includes(true);
  if (newestFirst.every((value) => typeof value === 'number')) return Math.max(...newestFirst);
  return newestFirst[0];
}
