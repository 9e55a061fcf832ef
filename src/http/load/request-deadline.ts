import type { FastifyInstance } from 'fastify';
import { Failure } from '#core/errors.ts';
import type { Logger } from '#core/platform/logger.ts';
import { requestTooSlow } from '../failures/respond-to-failure.ts';
import type { OpenReply, OpenRequest, OpenRequests } from './open-requests.ts';

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
