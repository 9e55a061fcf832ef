import type { ServerResponse } from 'node:http';
import type { FastifyReply, FastifyRequest } from 'fastify';
import type { Platform } from '#core/platform/platform.ts';
import { endWithKey, keyEnded, type OpenReader, OpenReaders } from '#http/load/open-readers.ts';
import type { EventSelection } from '../event.ts';
import type { EventFeed, FollowedPlace } from './event-feed.ts';
import { eventId, type FeedPoint } from './event-id.ts';
import type { FeedEvent } from './feed-event.ts';

/** The limits of streams. Tests set lower ones. */
export const streamLimits = {
  /** Each holds a socket and a few kilobytes. Sending a batch to a hundred streams takes about a millisecond. */
  streamsMax: 1_000,
  /** Part of the API contract. Proxies usually close a connection that is silent for a minute. */
  heartbeatMs: 15_000,
  /** Unread data is at most one batch. */
  batchMax: 100,
  /** A reader that does not take a batch in this time is disconnected. It can resume where it stopped. */
  slowReaderMs: 30_000,
};

export type StreamLimits = typeof streamLimits & {
  /** How often the API keys of readers are checked. Tests use a shorter interval. */
  readonly keyCheckMs?: number;
};

/** How long a reader waits before it reconnects. Long enough for a restart behind a load balancer. */
const retryMs = 1_000;
/** Batches of large events have fewer. */
const batchLengthMax = 262_144;
/** Until it is known how large the events are. */
const firstBatch = 10;
/** A reader that takes longer to read the end of its stream would delay a shutdown. */
const endTimeoutMs = 1_000;

interface Stream {
  readonly response: ServerResponse;
  readonly reader: OpenReader;
  readonly request: FastifyRequest;
  /** How many events it gets at once. */
  batchSize: number;
  /** The id of a position that the reader has passed without getting an event there. */
  passedId: string | undefined;
}

/** Serves the feed as server-sent events: https://html.spec.whatwg.org/multipage/server-sent-events.html */
export class EventStreams {
  readonly #context: Pick<Platform, 'logger' | 'metrics'>;
  readonly #feed: EventFeed;
  readonly #limits: StreamLimits;
  readonly #readers: OpenReaders;
  readonly #streams = new Set<Stream>();
  readonly #heartbeat: NodeJS.Timeout;

  constructor(context: Pick<Platform, 'logger' | 'metrics'>, feed: EventFeed, limits: StreamLimits) {
    this.#context = context;
    this.#feed = feed;
    this.#limits = limits;
    this.#readers = new OpenReaders({ max: limits.streamsMax, keyCheckMs: limits.keyCheckMs });
    const beat = () => {
      for (const stream of this.#streams) void sendHeartbeat(stream);
    };
    this.#heartbeat = setInterval(beat, limits.heartbeatMs).unref();
  }

  /** False if this process has too many streams: nothing was sent. Throws if the caller has too many. */
  open(request: FastifyRequest, reply: FastifyReply, after: FeedPoint, selection: EventSelection): boolean {
    const response = reply.raw;
    const reader = this.#readers.admit(request, reply);
    if (reader === undefined) return false;
    request.isStream = true;
    request.server.openRequests.leave(reply);
    reply.hijack();
    response.writeHead(200, {
      ...securityHeadersOf(reply),
      'content-type': 'text/event-stream',
      'cache-control': 'no-cache',
      // Tells nginx to pass each event on at once.
      'x-accel-buffering': 'no',
      // No other request uses the connection, so it can close when the service stops.
      connection: 'close',
    });
    response.write(`retry: ${retryMs}\n\n`);
    const stream: Stream = {
      ...{ response, reader, request },
      batchSize: firstBatch,
      passedId: undefined,
    };
    this.#streams.add(stream);
    this.#context.metrics.eventStreams.set(this.#streams.size);
    response.on('close', () => {
      this.#streams.delete(stream);
      this.#context.metrics.eventStreams.set(this.#streams.size);
      request.server.logRequest(request, reply);
    });
    void this.#run(stream, after, selection);
    return true;
  }

  /** Ends all streams, and opens no more. */
  end(): void {
    clearInterval(this.#heartbeat);
    this.#readers.end();
  }

  async #run(stream: Stream, after: FeedPoint, selection: EventSelection): Promise<void> {
    const { logger } = this.#context;
    const { response, reader, request } = stream;
    const { signal } = reader.controller;
    let place: FollowedPlace | undefined = after;
    try {
      while (place !== undefined) place = await this.#sendNext(stream, place, selection);
    } catch (error) {
      // The reader reconnects, and gets an error response if it still cannot be served.
      logger.warn({ requestId: request.id, err: error }, 'stream of events ended early');
    }
    // Unsent events must not reach a reader whose API key was revoked or has expired.
    if (signal.reason === keyEnded && response.writableLength > 0) response.destroy();
    response.end();
    setTimeout(() => response.destroy(), endTimeoutMs).unref();
  }

  /**
   * Sends the events after a place. Returns the place that the reader has reached then. Undefined if the stream ends.
   */
  async #sendNext(
    stream: Stream,
    after: FollowedPlace,
    selection: EventSelection,
  ): Promise<FollowedPlace | undefined> {
    const next = await this.#readNext(stream, after, selection);
    if (next !== undefined && !(await this.#send(stream, next))) {
      this.#context.logger.info({ requestId: stream.request.id }, 'slow reader of events disconnected');
      stream.response.destroy();
    }
    return next?.place;
  }

  /** The bytes of the next events alone: the events would stay in memory beside them until all are sent. */
  async #readNext(
    stream: Stream,
    after: FollowedPlace,
    selection: EventSelection,
  ): Promise<Next | undefined> {
    const { signal } = stream.reader.controller;
    const { openRequests } = stream.request.server;
    const batch = await this.#feed.next(after, selection, stream.batchSize, signal, (read) =>
      openRequests.giveWay(read, signal),
    );
    if (batch === undefined) return undefined;
    const { events, last, position, history, isAtEnd } = batch;
    if (events.length > 0 || last !== undefined)
      stream.batchSize = Math.min(this.#limits.batchMax, sizeOfNext(events));
    const isPassed = last !== undefined && last.position !== events.at(-1)?.position;
    return {
      messages: Buffer.from(events.map(({ message }) => message).join('')),
      passedId: isPassed ? eventId(last) : undefined,
      place: { position, history, isAtEnd },
    };
  }

