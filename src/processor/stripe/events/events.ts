import { createHash } from 'node:crypto';
import type { CustomerFacts } from '#core/model/customer.ts';
import type { EventCalls } from '../../port/event-calls.ts';
import { UnmappableError } from '../../port/event-facts.ts';
import type { AdapterContext } from '../wire/adapter-context.ts';
import { fetchFrom, mapOrLeaveOut, mapPages, readable, resyncPagesMax, walkPages } from '../wire/listing.ts';
import { WireObject } from '../wire/wire-object.ts';
import { mapEventEnvelope, readEvent } from './map-event.ts';

/** The maximum number of types in one listing of the processor. */
const typesPerListingMax = 20;

export function createEventCalls(context: AdapterContext): EventCalls {
  const { stripe } = context;
  return {
    findDeletedCustomer: (wanted) => findDeletedCustomer(context, wanted),

    countUndelivered: ({ since, until }) =>
      context.call.read('events.list', {
        send: (options) =>
          stripe.events.list(
            { created: { gte: toSeconds(since), lt: toSeconds(until) }, delivery_success: false, limit: 100 },
            options,
          ),
        take: (response) => WireObject.parse(response, 'list').array('data').length,
      }),

    async *listSince(since, types, cursor) {
      const created = { gte: toSeconds(since) };
      const map = mapOrLeaveOut(context, 'events.list', mapEventEnvelope);
      const place = readCursor(cursor ?? null, types);
      for (let { first, after } = place; first < types.length; first += typesPerListingMax, after = null) {
        const named = types.slice(first, first + typesPerListingMax);
        const fetch = fetchFrom(stripe.events, { created, types: named });
        const pages = walkPages(context, 'events.list', fetch, { pagesMax: resyncPagesMax, map, after });
        for await (const { items, next } of pages) {
          const isLast = next === null && first + typesPerListingMax >= types.length;
          const following =
            next === null ? { first: first + typesPerListingMax, after: null } : { first, after: next };
          yield { events: readable(items), cursor: isLast ? null : writeCursor(following, types) };
        }
      }
    },
  };
}

function toSeconds(time: Date): number {
  return Math.floor(time.getTime() / 1000);
}

interface EventPosition {
  /** The index of the first type in the group that is being listed. */
  readonly first: number;
  /** The event after which the next page starts. */
  readonly after: string | null;
}

const start: EventPosition = { first: 0, after: null };

function writeCursor({ first, after }: EventPosition, types: readonly string[]): string {
  return [fingerprint(types), first, after].join(' ');
}

/** A cursor of a release with other event types could skip events, so it is ignored. */
function readCursor(cursor: string | null, types: readonly string[]): EventPosition {
  const [print, first, after] = cursor?.split(' ') ?? [];
  if (print !== fingerprint(types)) return start;
  return { first: Number(first), after: after || null };
}

function fingerprint(types: readonly string[]): string {
  return createHash('sha256').update(types.join(' ')).digest('base64url');
}

/** A hundred thousand deletions, more than 30 days have. The newest come first, and callers look for new ones. */
const deletionPagesMax = 1_000;

/** Finds a deleted customer among the processor's deletion events, which still show its metadata. */
async function findDeletedCustomer(
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
