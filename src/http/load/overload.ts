import type { IncomingMessage } from 'node:http';
import type { FastifyInstance, FastifyRequest } from 'fastify';
import { Failure } from '#core/errors.ts';
import type { Logger } from '#core/platform/logger.ts';
import type { Metrics } from '#core/platform/metrics.ts';
import { requestTooSlow, sendProblem } from '../failures/respond-to-failure.ts';
import type { OpenReply, OpenRequest, OpenRequests } from './open-requests.ts';

interface Limit {
  /** Requests that work, without this one, those whose body still arrives, and those that wait. */
  readonly working: number;
  /** How long those that never call the processor have worked, on average. */
  readonly ageMs: number;
}

export interface OverloadLimits {
  readonly webhooks: Limit;
  readonly others: Limit;
}

/**
 * A busy process responds within milliseconds and works on a few hundred requests. When they have taken half a second,
 * or are a thousand, webhooks are refused: the processor sends them again later. When it is twice as bad, everyone else
 * is refused too: an error at once is better than a long wait.
 */
export const overloadLimits: OverloadLimits = {
  webhooks: { working: 1_000, ageMs: 500 },
  others: { working: 2_000, ageMs: 1_000 },
};

/** Below this number there is no overload: slow requests don't slow each other down. */
const crowdMin = 100;

/** While requests are shed, one line per second is logged. */
const reportDelayMs = 1_000;
/** By then the overload is usually over. If it is not, another refusal costs little. */
const retryAfterSeconds = 1;

/** Operators must see what happens, above all during an overload. */
const neverShed: ReadonlySet<string> = new Set(['/health', '/health/live', '/health/ready', '/metrics']);
/** The processor retries its events for three days, and recovery finds them as well: nothing is lost. */
const webhookRoute = '/webhooks/processor';

declare module 'fastify' {
  interface FastifyRequest {
    /** Whether the request was shed because of an overload. */
    isShed: boolean;
  }
}

/**
 * Sheds requests that cannot be served in time, before any work is done for them: webhooks first, everything else only
 * when it gets worse. Must be registered before any hook that costs time. A shed request is counted, not logged:
 * thousands of lines would add to the load. Returns whether a webhook would be shed now.
 */
export function registerOverload(
  app: FastifyInstance,
  parts: {
    readonly logger: Logger;
    readonly metrics: Metrics;
    readonly limits: OverloadLimits;
    readonly open: OpenRequests;
  },
): () => boolean {
  const { logger, metrics, limits, open } = parts;
  const exceeds = ({ working, ageMs }: Limit) => open.workingCount >= working || ageMsOf(open) >= ageMs;
  const report = createReport(logger, open);
  app.decorateRequest('isShed', false);
  // A callback costs less than a promise, and every request passes here.
  app.addHook('onRequest', (request, reply, done) => {
    const kind = kindOf(request);
    if (kind !== undefined && exceeds(limits[kind])) {
      request.isShed = true;
      metrics.httpRequestsShed.inc({ kind });
      report(kind);
      sendProblem(reply, shed, request.id);
      return;
    }
    // The age of requests that call the processor does not count: a slow processor does not overload this process, and
    // has its own limit.
    open.add(reply, kind === 'webhooks' || request.method === 'GET', hasBody(request.raw));
    done();
  });
  return () => exceeds(limits.webhooks);
}

const shed = new Failure(
  'overloaded',
  'The service receives more requests than it can handle. Retry later.',
  {
    retryAfterSeconds,
  },
);

function kindOf(request: FastifyRequest): keyof OverloadLimits | undefined {
  const { url: route } = request.route;
  if (route === webhookRoute) return 'webhooks';
  return route !== undefined && neverShed.has(route) ? undefined : 'others';
}

/** Whether a body follows the headers. */
function hasBody({ headers }: IncomingMessage): boolean {
  const length = headers['content-length'];
  return (length !== undefined && length !== '0') || headers['transfer-encoding'] !== undefined;
}

/** The average grows while a late event loop or a slow database delays requests. */
function ageMsOf(open: OpenRequests): number {
  return open.localCount < crowdMin ? 0 : open.localAgeMs;
}

/** Sums up shed requests, so that an overload logs one line per second. */
function createReport(logger: Logger, open: OpenRequests): (kind: keyof OverloadLimits) => void {
  let counts = { webhooks: 0, others: 0 };
  let reportedAtMs = Number.NEGATIVE_INFINITY;
  return (kind) => {
    counts[kind] += 1;
    const nowMs = performance.now();
    if (nowMs - reportedAtMs < reportDelayMs) return;
    logger.warn(
      { ...counts, working: open.workingCount, ageMs: Math.round(ageMsOf(open)) },
      'requests shed due to overload',
    );
    counts = { webhooks: 0, others: 0 };
    reportedAtMs = nowMs;
  };
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
