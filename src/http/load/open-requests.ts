import type { FastifyReply } from 'fastify';

interface OpenRequest {
  readonly sinceMs: number;
  readonly isLocal: boolean;
}

declare module 'fastify' {
  interface FastifyInstance {
    openRequests: OpenRequests;
  }
}

/** The requests in progress. */
export class OpenRequests {
  /** In order of arrival. */
  readonly #all = new Map<FastifyReply, OpenRequest>();
  /** Requests that don't wait for the processor: their number, and the sum of their arrival times. */
  #local = 0;
  #localSinceSumMs = 0;

  get count(): number {
    return this.#all.size;
  }

  get localCount(): number {
    return this.#local;
  }

  /** The average age of the requests that don't wait for the processor. */
  get localAgeMs(): number {
    return this.#local === 0 ? 0 : performance.now() - this.#localSinceSumMs / this.#local;
  }

  /**
   * Tracks a request until its response has ended or its caller has disconnected. The framework's `onResponse` does not
   * run in all of these cases.
   */
  add(reply: FastifyReply, isLocal: boolean): void {
    const request: OpenRequest = { sinceMs: performance.now(), isLocal };
    this.#all.set(reply, request);
    if (isLocal) {
      this.#local += 1;
      this.#localSinceSumMs += request.sinceMs;
    }
    reply.raw.on('close', () => this.leave(reply));
  }

  /**
   * Stops tracking a request. A request that waits for new events is neither late nor a sign of overload. It must have
   * its own time limit.
   */
  leave(reply: FastifyReply): void {
    const request = this.#all.get(reply);
    if (request === undefined) return;
    this.#all.delete(reply);
    if (!request.isLocal) return;
    this.#local -= 1;
    this.#localSinceSumMs -= request.sinceMs;
  }

  /** Requests older than this. */
  *olderThan(ageMs: number): Generator<FastifyReply> {
    const beforeMs = performance.now() - ageMs;
    for (const [reply, { sinceMs }] of this.#all) {
      if (sinceMs > beforeMs) return;
      yield reply;
    }
  }
}
