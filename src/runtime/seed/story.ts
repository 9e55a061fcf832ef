import {
  type Currency,
  type DemoPlan,
  declinedCards,
  demoPlans,
  firstNames,
  firstPlans,
  goodCards,
  largerPlans,
  lastNames,
  oneTimeAmounts,
  products,
} from './catalogue.ts';
import { createRandom, Dice } from './random.ts';

/** An action at a time. `customer` is the customer's number in the story. */
export type Action = { readonly at: number } & (
  | { readonly do: 'create plan'; readonly plan: DemoPlan }
  | { readonly do: 'archive plan'; readonly plan: DemoPlan }
  | {
      readonly do: 'sign up';
      readonly customer: number;
      readonly name: string;
      readonly email: string;
      readonly phone: string | null;
      readonly externalId: string;
    }
  | {
      readonly do: 'subscribe';
      readonly customer: number;
      readonly plan: DemoPlan;
      readonly quantity: number;
      readonly addOn: DemoPlan | null;
      readonly trialDays: number;
      readonly card: string | null;
    }
  | {
      readonly do: 'change';
      readonly customer: number;
      readonly plan?: DemoPlan;
      readonly quantity?: number;
      readonly when: 'now' | 'periodEnd';
    }
  | { readonly do: 'cancel'; readonly customer: number; readonly when: 'now' | 'periodEnd' }
  | { readonly do: 'lose card' | 'bring card' | 'leave'; readonly customer: number }
  | {
      readonly do: 'buy';
      readonly customer: number;
      readonly amount: number;
      readonly currency: Currency;
      readonly description: string;
      readonly cards: readonly string[];
    }
  | { readonly do: 'refund'; readonly customer: number; readonly part: number }
  | { readonly do: 'defend'; readonly customer: number; readonly evidence: string }
);

/** The external id of a customer. */
export function externalIdOf(seed: number, customer: number): string {
  return `demo-${seed}-${customer + 1}`;
}

interface StoryOptions {
  readonly seed: number;
  readonly customers: number;
  /** Unix seconds. */
  readonly from: number;
  readonly to: number;
}

const day = 86_400;
const hour = 3_600;
/** This share of the customers signs up in the first weeks, so that the first months are not empty. */
const launchShare = 0.25;
const launchDays = 30;

/** Everything that happens in the demo shop, in order of time. The same options always give the same story. */
export function tellStory({ seed, customers, from, to }: StoryOptions): readonly Action[] {
  const dice = new Dice(createRandom(seed));
  const names = Object.keys(demoPlans) as DemoPlan[];
  const actions: Action[] = names.map((plan) => ({ at: from, do: 'create plan', plan }));
  actions.push({ at: from + 120 * day, do: 'archive plan', plan: 'early bird eur' });
  for (let customer = 0; customer < customers; customer += 1) {
    const at = signUpTime(dice, { from, to, isLaunch: customer < customers * launchShare });
    actions.push(...customerStory(dice, { seed, customer, at, from, to }));
  }
  return actions.filter(({ at }) => at < to).toSorted((a, b) => a.at - b.at);
}

/** Business grows: later days have more sign-ups than earlier ones. */
function signUpTime(
  dice: Dice,
  { from, to, isLaunch }: { readonly from: number; readonly to: number; readonly isLaunch: boolean },
): number {
  const last = to - day;
  const at = isLaunch
    ? dice.between(from, from + launchDays * day)
    : from + Math.sqrt(dice.between(0, 1)) * (last - from);
  return inWorkingHours(dice, at);
}

/** Moves a time into the hours when most people are awake. */
function inWorkingHours(dice: Dice, at: number): number {
  return Math.floor(at / day) * day + Math.floor(dice.between(6 * hour, 22 * hour));
}

interface Life {
  readonly seed: number;
  readonly customer: number;
  readonly at: number;
  readonly from: number;
  readonly to: number;
}

function customerStory(dice: Dice, life: Life): readonly Action[] {
  const { seed, customer, at, from } = life;
  const currency = dice.pick<Currency>([
    ['eur', 6],
    ['usd', 3],
    ['jpy', 1],
  ]);
  const [first, last] = [dice.oneOf(firstNames), dice.oneOf(lastNames)];
  const number = customer + 1;
  const actions: Action[] = [
    {
      at,
      do: 'sign up',
      customer,
      name: `${first} ${last}`,
      email: `${first}.${last}.${number}@example.com`.toLowerCase(),
      // These numbers are reserved for fiction.
      phone: dice.happens(0.3) ? `+120255501${String(customer % 100).padStart(2, '0')}` : null,
      externalId: externalIdOf(seed, customer),
    },
  ];
  const isEarly = currency === 'eur' && at < from + launchDays * day && dice.happens(0.3);
  if (dice.happens(0.82)) actions.push(...subscriptionStory(dice, life, currency, isEarly));
  actions.push(...purchases(dice, life, currency));
  return actions;
}

