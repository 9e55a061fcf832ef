import type { FastifyInstance, FastifyReply } from 'fastify';
import { Failure } from '../../errors.ts';
import type { Logger } from '../../platform/logger.ts';
import { requestTooSlow } from '../failures/respond-to-failure.ts';
import type { OpenRequests } from './open-requests.ts';

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
  /** Replies that the deadline has sent while their handlers still run. */
  const late = new WeakSet<FastifyReply>();
  /** Replies whose handlers have started: their requests have arrived as far as they are needed. */
  const started = new WeakSet<FastifyReply>();
  const silent = logger.child({}, { level: 'silent' });
  const end = (reply: FastifyReply) => {
    // The response has started, but the caller does not read it to its end.
    if (reply.raw.headersSent) return void reply.raw.destroy();
    if (reply.sent) return;
    // The rest of the body would follow on the connection, so it is closed.
    if (!started.has(reply) && !reply.request.raw.complete)
      return void reply.header('connection', 'close').send(bodyTooSlow);
    reply.send(deadlinePassed);
    late.add(reply);
    // The framework logs late outcomes too, but without the request id, and an expected failure as an error.
    reply.log = silent;
  };
  const checkIntervalMs = timeoutMs / checksPerDeadline;
  const timer = setInterval(() => {
    // Includes requests that would pass their deadline before the next check.
    for (const reply of open.olderThan(timeoutMs - checkIntervalMs)) end(reply);
  }, checkIntervalMs);
  timer.unref();
  app.addHook('onClose', async () => clearInterval(timer));
  app.addHook('onRoute', (route) => {
    const { handler } = route;
    route.handler = function (request, reply) {
      started.add(reply);
      const outcome: unknown = handler.call(this, request, reply);
      // Deleted once it is logged: a HEAD route passes here twice.
      if (outcome instanceof Promise) {
        outcome.then(
          () =>
            late.delete(reply) &&
            logger.info({ requestId: request.id }, 'request completed after its deadline'),
          (error: unknown) => late.delete(reply) && logFailure(logger, request.id, error),
        );
      }
      return outcome;
    };
  });
}

const bodyTooSlow = requestTooSlow();

const deadlinePassed = new Failure(
  'overloaded',
  'The request took too long and may still complete. Repeat it with the same idempotency key.',
  { retryAfterSeconds: 1 },
);

function logFailure(logger: Logger, requestId: string, error: unknown): void {
  const message = 'request failed after its deadline';
  if (error instanceof Failure) logger.warn({ requestId, code: error.code, err: error }, message);
  else logger.error({ requestId, err: error }, message);
}
