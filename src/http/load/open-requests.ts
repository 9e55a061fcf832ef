import type { IncomingMessage, ServerResponse } from 'node:http';
import { setTimeout } from 'node:timers/promises';
import type { FastifyBaseLogger, FastifyInstance } from 'fastify';
import { Failure } from '#core/errors.ts';
import type { Logger } from '#core/platform/logger.ts';
import { requestTooSlow } from '../failures/respond-to-failure.ts';

/** A few streams read at the same time, for some milliseconds each: this leaves most of the time to requests. */
const giveWayMsMax = 100;
/** Much shorter, and rarely enough to cost nothing. */
const giveWayPauseMs = 5;

/** A reply of the framework, or of a route without it. */
export interface OpenReply {
  readonly raw: ServerResponse;
  readonly request: { readonly id: string; readonly raw: IncomingMessage };
  readonly sent: boolean;
  /** Undefined if the request is not tracked. */
  open: OpenRequest | undefined;
  log?: FastifyBaseLogger;
  send(failure: Failure): unknown;
  /** Makes the framework ignore what the handler sends later. */
  hijack?(): unknown;
}

/**
 * What a request does now. While its body arrives, or while it waits for the processor or for another request, it keeps
 * a connection and some memory, but does not slow other requests down.
 */
type Phase = 'arriving' | 'working' | 'waiting';

export interface OpenRequest {
  readonly reply: OpenReply;
  readonly sinceMs: number;
  readonly isLocal: boolean;
  phase: Phase;
  /** How many calls of `wait` have not ended. */
  waits: number;
  /** When it began to work, after its latest wait. */
  workingSinceMs: number;
  /** True once its handler runs: by then, all of the request that it needs has arrived. */
  hasStarted: boolean;
  /** True once its response is known, which may still wait for its audit entry. */
  hasResponse: boolean;
  /** What the handler returned: a promise if it is asynchronous. */
  outcome: unknown;
  /** Its neighbours in order of arrival. Undefined at both ends of the list, and once it is no longer tracked. */
  previous: OpenRequest | undefined;
  next: OpenRequest | undefined;
}

declare module 'fastify' {
  interface FastifyInstance {
    openRequests: OpenRequests;
  }
  interface FastifyReply {
    open: OpenRequest | undefined;
  }
}

/**
 * The requests in progress, as a linked list. A map that entries join and leave is copied every few hundred requests,
 * and V8 lets each copy refer to the next one. Once a copy is in the old generation, the requests of all later copies
 * stay in memory until the next full garbage collection, and the heap grows to three times its size (decision 0034).
 */
export class OpenRequests {
  #oldest: OpenRequest | undefined;
  #newest: OpenRequest | undefined;
  #working = 0;
  /** Working requests that never call the processor: their number, and the sum of the times at which they began. */
  #local = 0;
  #localSinceSumMs = 0;

  /** The requests that work now: neither arriving nor waiting. */
  get workingCount(): number {
    return this.#working;
  }

  get localCount(): number {
    return this.#local;
  }

  /** How long the working requests that never call the processor have worked, on average. */
  get localAgeMs(): number {
    return this.#local === 0 ? 0 : performance.now() - this.#localSinceSumMs / this.#local;
  }

  /**
   * For work that may wait: resolves when no request works, or after a short time. So a thousand streams that read old
   * events hardly slow requests down, and go on.
   */
  async giveWay(): Promise<void> {
    const endMs = performance.now() + giveWayMsMax;
    while (this.#working > 0 && performance.now() < endMs) await setTimeout(giveWayPauseMs);
  }

  /**
   * Tracks a request until its response has ended or its caller has disconnected. The framework's `onResponse` does not
   * run in all of these cases. A request with a body begins to work when `arrive` is called.
   */
  add(reply: OpenReply, isLocal: boolean, hasBody: boolean): void {
    const sinceMs = performance.now();
    const previous = this.#newest;
    const request: OpenRequest = {
      reply,
      sinceMs,
      isLocal,
      phase: 'arriving',
      waits: 0,
      workingSinceMs: sinceMs,
      hasStarted: false,
      hasResponse: false,
      outcome: undefined,
      previous,
      next: undefined,
    };
    if (previous === undefined) this.#oldest = request;
    else previous.next = request;
    this.#newest = request;
    reply.open = request;
    if (!hasBody) this.#work(request, sinceMs);
    reply.raw.on('close', () => this.leave(reply));
  }

  /** Records that the whole body of a request has arrived. */
  arrive(reply: OpenReply): void {
    const request = reply.open;
    if (request?.phase === 'arriving') this.#work(request, performance.now());
  }

  /** Waits for work that is done elsewhere: at the processor, or in another request. */
  async wait<Result>(reply: OpenReply, work: () => Promise<Result>): Promise<Result> {
    const request = reply.open;
    if (request === undefined) return work();
    request.waits += 1;
    this.#rest(request, 'waiting');
    try {
      return await work();
    } finally {
      request.waits -= 1;
      // It may have ended meanwhile.
      if (request.waits === 0 && reply.open === request) this.#work(request, performance.now());
    }
  }

  /** Records that the handler of a request runs, and what it returned. */
  start(reply: OpenReply, outcome: unknown): void {
    const request = reply.open;
    if (request === undefined) return;
    request.hasStarted = true;
    request.outcome = outcome;
  }

  /**
   * Stops tracking a request. A request that waits for new events is neither late nor a sign of overload. It must have
   * its own time limit.
   */
  leave(reply: OpenReply): void {
    const request = reply.open;
    if (request === undefined) return;
    const { previous, next } = request;
    if (previous === undefined) this.#oldest = next;
    else previous.next = next;
    if (next === undefined) this.#newest = previous;
    else next.previous = previous;
    request.previous = undefined;
    request.next = undefined;
    reply.open = undefined;
    this.#rest(request, 'waiting');
  }

  #work(request: OpenRequest, sinceMs: number): void {
    request.phase = 'working';
    request.workingSinceMs = sinceMs;
    this.#working += 1;
    if (!request.isLocal) return;
    this.#local += 1;
    this.#localSinceSumMs += sinceMs;
  }

