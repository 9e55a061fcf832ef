import type { Stripe } from 'stripe';
import type { DisputeFacts } from '../../../model/dispute.ts';
import type { ListingStart, Pages } from '../../port/pages.ts';
import type { DisputeCalls } from '../../port/processor.ts';
import type { AdapterContext } from '../wire/adapter-context.ts';
import { nullIfMissing } from '../wire/attempt.ts';
import { lookUpPagesMax, mapPages } from '../wire/listing.ts';
import { withKnownLinks } from '../wire/wire-object.ts';
import { isLinked, mapDispute } from './map-dispute.ts';

export function createDisputeCalls(context: AdapterContext): DisputeCalls {
  const { stripe, call } = context;
  return {
    read: (processorDisputeId) =>
      call.read('disputes.read', {
        send: (options) => stripe.disputes.retrieve(processorDisputeId, {}, options),
        take: (response, asOf) => {
          const facts = mapDispute(response, asOf);
          return isLinked(facts) ? facts : null;
        },
        refused: nullIfMissing,
      }),

    listOfPayment: async (processorPaymentIntentId) => {
      const disputes = [];
      const filter = { payment_intent: processorPaymentIntentId };
      for await (const page of listPages(context, filter, { pagesMax: lookUpPagesMax }))
        disputes.push(...page.items);
      return disputes;
    },

    list: (place) => listPages(context, { expand: ['data.payment_intent'] }, place),
  };
}

/** Leaves out disputes that belong to no payment intent. */
async function* listPages(
  context: AdapterContext,
  filter: Stripe.DisputeListParams & { readonly payment_intent?: string },
  place?: ListingStart & { readonly pagesMax?: number },
): Pages<DisputeFacts> {
  const { payment_intent } = filter;
  const pages = mapPages(
    context,
    'disputes.list',
    (page, options) => context.stripe.disputes.list({ ...filter, ...page }, options),
    // If the listing is for one payment, all of its disputes belong to that payment.
    (value, asOf) =>
      mapDispute(payment_intent === undefined ? value : withKnownLinks(value, { payment_intent }), asOf),
    place,
  );
  for await (const { items, leftOut, next } of pages) {
    const unlinked = items.flatMap((facts) =>
      isLinked(facts) ? [] : [{ id: facts.processorDisputeId, reason: noPayment }],
    );
    yield { items: items.filter(isLinked), leftOut: [...leftOut, ...unlinked], next };
  }
}

const noPayment = 'It disputes a charge that belongs to no payment intent.';
