import { createHash } from 'node:crypto';
import type { EventCalls } from '../../port/event-calls.ts';
import type { AdapterContext } from '../wire/adapter-context.ts';
import { fetchFrom, mapOrLeaveOut, readable, resyncPagesMax, walkPages } from '../wire/listing.ts';
import { WireObject } from '../wire/wire-object.ts';
import { findDeletedCustomer } from './deleted-customers.ts';
import { mapEventEnvelope } from './map-event.ts';

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