  #rest(request: OpenRequest, phase: Phase): void {
    const wasWorking = request.phase === 'working';
    request.phase = phase;
    if (!wasWorking) return;
    this.#working -= 1;
    if (!request.isLocal) return;
    this.#local -= 1;
    this.#localSinceSumMs -= request.workingSinceMs;
  }

  /** Requests older than this. */
  *olderThan(ageMs: number): Generator<OpenRequest> {
    const beforeMs = performance.now() - ageMs;
    for (let request = this.#oldest; request !== undefined && request.sinceMs <= beforeMs; ) {
      // The callback may end the request, which then leaves the list.
      const { next } = request;
      yield request;
      request = next;
    }
  }
}

/** One check per second, for a deadline of half a minute. */
const checksPerDeadline = 30;

interface DeadlineParts {
  readonly logger: Logger;
  readonly open: OpenRequests;
  readonly timeoutMs: number;
}

/**
 * Responds to requests that could not be finished in time. Their work continues, and its outcome is only logged; a
 * request with the same idempotency key finds it. A timer checks the oldest open requests. The framework's own
 * `handlerTimeout` needs a timer and an abort signal per request, and stops watching as soon as a body has been read.
 */
export function registerRequestDeadline(
  app: FastifyInstance,
  { logger, open, timeoutMs }: DeadlineParts,
): void {
  const silent = logger.child({}, { level: 'silent' });
  const end = ({ reply, hasStarted, hasResponse, outcome }: OpenRequest) => {
    // The response has started, but the caller does not read it to its end.
    if (reply.raw.headersSent) return void reply.raw.destroy();
    if (reply.sent || hasResponse) return;
    // The rest of the body would follow on the connection, so it is closed.
    if (!hasStarted && !reply.request.raw.complete) {
      reply.raw.setHeader('connection', 'close');
      return respond(reply, bodyTooSlow);
    }
    respond(reply, deadlinePassed);
    if (outcome instanceof Promise) logOutcome(logger, reply.request.id, outcome);
    // The framework logs late outcomes too, but without the request id, and an expected failure as an error.
    reply.log = silent;
  };
  const checkIntervalMs = timeoutMs / checksPerDeadline;
  const timer = setInterval(() => {
    // Includes requests that would pass their deadline before the next check.
    for (const request of open.olderThan(timeoutMs - checkIntervalMs)) end(request);
  }, checkIntervalMs);
  timer.unref();
  app.addHook('onClose', async () => clearInterval(timer));
  app.addHook('onSend', (_request, reply, payload, done) => {
    if (reply.open !== undefined) {
      reply.open.hasResponse = true;
      // It holds the objects of the response, which would stay in memory until the caller has read all of it.
      reply.open.outcome = undefined;
    }
    done(null, payload);
  });
  app.addHook('onRoute', (route) => {
    const { handler } = route;
    route.handler = function (request, reply) {
      open.arrive(reply);
      const outcome: unknown = handler.call(this, request, reply);
      open.start(reply, outcome);
      return outcome;
    };
  });
}

/**
 * Sends the only response. While it waits for its audit entry, a result of the handler would write the headers a second
 * time, and that error would end the process.
 */
function respond(reply: OpenReply, failure: Failure): void {
  reply.send(failure);
  reply.hijack?.();
}

const bodyTooSlow = requestTooSlow();

const deadlinePassed = new Failure(
  'overloaded',
  'The request took too long and may still complete. Repeat it with the same idempotency key.',
  { retryAfterSeconds: 1 },
);

function logOutcome(logger: Logger, requestId: string, outcome: Promise<unknown>): void {
  outcome.then(
    () => logger.info({ requestId }, 'request completed after its deadline'),
    (error: unknown) => {
      const message = 'request failed after its deadline';
      if (error instanceof Failure) logger.warn({ requestId, code: error.code, err: error }, message);
      else logger.error({ requestId, err: error }, message);
    },
  );
}
