import { Failure, isDefiniteRefusal } from '#core/errors.ts';
import type { Customer } from '#core/model/customer.ts';
import type { Processor } from '#processor/port/processor.ts';
import type { CustomerService } from '../customers/customer-service.ts';

/** The processor's longest code. */
export const promotionCodeLengthMax = 500;

/**
 * The processor's codes have letters, digits and dashes. It may allow other visible characters later, so these are
 * looked up too.
 */
const promotionCode = /^[!-~]+$/;

/**
 * The processor's id of the code that a customer entered. A resumed creation may not find the code, because the call
 * before the crash used it up. As after every failed check, the creation then looks up what that call created.
 */
export async function findPromotionCode(
  { customers, processor }: { readonly customers: CustomerService; readonly processor: Processor },
  customer: Customer,
  code: string,
): Promise<string> {
  const { processorCustomerId } = customer;
  try {
    // A malformed code matches no promotion code.
    const found = promotionCode.test(code)
      ? await processor.promotionCodes.find({ code, processorCustomerId })
      : null;
    if (found !== null) return found;
  } catch (error) {
    throw await customers.explainRefusal(error, customer.id);
  }
  // A customer that the processor has deleted, or does not know, has no codes either.
  await customers.correct(customer);
  throw promotionCodeInvalid();
}

/**
 * The failure to report after the creation of a subscription with a promotion code failed. The processor has no error
 * code for each reason, so every refusal that is about the promotion code or its coupon counts.
 */
export function explainCodeRefusal(error: unknown, code: string | undefined): unknown {
  if (code === undefined || !isDefiniteRefusal(error)) return error;
  const { processorParam = '', processorCode = '' } = error.extras;
  const isAboutCode = /discounts|promotion.?code|coupon/i.test(
    [processorParam, processorCode, error.message].join(' '),
  );
  return isAboutCode ? promotionCodeInvalid(error.message) : error;
}

function promotionCodeInvalid(reason?: string): Failure {
  return new Failure(
    'promotion_code_invalid',
    reason ?? 'The promotion code does not exist, has expired or was used up, or is for another customer.',
    { effect: 'none' },
  );
}
