import { Failure } from '#core/errors.ts';
import type { SubscriptionToPay } from '#processor/port/invoice-payment.ts';
import type { Processor } from '#processor/port/processor.ts';

/**
 * Fails if no payment method can pay the invoice of a resumption: the subscription would stay paused, with an open
 * invoice. A resumption that bills nothing needs no payment method.
 */
export async function requireChargeable(
  processor: Processor,
  current: SubscriptionToPay,
  processorCustomerId: string,
): Promise<void> {
  if (await hasUsableMethod(processor, current, processorCustomerId)) return;
  const { processorSubscriptionId } = current.subscription;
  const attempt = await processor.subscriptionChanges.preview({ processorSubscriptionId, resumes: true });
  const billsNothing = attempt.outcome === 'done' && (attempt.value?.amountDue ?? 0) === 0;
  if (!billsNothing) throw noPaymentMethod();
}

/** The processor charges the default of the subscription, or else that of the customer. */
async function hasUsableMethod(
  { paymentMethods }: Processor,
  { paymentMethodId }: SubscriptionToPay,
  processorCustomerId: string,
): Promise<boolean> {
  const id = paymentMethodId ?? (await readDefault());
  if (id === null) return false;
  const method = await paymentMethods.read(id);
  // A detached payment method cannot be charged. Older kinds cannot be read here, so they count as usable.
  return method === null || method.processorCustomerId === processorCustomerId;

  async function readDefault(): Promise<string | null> {
    const read = await paymentMethods.readDefault(processorCustomerId);
    return read === 'unknown' ? null : read.paymentMethodId;
  }
}

function noPaymentMethod(): Failure {
  return new Failure(
    'processor_rejected',
    'The subscription and its customer have no payment method to charge. Save one, or name one in the request.',
    { effect: 'none' },
  );
}
