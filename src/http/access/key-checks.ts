import { Readable } from 'node:stream';
import type { FastifyInstance } from 'fastify';
import { Failure } from '#core/errors.ts';
import { replaceWithProblem } from '../failures/respond-to-failure.ts';
import type { ApiGuard } from './api-guard.ts';

/**
 * Checks the API key of a request again when its body is complete, and when its response is. Both can happen half a
 * minute after the headers, and an API key must have no effect five seconds after it was revoked or has expired. Waits
 * within a handler use `confirmCaller`, and responses that stay open use `OpenReaders`.
 */
export function registerKeyChecks(app: FastifyInstance, guard: Pick<ApiGuard, 'confirm'>): void {
  app.addHook('preValidation', (request, _reply, done) => {
    const pending = guard.confirm(request);
    if (pending === undefined) done();
    else pending.then(() => done(), done);
  });
  app.addHook('onSend', (request, reply, payload, done) => {
    const pending = showsNothing(reply.statusCode) ? undefined : guard.confirm(request);
    if (pending === undefined) return done(null, payload);
    return void pending.then(
      () => done(null, payload),
      (error: Error) => {
        if (payload instanceof Readable) payload.destroy();
        if (error instanceof Failure) done(null, replaceWithProblem(reply, error, request.id));
        else done(error);
      },
    );
  });
}

/** A request that revokes its own API key gets its response. Responses with another status contain no object. */
function showsNothing(status: number): boolean {
  return status === 204 || status === 401 || status >= 500;
}