  /** Resolves when the reader has taken the events. False if it takes too long. */
  async #send(stream: Stream, { messages, passedId }: Next): Promise<boolean> {
    const { response, reader, request } = stream;
    const bytes = messages.length;
    if (bytes === 0 && passedId === undefined) return true;
    if (!(await endWithKey(reader))) return true;
    stream.passedId = passedId;
    if (bytes === 0 || response.write(messages)) return true;
    const cut = () => void response.destroy();
    const release = request.server.unsentResponses.hold(request, { bytes, cut });
    const isDrained = await drained(response, reader.controller.signal, this.#limits.slowReaderMs);
    release();
    return isDrained;
  }
}

/** What a stream sends next. */
interface Next {
  readonly messages: Buffer;
  /** The id of a position after the events, at which the reader gets none. */
  readonly passedId: string | undefined;
  readonly place: FollowedPlace;
}

/** How many events are read after these, if they are as large. */
function sizeOfNext(events: readonly FeedEvent[]): number {
  const length = events.reduce((sum, { json }) => sum + json.length, 0);
  const size = Math.floor((events.length * batchLengthMax) / Math.max(1, length));
  return Math.max(1, events.length === 0 ? firstBatch : size);
}

async function sendHeartbeat(stream: Stream): Promise<void> {
  const { response, reader } = stream;
  // A reader whose API key has ended, or who has not taken the last batch, gets no more events.
  if (!(await endWithKey(reader)) || response.writableNeedDrain || response.writableEnded) return;
  // A reader remembers an id without data: it can resume there even if no event is selected for months.
  const id = stream.passedId === undefined ? '' : `id: ${stream.passedId}\n`;
  stream.passedId = undefined;
  response.write(`: heartbeat\n${id}\n`);
}

/** The headers that the framework has set. */
function securityHeadersOf(reply: FastifyReply): Record<string, string | number | string[]> {
  return Object.fromEntries(
    Object.entries(reply.getHeaders()).flatMap(([name, value]) =>
      value === undefined ? [] : [[name, value]],
    ),
  );
}

function drained(response: ServerResponse, signal: AbortSignal, timeoutMs: number): Promise<boolean> {
  return new Promise((resolve) => {
    const end = (isDrained: boolean) => {
      clearTimeout(timer);
      response.off('drain', onDrain);
      signal.removeEventListener('abort', onAbort);
      resolve(isDrained);
    };
    const onDrain = () => end(true);
    const onAbort = () => end(true);
    const timer = setTimeout(() => end(false), timeoutMs);
    response.on('drain', onDrain);
    signal.addEventListener('abort', onAbort);
    if (signal.aborted) onAbort();
  });
}
