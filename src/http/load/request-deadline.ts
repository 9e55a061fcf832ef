import type { FastifyInstance, FastifyReply } from 'fastify';
import { Failure } from '../../errors.ts';
import type { Logger } from '../../platform/logger.ts';
import type { OpenRequests } from './open-requests.ts';

/** A look a second for a deadline of half a minute. */
const looksPerDeadline = 30;

interface DeadlineParts {
  readonly logger: Logger;
  readonly open: OpenRequests;
  readonly timeoutMs: number;
}

/**
 * Answers requests that could not be finished in time. Their work continues, and its outcome is only logged; a request with
 * the same idempotency key finds it. A timer looks at the oldest open requests.
 * The framework's own `handlerTimeout` takes a timer and an abort signal for each, and gives up watching as soon as a
 * body has been read.
 */
export function registerRequestDeadline(
  app: FastifyInstance,
  { logger, open, timeoutMs }: DeadlineParts,
): void {
  /** Responses that the deadline has sent, while their handlers still run. */
  const late = new WeakSet<FastifyReply>();
  const silent = logger.child({}, { level: 'silent' });
  const end = (reply: FastifyReply) => {
    // The response has begun, but the caller does not read it to its end.
    if (reply.raw.headersSent) return void reply.raw.destroy();
    if (reply.sent) return;
    reply.send(deadlinePassed);
    late.add(reply);
    // The framework reports late outcomes too, but without the request id, and an expected failure as an error.
    reply.log = silent;
  };
  const lookIntervalMs = timeoutMs / looksPerDeadline;
  const timer = setInterval(() => {
    // Whoever would be past its time at the next look is answered at this one.
    for (const reply of open.olderThan(timeoutMs - lookIntervalMs)) end(reply);
  }, lookIntervalMs);
  timer.unref();
  app.addHook('onClose', async () => clearInterval(timer));
  app.addHook('onRoute', (route) => {
    const { handler } = route;
    route.handler = function (request, reply) {
      const outcome: unknown = handler.call(this, request, reply);
      // Deleted when it is logged: a route for HEAD passes through here twice.
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
