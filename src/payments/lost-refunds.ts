import { isOurId } from '../platform/id.ts';
import type { Database } from '../platform/postgres.ts';
import type { Processor } from '../processor/processor.ts';
import type { PaymentService } from './payment-service.ts';
import type { PaymentStore } from './payment-store.ts';

interface LostRefundParts {
  readonly database: Database;
  readonly payments: PaymentService;
  readonly paymentStore: PaymentStore;
  readonly processor: Processor;
}

/**
 * The payment intent of a refund that has no row. If the refund carries a Till id but its payment has no row either,
 * the payment is recovered first. Undefined if the refund is not ours.
 */
export async function recoverPaymentOf(
  processorRefundId: string,
  { database, payments, paymentStore, processor }: LostRefundParts,
): Promise<string | undefined> {
  const facts = await processor.refunds.read(processorRefundId);
  const intentId = facts?.processorPaymentIntentId ?? null;
  if (facts === null || intentId === null || !isOurId(facts.localId)) return undefined;
  const find = () => paymentStore.findByProcessorIds(database, [intentId]);
  if ((await find()).length === 0) await payments.refresh(intentId);
  return (await find()).length > 0 ? intentId : undefined;
}
