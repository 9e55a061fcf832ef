import type { CustomerFacts } from '#core/model/customer.ts';
import type { EventCalls } from '../../port/event-calls.ts';
import { UnmappableError } from '../../port/event-facts.ts';
import type { AdapterContext } from '../wire/adapter-context.ts';
import { fetchFrom, mapPages } from '../wire/listing.ts';
import { mapEventEnvelope, readEvent } from './map-event.ts';

/** A hundred thousand deletions, more than 30 days have. The newest come first, and callers look for new ones. */
const deletionPagesMax = 1_000;

/** Finds a deleted customer among the processor's deletion events, which still show its metadata. */
export async function findDeletedCustomer(
  context: AdapterContext,
  wanted: Parameters<EventCalls['findDeletedCustomer']>[0],
): Promise<CustomerFacts | null> {
  const fetch = fetchFrom(context.stripe.events, { type: 'customer.deleted' });
  let pages = 0;
  for await (const { items: deleted } of mapPages(context, 'events.list', fetch, mapDeletion)) {
    const found = deleted.find(
      ({ processorCustomerId, localId }) =>
        processorCustomerId === wanted.processorCustomerId || localId === wanted.localId,
    );
    pages += 1;
    if (found !== undefined || pages >= deletionPagesMax) return found ?? null;
  }
  return null;
}

function mapDeletion(event: unknown): CustomerFacts {
  const read = readEvent(mapEventEnvelope(event).payload);
  const [facts] = read.subject === 'customer' ? read.facts : [];
  if (facts === undefined) throw new UnmappableError('the event is not about a customer');
  return facts;
}
