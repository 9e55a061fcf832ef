import { rowTime } from '../mirrors/facts.ts';
import { idTime } from '../platform/id.ts';
import type { Payment, PaymentFacts } from './payment.ts';

/** The row of a payment, from what the processor says about it; it must carry a Till id. */
export function toPayment(facts: PaymentFacts, customerId: string, now: Date): Payment {
  const id = facts.localId ?? '';
  return {
    id,
    processorPaymentIntentId: facts.processorPaymentIntentId,
    customerId,
    amount: facts.amount,
    amountReceived: facts.amountReceived,
    amountRefunded: 0,
    amountReserved: 0,
    currency: facts.currency,
    intentStatus: facts.status,
    status: facts.status,
    ...rowTime(facts.asOf),
    createdAt: idTime(id),
    updatedAt: now,
    revision: 0,
  };
}
