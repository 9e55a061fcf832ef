import { type Checkout, type CheckoutFacts, resultsOf } from '#core/model/checkout.ts';
import { rowTime } from '#core/model/facts.ts';
import type { Plan } from '#core/model/plan.ts';
import { by } from '#core/model/subscription-items.ts';
import { derivedId, idTime } from '#core/platform/id.ts';

/**
 * The id of the subscription or payment that a checkout results in. It is derived from the id of the checkout, which
 * the claim fixes, so every process and every repeated request knows it.
 */
export function resultIdOf(checkoutId: string): string {
  return derivedId('checkout', checkoutId, idTime(checkoutId));
}

interface CheckoutLinks {
  readonly id: string;
  readonly customerId: string;
  readonly planOf: (processorPriceId: string) => Plan | undefined;
  readonly now: Date;
}

/** Undefined if the main plan has no row. */
export function toCheckout(
  facts: CheckoutFacts,
  { id, customerId, planOf, now }: CheckoutLinks,
): Checkout | undefined {
  const items = facts.items.flatMap(({ processorPriceId, quantity }) => {
    const plan = planOf(processorPriceId);
    return plan === undefined ? [] : [{ plan, quantity }];
  });
  const main = items.find(({ plan }) => !plan.addOn) ?? items[0];
  if (facts.mode === 'subscription' && main === undefined) return undefined;
  const {
    processorCheckoutSessionId,
    mode,
    status,
    paymentStatus,
    amount,
    currency,
    trialPeriodDays,
    terms,
  } = facts;
  return {
    ...{ id, processorCheckoutSessionId, customerId, mode, status, paymentStatus, amount, currency },
    planId: main?.plan.id ?? null,
    quantity: main?.quantity ?? null,
    addOns: items
      .filter((item) => item !== main)
      .map(({ plan, quantity }) => ({ planId: plan.id, quantity }))
      .toSorted(by(({ planId }) => planId)),
    trialPeriodDays,
    ...resultsOf(facts, resultIdOf(id), now),
    terms,
    expiresAt: facts.expiresAt,
    metadata: facts.metadata,
    ...rowTime(facts.asOf),
    createdAt: idTime(id),
    updatedAt: now,
    revision: 0,
  };
}
