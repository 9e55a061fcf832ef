import { rowTime } from '#core/model/facts.ts';
import { firstValuesOfPayment, noInvoice, type Payment, type PaymentFacts } from '#core/model/payment.ts';
import { derivedId, idTime } from '#core/platform/id.ts';
import type { SubscriptionCharge } from './subscription-charges.ts';

/** The id of the row is derived from the processor's id, so that a lost row gets the same id again. */
export function toChargedPayment(
  facts: PaymentFacts,
  { customerId, ...link }: SubscriptionCharge,
  now: Date,
): Payment {
  const id = derivedId('payment', facts.processorPaymentIntentId, facts.createdAt);
  return { ...toPayment(id, facts, customerId, now), ...link, description: null };
}

export function toPayment(id: string, facts: PaymentFacts, customerId: string, now: Date): Payment {
  return {
    id,
    processorPaymentIntentId: facts.processorPaymentIntentId,
    customerId,
    checkoutId: facts.checkoutId,
    ...noInvoice,
    ...firstValuesOfPayment(facts),
    amountRefunded: 0,
    amountReserved: 0,
    status: facts.status,
    ...rowTime(facts.asOf),
    createdAt: idTime(id),
    updatedAt: now,
    revision: 0,
  };
}
