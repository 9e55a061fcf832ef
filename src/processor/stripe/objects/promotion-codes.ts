import type { Stripe } from 'stripe';
import type { PromotionCodeCalls } from '../../port/processor.ts';
import type { AdapterContext } from '../wire/adapter-context.ts';
import { type Fetch, fetchPages, lookUpPagesMax } from '../wire/listing.ts';
import { WireObject } from '../wire/wire-object.ts';

export function createPromotionCodeCalls(context: AdapterContext): PromotionCodeCalls {
  const { stripe } = context;
  /** Each customer can have a restricted code with the same text, so the list can be long. */
  const findFirst = async (
    filter: Stripe.PromotionCodeListParams,
    isWanted: (customer: string | null) => boolean,
  ): Promise<string | null> => {
    const fetch: Fetch = (page, options) =>
      stripe.promotionCodes.list({ ...filter, active: true, ...page }, options);
    for await (const codes of fetchPages(context, 'promotion_codes.list', fetch, lookUpPagesMax, mapCode)) {
      const wanted = codes.find(({ customer }) => isWanted(customer));
      if (wanted !== undefined) return wanted.id;
    }
    return null;
  };
  return {
    find: async ({ code, processorCustomerId }) =>
      (await findFirst(
        { code, customer: processorCustomerId },
        (customer) => customer === processorCustomerId,
      )) ?? (await findFirst({ code }, (customer) => customer === null)),
  };
}

function mapCode(value: unknown): { readonly id: string; readonly customer: string | null } {
  const code = WireObject.parse(value, 'promotion_code').expectKind('promotion_code');
  return { id: code.id(), customer: code.referenceOrNull('customer') };
}
