import type { FastifyInstance, FastifyReply } from 'fastify';
import { Failure } from '../errors.ts';
import { requestTimeoutMs } from './limits.ts';

/** How late a request past its time may be noticed. */
const checkIntervalMs = 1_000;

/**
 * A request that is not answered in time is answered with a failure: nobody is left hanging. One look a second at the oldest
 * open requests does it; the framework's own way takes a timer and an abort signal for each.
 */
export function registerRequestDeadline(app: FastifyInstance, timeoutMs = requestTimeoutMs): void {
  /** In the order in which they came. */
  const open = new Set<FastifyReply>();
  app.addHook('onRequest', (_request, reply, done) => {
    open.add(reply);
    done();
  });
  app.addHook('onResponse', (_request, reply, done) => {
    open.delete(reply);
    done();
  });
  const timer = setInterval(() => {
    for (const reply of open) {
      if (reply.elapsedTime < timeoutMs) return;
      open.delete(reply);
      end(reply);
    }
  }, checkIntervalMs);
  timer.unref();
  app.addHook('onClose', async () => clearInterval(timer));
}

function end(reply: FastifyReply): void {
  // Whoever takes so long to read an answer is not waiting for it.
  if (reply.raw.headersSent) reply.raw.destroy();
  else if (!reply.sent) {
    const detail = 'The request could not be finished in time; please try again.';
    reply.send(new Failure('overloaded', detail, { retryAfterSeconds: 1 }));
  }
}
