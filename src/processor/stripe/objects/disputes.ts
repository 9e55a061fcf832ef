import type { Stripe } from 'stripe';
import type { AsOf } from '../../../mirrors/facts.ts';
import type { DisputeFacts } from '../../../payments/dispute.ts';
import type { DisputeCalls, Pages } from '../../processor.ts';
import type { AdapterContext } from '../wire/adapter-context.ts';
import { isMissing } from '../wire/attempt.ts';
import { lookUpPagesMax, mapPages, resyncPagesMax } from '../wire/listing.ts';
import { withKnownLinks } from '../wire/wire-object.ts';
import { isLinked, mapDispute } from './map-dispute.ts';

export function createDisputeCalls(context: AdapterContext): DisputeCalls {
  const { stripe, call } = context;
  return {
    read: (processorDisputeId) =>
      call('disputes.read', {
        kind: 'read',
        send: (options) => stripe.disputes.retrieve(processorDisputeId, {}, options),
        take: (response, asOf) => linked(response, asOf)[0] ?? null,
        refused: (refusal) => (isMissing(refusal) ? null : undefined),
      }),

    listOfPayment: async (processorPaymentIntentId) => {
      const disputes = [];
      const filter = { payment_intent: processorPaymentIntentId };
      for await (const page of listPages(context, filter, lookUpPagesMax)) disputes.push(...page);
      return disputes;
    },

    list: () => listPages(context, {}, resyncPagesMax),
  };
}

/** Without those that belong to no payment intent. */
async function* listPages(
  context: AdapterContext,
  filter: Stripe.DisputeListParams & { readonly payment_intent?: string },
  pagesMax: number,
): Pages<DisputeFacts> {
  const pages = mapPages(
    context,
    'disputes.list',
    (page, options) => context.stripe.disputes.list({ ...filter, ...page }, options),
    // Where the listing is for one payment, all of its disputes belong to that payment.
    (value, asOf) => linked(withKnownLinks(value, filter), asOf),
    pagesMax,
  );
  for await (const page of pages) yield page.flat();
}

function linked(value: unknown, asOf: AsOf): readonly DisputeFacts[] {
  const facts = mapDispute(value, asOf);
  return isLinked(facts) ? [facts] : [];
}
