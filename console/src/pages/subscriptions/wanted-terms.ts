import type { Plan, Subscription, SubscriptionChange, SubscriptionChangePreview } from '@till/client';
import { quantityMax } from '../../../../src/features/subscriptions/changes/subscription-patch.ts';
import { localTime } from '../../format/local-time.ts';
import { money } from '../../format/money.ts';

type AddOns = Subscription['addOns'];
type Proration = NonNullable<SubscriptionChange['proration']>;

export interface WantedAddOn {
  readonly planId: string;
  /** As typed. */
  readonly quantity: string;
}

/** What the inputs of a change say. */
export interface WantedTerms {
  readonly planId: string;
  /** As typed. */
  readonly quantity: string;
  readonly addOns: readonly WantedAddOn[];
  readonly when: 'now' | 'periodEnd';
  readonly proration: Proration;
}

/** The body of a change and of its preview. */
export interface ChangeBody {
  readonly planId: string;
  readonly quantity: number;
  /** All add-ons after the change. */
  readonly addOns: AddOns;
  readonly when: 'now' | 'periodEnd';
  readonly proration?: Proration;
}

/** A typed quantity. Undefined if the API would refuse it. */
export function parseQuantity(text: string): number | undefined {
  if (!/^\d{1,7}$/.test(text.trim())) return undefined;
  const quantity = Number(text);
  return quantity >= 1 && quantity <= quantityMax ? quantity : undefined;
}

/** What to send for these inputs. Undefined if they change nothing, or are not valid. */
export function changeBody(
  { planId, quantity, addOns: typed, when, proration }: WantedTerms,
  current: Pick<Subscription, 'planId' | 'quantity' | 'addOns'>,
): ChangeBody | undefined {
  const count = parseQuantity(quantity);
  const addOns = parseAddOns(typed);
  if (count === undefined || addOns === undefined) return undefined;
  const isSame =
    planId === current.planId && count === current.quantity && isSameList(addOns, current.addOns);
  return isSame
    ? undefined
    : { planId, quantity: count, addOns, when, ...(when === 'now' ? { proration } : {}) };
}

/** Undefined if the API would refuse one of them. */
export function parseAddOns(typed: readonly WantedAddOn[]): AddOns | undefined {
  const addOns = typed.flatMap(({ planId, quantity: text }) => {
    const quantity = parseQuantity(text);
    return planId === '' || quantity === undefined ? [] : [{ planId, quantity }];
  });
  return addOns.length === typed.length ? addOns : undefined;
}

function isSameList(one: AddOns, other: AddOns): boolean {
  const isIn = ({ planId, quantity }: AddOns[number]) =>
    other.some((each) => each.planId === planId && each.quantity === quantity);
  return one.length === other.length && one.every(isIn);
}

/** The plans that a new subscription can have. */
export function sellablePlans(plans: readonly Plan[]): readonly Plan[] {
  return plans.filter(({ active, addOn }) => active && !addOn).toSorted(byName);
}

/** The plans that a subscription can change to: active main plans in its currency, and the one that it has. */
export function selectablePlans(plans: readonly Plan[], current: Plan | undefined): readonly Plan[] {
  return plans
    .filter(
      ({ id, active, addOn, currency }) =>
        id === current?.id || (active && !addOn && currency === current?.currency),
    )
    .toSorted(byName);
}

/**
 * The add-ons that a subscription to a main plan can have: active ones with its currency and interval, and those that
 * it has.
 */
export function selectableAddOns(
  plans: readonly Plan[],
  main: Plan | undefined,
  current: AddOns,
): readonly Plan[] {
  return plans
    .filter(
      ({ id, active, addOn, currency, interval, intervalCount }) =>
        current.some(({ planId }) => planId === id) ||
        (active &&
          addOn &&
          currency === main?.currency &&
          interval === main.interval &&
          intervalCount === main.intervalCount),
    )
    .toSorted(byName);
}

function byName(a: Plan, b: Plan): number {
  return a.name.localeCompare(b.name) || a.amount - b.amount;
}

/** When the customer pays for a change, and how much. */
export function costText(
  { amountDue, currency, billedNow }: Pick<SubscriptionChangePreview, 'amountDue' | 'currency' | 'billedNow'>,
  { when, proration }: Pick<ChangeBody, 'when' | 'proration'>,
  { card, currentPeriodEnd }: { readonly card: string; readonly currentPeriodEnd: string | null },
): readonly string[] {
  const amount = money(amountDue, currency);
  const renewal = currentPeriodEnd === null ? '' : ` on ${localTime(currentPeriodEnd)}`;
  if (!billedNow) return [`Nothing is charged now. The next invoice${renewal} is ${amount}.`];
  const startsPeriod = when === 'now' && proration !== 'invoice';
  return [
    ...(startsPeriod ? ['A new period starts now, and is billed now in any case.'] : []),
    ...(amountDue === 0
      ? ['Nothing is charged now: credits cover the invoice that is created now.']
      : [
          `${amount} is charged to ${card} now.`,
          'If the card is declined, nothing changes. If its bank asks for authentication, the change waits until the ' +
            'customer has confirmed it.',
        ]),
  ];
}