/** One in so many customers with a plan that fits also buys the add-on. */
const addOnEvery = 4;

function subscriptionStory(
  dice: Dice,
  { customer, at, to }: Life,
  currency: Currency,
  isEarly: boolean,
): readonly Action[] {
  const plan = isEarly ? 'early bird eur' : dice.pick(firstPlans[currency]);
  const trialDays = dice.happens(0.35) ? 14 : 0;
  const begins = at + dice.whole(60, 1_800);
  const quantity = plan.startsWith('team') && dice.happens(0.4) ? dice.whole(2, 8) : 1;
  // A trial without a card is not followed by a paid period.
  const card = trialDays > 0 && dice.happens(0.3) ? null : dice.pick(goodCards);
  const { currency: sold, interval } = demoPlans[plan];
  const addOn = sold === 'eur' && interval === 'month' && customer % addOnEvery === 0 ? 'backups eur' : null;
  const actions: Action[] = [
    { at: begins, do: 'subscribe', customer, plan, quantity, addOn, trialDays, card },
  ];
  if (card === null) return actions;
  const later = (fromDays: number, toDays: number) =>
    inWorkingHours(dice, begins + dice.between(fromDays, toDays) * day);
  const larger = largerPlans[plan];
  if (larger !== undefined && dice.happens(0.25))
    actions.push({
      at: later(40, 200),
      do: 'change',
      customer,
      plan: larger,
      when: dice.happens(0.6) ? 'now' : 'periodEnd',
    });
  else if (quantity > 1 && dice.happens(0.4))
    actions.push({
      at: later(30, 150),
      do: 'change',
      customer,
      quantity: quantity + dice.whole(1, 5),
      when: 'now',
    });
  if (dice.happens(0.3))
    actions.push({
      at: later(20, 330),
      do: 'cancel',
      customer,
      when: dice.happens(0.75) ? 'periodEnd' : 'now',
    });
  if (dice.happens(0.15)) {
    const lostAt = later(15, 200);
    actions.push({ at: lostAt, do: 'lose card', customer });
    // The next renewal fails within a month. Some customers notice.
    if (dice.happens(0.6))
      actions.push({ at: lostAt + Math.round(dice.between(34, 38) * day), do: 'bring card', customer });
  }
  if (dice.happens(0.05)) actions.push({ at: later(5, 60), do: 'refund', customer, part: 1 });
  if (dice.happens(0.02)) actions.push({ at: Math.min(later(60, 300), to), do: 'leave', customer });
  return actions;
}

function purchases(dice: Dice, { customer, at, to }: Life, currency: Currency): readonly Action[] {
  const actions: Action[] = [];
  const months = (to - at) / (30 * day);
  const count = Math.round(dice.between(0.25, 0.45) * months) + (dice.happens(0.4) ? 1 : 0);
  for (let number = 0; number < count; number += 1) {
    const boughtAt = inWorkingHours(dice, dice.between(at + day, to));
    const isDisputed = dice.happens(0.02);
    const last = isDisputed ? 'pm_card_createDispute' : dice.pick(goodCards);
    const cards = dice.pick<readonly string[]>([
      [[last], 88],
      [[dice.oneOf(declinedCards), last], 7],
      [[dice.oneOf(declinedCards)], 3],
      [[], 2],
    ]);
    const what = {
      amount: dice.oneOf(oneTimeAmounts[currency]),
      currency,
      description: dice.oneOf(products),
    };
    actions.push({ at: boughtAt, do: 'buy', customer, ...what, cards });
    if (isDisputed && dice.happens(0.7)) {
      const evidence = dice.happens(0.5) ? 'winning_evidence' : 'losing_evidence';
      actions.push({ at: boughtAt + dice.whole(2, 8) * day, do: 'defend', customer, evidence });
    } else if (dice.happens(0.06))
      actions.push({
        at: boughtAt + dice.whole(1, 20) * day,
        do: 'refund',
        customer,
        part: dice.oneOf([1, 1, 0.5, 0.25]),
      });
  }
  return actions;
}
