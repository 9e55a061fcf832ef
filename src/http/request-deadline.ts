import type { FastifyInstance, FastifyReply } from 'fastify';
import { Failure } from '../errors.ts';
import type { OpenRequests } from './open-requests.ts';

/** A look a second for a deadline of half a minute. */
const looksPerDeadline = 30;

/**
 * Answers requests that could not be finished in time: nobody is left hanging. Their work goes on and its outcome is
 * dropped: who asks again under the same idempotency key meets it. A look at the oldest open requests now and then does it.
 * The framework's own `handlerTimeout` takes a timer and an abort signal for each, and gives up watching as soon as a
 * body has been read.
 */
export function registerRequestDeadline(app: FastifyInstance, open: OpenRequests, timeoutMs: number): void {
  const lookIntervalMs = timeoutMs / looksPerDeadline;
  const timer = setInterval(() => {
    // Whoever would be past its time at the next look is answered at this one.
    for (const reply of open.olderThan(timeoutMs - lookIntervalMs)) end(reply);
  }, lookIntervalMs);
  timer.unref();
  app.addHook('onClose', async () => clearInterval(timer));
}

function end(reply: FastifyReply): void {
  // Whoever takes so long to read an answer is not waiting for it.
  if (reply.raw.headersSent) reply.raw.destroy();
  else if (!reply.sent) {
    const detail =
      'The request could not be finished in time, and may be carried out all the same: repeat it under the same idempotency key.';
    reply.send(new Failure('overloaded', detail, { retryAfterSeconds: 1 }));
  }
}
