import { Failure, isDefiniteRefusal } from '../errors.ts';

/** The processor's longest code. */
export const promotionCodeLengthMax = 500;

/**
 * The processor's codes have letters, digits and dashes. It may allow other visible characters later, so these are
 * looked up too.
 */
const promotionCode = /^[!-~]+$/;

/** A malformed code matches no promotion code. */
export function isPromotionCode(text: string): boolean {
  return promotionCode.test(text);
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

export function promotionCodeInvalid(reason?: string): Failure {
  return new Failure(
    'promotion_code_invalid',
    reason ?? 'The promotion code does not exist, has expired or was used up, or is for another customer.',
    { effect: 'none' },
  );
}
