import type { Entitlement, Plan, Subscription } from '@till/client';
import { priceOf } from '../../format/interval.ts';
import { localDay, localTime } from '../../format/local-time.ts';
import { money } from '../../format/money.ts';

type Status = Subscription['status'];

const ended: readonly Status[] = ['canceled', 'incomplete_expired'];
const payable: readonly Status[] = ['past_due', 'unpaid', 'incomplete'];

export function hasEnded({ status }: Pick<Subscription, 'status'>): boolean {
  return ended.includes(status);
}

/** Whether plan, quantity and end can be changed: not before the first payment, and not after the end. */
export function canChange(subscription: Pick<Subscription, 'status'>): boolean {
  return !hasEnded(subscription) && subscription.status !== 'incomplete';
}

/** Whether an invoice may be open that can be paid. */
export function canPay({ status }: Pick<Subscription, 'status'>): boolean {
  return payable.includes(status);
}

/** `Gold`, or `3 × Gold`. */
export function unitsText(plan: Pick<Plan, 'name'> | undefined, quantity: number): string {
  const name = plan?.name ?? 'another plan';
  return quantity === 1 ? name : `${quantity} × ${name}`;
}

/** What a subscription bills, or will bill after a change. */
interface Terms extends Pick<Subscription, 'quantity' | 'addOns'> {
  /** Null if it is not a Till plan. */
  readonly planId: string | null;
}

/** `3 × Gold + 2 × Seats`. */
export function termsText(plans: readonly Plan[] | undefined, terms: Terms): string {
  return itemsOf(plans, terms)
    .map(({ plan, quantity }) => unitsText(plan, quantity))
    .join(' + ');
}

/** `3 × Gold (3 × €20.00 per month) + Support (€5.00 per month)`. */
export function termsWithPrice(plans: readonly Plan[], terms: Terms): string {
  return itemsOf(plans, terms)
    .map(({ plan, quantity }) => {
      const text = unitsText(plan, quantity);
      return plan === undefined ? text : `${text} (${priceOf(plan, quantity)})`;
    })
    .join(' + ');
}

function itemsOf(plans: readonly Plan[] | undefined, { planId, quantity, addOns }: Terms) {
  return [{ planId, quantity }, ...addOns].map((item) => ({
    plan: plans?.find(({ id }) => id === item.planId),
    quantity: item.quantity,
  }));
}

type Discount = NonNullable<Subscription['discount']>;

/** `20 % off with the code WELCOME, until Dec 15, 2026`. */
export function discountText({ code, percentOff, amountOff, currency, endsAt }: Discount): string {
  const off =
    percentOff === null
      ? amountOff !== null && currency !== null
        ? `${money(amountOff, currency)} off`
        : 'A discount'
      : `${percentOff} % off`;
  return `${off}${code === null ? '' : ` with the code ${code}`}${endsAt === null ? '' : `, until ${localDay(endsAt)}`}`;
}

const reasons: Readonly<Record<Entitlement['reason'], string>> = {
  active: 'the subscription is active',
  trialing: 'the trial lasts',
  grace: 'the payment is due, and the grace period lasts',
  past_due: 'the payment is due, and no paid or grace period lasts',
  unpaid: 'the subscription is not paid',
  canceled: 'the subscription has ended',
  incomplete: 'the first payment is not complete',
};

/** Why a subscription entitles its customer or not, and until when. */
export function entitlementText({ entitled, reason, until }: Entitlement): string {
  const when = entitled && until !== null ? `, until ${localTime(until)}` : '';
  return `${entitled ? 'Yes' : 'No'}: ${reasons[reason]}${when}`;
}
