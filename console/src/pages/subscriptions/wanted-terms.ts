import type {
  Plan,
  Subscription,
  SubscriptionChange,
  SubscriptionChangePreview,
} from '../../../../client/src/index.ts';
import { quantityMax } from '../../../../src/subscriptions/changes/subscription-patch.ts';
import { localTime } from '../../format/local-time.ts';
import { money } from '../../format/money.ts';

type Proration = NonNullable<SubscriptionChange['proration']>;

/** What the inputs of a change say. */
export interface WantedTerms {
  readonly planId: string;
  /** As typed. */
  readonly quantity: string;
  readonly when: 'now' | 'periodEnd';
  readonly proration: Proration;
}

/** The body of a change and of its preview. */
export interface ChangeBody {
  readonly planId: string;
  readonly quantity: number;
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
  { planId, quantity, when, proration }: WantedTerms,
  current: Pick<Subscription, 'planId' | 'quantity'>,
): ChangeBody | undefined {
  const count = parseQuantity(quantity);
  if (count === undefined || (planId === current.planId && count === current.quantity)) return undefined;
  return { planId, quantity: count, when, ...(when === 'now' ? { proration } : {}) };
}

/** The plans that a subscription can change to: active ones in its currency, and the one that it has. */
export function selectablePlans(plans: readonly Plan[], current: Plan | undefined): readonly Plan[] {
  return plans
    .filter(({ id, active, currency }) => id === current?.id || (active && currency === current?.currency))
    .toSorted((a, b) => a.name.localeCompare(b.name) || a.amount - b.amount);
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
