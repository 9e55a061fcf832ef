import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { Failure, invalidRequest } from '#core/errors.ts';
import type { Logger } from '#core/platform/logger.ts';
import type { Metrics } from '#core/platform/metrics.ts';
import { Type } from '#core/platform/schemas.ts';
import { ApiRoutes } from '#http/api-routes.ts';
import { CustomerIdFilter, nullable, response } from '#http/docs/api-schema.ts';
import { component } from '#http/docs/components.ts';
import { sendProblem } from '#http/failures/respond-to-failure.ts';
import { asksFor } from '#http/input/accept.ts';
import { inAnyCase } from '#http/input/validator.ts';
import { OpenReaders } from '#http/load/open-readers.ts';
import type { EventNames, EventSelection } from '../event.ts';
import type { EventFeed, FeedPage, FollowedPlace } from './event-feed.ts';
import { eventId, type FeedStart } from './event-id.ts';
import { eventExample, eventSchema } from './event-schema.ts';
import { EventStreams, type StreamLimits, streamLimits } from './event-streams.ts';
import type { FeedEvent } from './feed-event.ts';

/** Part of the API contract. A page of a thousand events is about a megabyte. */
const limitMax = 1_000;
const limitDefault = 100;
/** Part of the API contract. Proxies usually wait for a minute. */
const waitSecondsMax = 30;
/** The same as for streams: each holds a socket while it waits. */
const waitingMax = 1_000;
/** More than twice the length of all types together. */
const typesLengthMax = 1_000;
/** An id has 28 characters. A later release may need more. */
const idLengthMax = 100;
const retryAfterSeconds = 5;
const streamType = 'text/event-stream';

const Query = Type.Object(
  {
    after: Type.Optional(
      Type.String({
        maxLength: idLengthMax,
        description:
          'Return the events after this one: an `id`, or `nextCursor`. Without it, start with the oldest event.',
      }),
    ),
    types: Type.Optional(
      Type.String({
        maxLength: typesLengthMax,
        examples: ['payment.succeeded,payment.failed'],
        description: 'Return only events of these types, separated by commas.',
      }),
    ),
    objectId: Type.Optional(
      Type.String({ description: 'Return only the events of this object.', [inAnyCase]: true }),
    ),
    customerId: CustomerIdFilter,
    include: Type.Optional(
      Type.Enum(['customer'], {
        description: 'Adds `customer` to each event: who it is about, as it is now. A stream ignores it.',
      }),
    ),
    sort: Type.Enum(['createdAt', '-createdAt'], {
      default: 'createdAt',
      description:
        '`-createdAt`: newest first, for people. Then `after` continues with older events, and the response does not wait. A ' +
        'stream ignores it.',
    }),
    limit: Type.Integer({
      minimum: 1,
      maximum: limitMax,
      default: limitDefault,
      description: 'The maximum number of events to return. A stream ignores it.',
    }),
    waitSeconds: Type.Integer({
      minimum: 0,
      maximum: waitSecondsMax,
      default: 0,
      description: 'The maximum time to wait if there are no events yet. A stream ignores it.',
    }),
  },
  { additionalProperties: false },
);

const Headers = Type.Object({
  'last-event-id': Type.Optional(
    Type.String({
      description: 'The id of the last event that the reader of a stream has received. It replaces `after`.',
    }),
  ),
});

const eventListSchema = (names: EventNames) =>
  component('EventList', {
    data: Type.Array(eventSchema(names)),
    nextCursor: nullable(
      Type.String({
        description:
          'Send it as `after` to continue. It may be the id of an event after the last one in `data` that your ' +
          'filters did not select. Null if there are no events after yours: send the same `after` again.',
      }),
    ),
  });

const description =
  'Every change of a customer, plan, payment, refund, subscription or invoice is an event. A reader that sends the ' +
  '`nextCursor` of each response as the next `after` gets every event exactly once, and the events of each object in ' +
  'the order of its changes. With `Accept: text/event-stream` the response is a stream of server-sent events, which ' +
  'stays open and sends a comment as a heartbeat every 15 seconds.';

interface EventRouteParts {
  readonly feed: EventFeed;
  readonly customers: IncludedCustomers;
  readonly names: EventNames;
  readonly logger: Logger;
  readonly metrics: Metrics;
  /** Lower limits for tests. */
  readonly limits?: Partial<StreamLimits>;
}

