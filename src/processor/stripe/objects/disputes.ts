import type { DisputeFacts, UnlinkedDisputeFacts } from '#core/model/dispute.ts';
import type { Pages } from '../../port/pages.ts';
import type { DisputeCalls } from '../../port/processor.ts';
import type { AdapterContext } from '../wire/adapter-context.ts';
import { fetchFrom, mapAll, mapPages } from '../wire/listing.ts';
import { nullIfMissing } from '../wire/responses.ts';
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

    listOfPayment: async (payment_intent) => {
      // The listing is for one payment, so all of its disputes belong to that payment.
      const fetch = fetchFrom(stripe.disputes, { payment_intent });
      const disputes = await mapAll(context, 'disputes.list', fetch, (value, asOf) =>
        mapDispute(withKnownLinks(value, { payment_intent }), asOf),
      );
      return disputes.filter(isLinked);
    },

    list: (place) => {
      const fetch = fetchFrom(stripe.disputes, { expand: ['data.payment_intent'] });
      return withoutUnlinked(mapPages(context, 'disputes.list', fetch, mapDispute, place));
    },
  };
}

/** Leaves out disputes that belong to no payment intent. */
async function* withoutUnlinked(pages: Pages<DisputeFacts | UnlinkedDisputeFacts>): Pages<DisputeFacts> {
  for await (const { items, leftOut, next } of pages) {
    const unlinked = items.flatMap((facts) =>
      isLinked(facts) ? [] : [{ id: facts.processorDisputeId, reason: noPayment }],
    );
    yield { items: items.filter(isLinked), leftOut: [...leftOut, ...unlinked], next };
  }
}

const noPayment = 'It disputes a charge that belongs to no payment intent.';
