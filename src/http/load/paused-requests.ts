import type { FastifyInstance, FastifyRequest } from 'fastify';
import { Failure } from '#core/errors.ts';
import { whileWaiting } from '#core/platform/cause.ts';
import type { WorkDoor } from '#core/platform/work-door.ts';
import { wantsCsv } from '../csv/csv-exports.ts';

declare module 'fastify' {
  interface FastifyContextConfig {
    /** The operation runs even while others are paused. It only reads, or the pause waits for it. */
    isNeverPaused?: true;
  }
}

export interface Pauses {
  readonly door: WorkDoor;
  /** The response to send instead of a failure, if the request was not paused. */
  explain(failure: unknown): Promise<unknown>;
}

/** A pause takes a fraction of a second. This is longer than the paused requests usually take. */
const waitMsMax = 15_000;

/**
 * Pauses requests to the API while their door is closed. Register it before the hooks that measure how long they take.
 */
export function registerPauses(app: FastifyInstance, pauses: Pauses): void {
  const { door } = pauses;
  app.addHook('onRoute', (route) => {
    if (!route.url.startsWith('/api/v1/') || route.config?.isNeverPaused === true) return;
    const { handler } = route;
    route.handler = async function (request, reply) {
      const leave = await enter(door, request);
      try {
        return await handler.call(this, request, reply);
      } catch (error) {
        throw await pauses.explain(error);
      } finally {
        leave();
      }
    };
  });
}

async function enter(door: WorkDoor, request: FastifyRequest): Promise<() => void> {
  // An export only reads, at the speed of its reader.
  if (wantsCsv(request)) return () => {};
  for (;;) {
    const leave = door.tryEnter();
    if (leave !== undefined) return leave;
    if (!(await whileWaiting(() => door.untilOpen(waitMsMax)))) throw paused();
  }
}

/** The response to a request that its sender repeats, so that it need not wait for the end of the pause. */
export function paused(): Failure {
  return new Failure('overloaded', 'The sandbox is being reset. Retry later.', { retryAfterSeconds: 1 });
}
