import type { EventCalls } from '../processor.ts';
import type { AdapterContext } from './adapter-context.ts';
import { findDeletedCustomer } from './deleted-customers.ts';
import { mapPages } from './listing.ts';
import { mapEventEnvelope } from './map-event.ts';

/** The most types that the processor lets one listing name. */
const typesPerListingMax = 20;

export function createEventCalls(context: AdapterContext): EventCalls {
  const { stripe } = context;
  return {
    findDeletedCustomer: (wanted) => findDeletedCustomer(context, wanted),

    async *listSince(since, types) {
      const created = { gte: Math.floor(since.getTime() / 1000) };
      for (let first = 0; first < types.length; first += typesPerListingMax) {
        const named = types.slice(first, first + typesPerListingMax);
        yield* mapPages(
          context,
          'events.list',
          (page, options) => stripe.events.list({ created, types: named, ...page }, options),
          mapEventEnvelope,
        );
      }
    },
  };
}
