import { isDefiniteRefusal } from '../errors.ts';
import type { PaymentMethodCalls } from '../processor/processor.ts';
import { isPaymentMethodId, paymentMethodNotFound } from './payment-method.ts';

/**
 * The failure to report after a charge with a payment method failed: a 404 if the processor refused it and the payment
 * method is not the customer's. The processor's own codes do not tell that apart from other refusals.
 */
export async function explainMethodRefusal(
  paymentMethods: PaymentMethodCalls,
  error: unknown,
  { id, processorCustomerId }: { readonly id: string | undefined; readonly processorCustomerId: string },
): Promise<unknown> {
  if (id === undefined || !isDefiniteRefusal(error)) return error;
  const method = isPaymentMethodId(id) ? await paymentMethods.read(id) : null;
  return method?.processorCustomerId === processorCustomerId ? error : paymentMethodNotFound();
}
