import type { FastifyInstance } from 'fastify';
import { Failure } from '../errors.ts';

/**
 * Answers a request that could not be finished in time. Its work goes on and its outcome is dropped: who asks again
 * under the same idempotency key meets it. The framework's own `handlerTimeout` gives up watching as soon as the body
 * has been read, so it holds for no request that has one.
 */
export function registerRequestDeadline(app: FastifyInstance, timeoutMs: number): void {
  app.addHook('onRequest', (_request, reply, done) => {
    const timer = setTimeout(() => {
      if (!reply.sent)
        reply.send(
          new Failure('overloaded', 'The request could not be finished in time; please try again.', {
            retryAfterSeconds: 1,
          }),
        );
    }, timeoutMs);
    // Answered, or the caller has gone.
    reply.raw.once('close', () => clearTimeout(timer));
    done();
  });
}