export function registerEventRoutes(app: FastifyInstance, parts: EventRouteParts): void {
  const { feed, metrics, names } = parts;
  const knownTypes = new Set(names.types);
  const limits = { ...streamLimits, ...parts.limits };
  const streams = new EventStreams(parts, parts.feed, limits);
  const waiting = new OpenReaders({ max: waitingMax, keyCheckMs: limits.keyCheckMs });
  app.addHook('preClose', async () => {
    streams.end();
    waiting.end();
  });
  const shed = (request: FastifyRequest, reply: FastifyReply) => {
    request.isShed = true;
    metrics.httpRequestsShed.inc({ kind: 'event_readers' });
    return sendProblem(reply, tooManyReaders, request.id);
  };
  new ApiRoutes(app, 'events').add('GET /api/v1/events', {
    scope: 'read',
    operationId: 'listEvents',
    summary: 'Follow the events, oldest first',
    description,
    query: Query,
    headers: Headers,
    response: { 200: eventsResponse(names) },
    failures: ['event_expired'],
    // It may wait for long, and only reads.
    isNeverPaused: true,
    run: async (request, reply) => {
      const { limit, waitSeconds, types, objectId, customerId, include } = request.query;
      const selection = { types: readTypes(types, knownTypes), objectId, customerId };
      const isStream = wantsStream(request);
      const after = await locate(feed, request.query.after, isStream ? request.headers['last-event-id'] : '');
      const send = async (page: SentPage) =>
        sendPage(reply, include === undefined ? page : await withCustomers(page, parts.customers));
      if (isStream) return streams.open(request, reply, after, selection) ? reply : shed(request, reply);
      if (request.query.sort === '-createdAt') {
        const before = request.query.after === undefined ? undefined : after;
        return send(await feed.pageBack(before, selection, limit));
      }
      const page = await feed.page(after, selection, limit);
      if (page.events.length > 0 || waitSeconds === 0 || waiting.isEnding) return send(page);
      const reader = waiting.admit(request, reply);
      if (reader === undefined) return shed(request, reply);
      request.server.openRequests.leave(reply);
      return send(
        await waitForPage(feed, page, { selection, limit, waitSeconds, reader: reader.controller }),
      );
    },
  });
}

const tooManyReaders = new Failure(
  'overloaded',
  'This process serves the maximum number of event readers. Retry later, or start another process.',
  { retryAfterSeconds },
);

function eventsResponse(names: EventNames) {
  const json = response('The events, or a stream of them.', eventListSchema(names), {
    data: [eventExample],
    nextCursor: eventExample.id,
  });
  const message = `id: ${eventExample.id}\nevent: ${eventExample.type}\ndata: ${JSON.stringify(eventExample)}\n\n`;
  const stream = { schema: Type.String(), examples: { example: { value: message } } };
  return { ...json, content: { ...json.content, [streamType]: stream } };
}

/** A HEAD request has no body, so it gets the headers of a page. */
function wantsStream({ method, headers }: FastifyRequest): boolean {
  return method === 'GET' && asksFor(headers.accept, streamType);
}

/** A reader that reconnects repeats its URL, so the header is more recent than the query. */
function locate(
  feed: EventFeed,
  after: string | undefined,
  lastEventId: string | string[] | undefined,
): Promise<FeedStart> {
  if (lastEventId !== undefined && lastEventId !== '')
    return feed.locate(String(lastEventId), 'header.last-event-id');
  return feed.locate(after, 'query.after');
}

function readTypes(text: string | undefined, known: ReadonlySet<string>): ReadonlySet<string> | undefined {
  if (text === undefined) return undefined;
  const types = text.split(',').map((type) => type.trim());
  if (types.every((type) => known.has(type))) return new Set(types);
  throw invalidRequest('query.types', `must be a comma-separated list of these: ${[...known].join(', ')}`);
}

interface Wait {
  readonly selection: EventSelection;
  readonly limit: number;
  readonly waitSeconds: number;
  readonly reader: AbortController;
}

/** The first events after an empty page, or an empty page if none arrive in time. */
async function waitForPage(feed: EventFeed, page: FeedPage, wait: Wait): Promise<FeedPage> {
  const { selection, limit, waitSeconds, reader } = wait;
  let { last } = page;
  let place: FollowedPlace = page;
  const timer = setTimeout(() => reader.abort(), waitSeconds * 1_000);
  try {
    for (;;) {
      const batch = await feed.next(place, selection, limit, reader.signal);
      if (batch === undefined) return { ...page, last };
      last = batch.last ?? last;
      if (batch.events.length > 0) return { ...batch, last };
      place = batch;
    }
  } finally {
    clearTimeout(timer);
  }
}

/** What a page shows of its customers, by their ids. Deleted ones are left out. */
interface IncludedCustomers {
  summaries(ids: readonly string[]): Promise<ReadonlyMap<string, object>>;
}

/** Adds the customers to the events, in one statement. The JSON of an event ends with its brace. */
async function withCustomers(page: SentPage, customers: IncludedCustomers): Promise<SentPage> {
  const ids = page.events.flatMap(({ customerId }) => customerId ?? []);
  const found = await customers.summaries(ids);
  const events = page.events.map(({ json, customerId }) => {
    const customer = JSON.stringify(found.get(customerId ?? '') ?? null);
    return { customerId, json: `${json.slice(0, -1)},"customer":${customer}}` };
  });
  return { ...page, events };
}

/** The events of a response. */
interface SentPage extends Pick<FeedPage, 'last'> {
  readonly events: readonly Pick<FeedEvent, 'json' | 'customerId'>[];
}

/**
 * Builds the body from the stored JSON of the events. Parsing and serializing it again would take most of the time, and
 * one text of a megabyte more than a buffer for each event.
 */
function sendPage(reply: FastifyReply, { events, last }: SentPage): FastifyReply {
  const nextCursor = last === undefined ? null : eventId(last);
  const body = Buffer.concat([
    Buffer.from('{"data":['),
    ...events.map(({ json }, index) => Buffer.from(index === 0 ? json : `,${json}`)),
    Buffer.from(`],"nextCursor":${JSON.stringify(nextCursor)}}`),
  ]);
  return reply.type('application/json; charset=utf-8').send(body);
}
