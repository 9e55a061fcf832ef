import type { Stripe } from 'stripe';
import type { PromotionCodeCalls } from '../../port/processor.ts';
import type { AdapterContext } from '../wire/adapter-context.ts';
import { fetchFrom, findFirst } from '../wire/listing.ts';
import { WireObject } from '../wire/wire-object.ts';

export function createPromotionCodeCalls(context: AdapterContext): PromotionCodeCalls {
  /** Each customer can have a restricted code with the same text, so the list can be long. */
  const findOf = (customer: string | null, filter: Stripe.PromotionCodeListParams) =>
    findFirst(
      context,
      'promotion_codes.list',
      fetchFrom(context.stripe.promotionCodes, { ...filter, active: true }),
      (value) => {
        const code = WireObject.parse(value, 'promotion_code').expectKind('promotion_code');
        return code.referenceOrNull('customer') === customer ? code.id() : null;
      },
    );
  return {
    find: async ({ code, processorCustomerId: customer }) =>
      (await findOf(customer, { code, customer })) ?? findOf(null, { code }),
  };
}
