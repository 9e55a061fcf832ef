import { isDefiniteRefusal } from '#core/errors.ts';
import { isPaymentMethodId, paymentMethodNotFound } from '#core/model/payment-method.ts';
import type { PaymentMethodCalls } from './port/processor.ts';

/**
 * The failure to report after a charge with a payment method failed: a 404 if the payment method does not belong to the
 * customer. The processor's codes do not distinguish this from other refusals.
 */
export async function explainMethodRefusal(
  paymentMethods: PaymentMethodCalls,
  error: unknown,
  { id, processorCustomerId }: { readonly id: string | undefined; readonly processorCustomerId: string },
): Promise<unknown> {
  if (id === undefined || !isDefiniteRefusal(error)) return error;
  return (await isMethodOf(paymentMethods, id, processorCustomerId)) ? error : paymentMethodNotFound();
}

/**
 * Fails if the payment method does not belong to the customer. For a write that changes something before it charges.
 */
export async function requireMethodOf(
  paymentMethods: PaymentMethodCalls,
  id: string,
  processorCustomerId: string,
): Promise<void> {
  if (!(await isMethodOf(paymentMethods, id, processorCustomerId))) throw paymentMethodNotFound();
}

async function isMethodOf(
  paymentMethods: PaymentMethodCalls,
  id: string,
  processorCustomerId: string,
): Promise<boolean> {
  const method = isPaymentMethodId(id) ? await paymentMethods.read(id) : null;
  return method?.processorCustomerId === processorCustomerId;
}
