import type { FastifyReply } from 'fastify';

interface OpenRequest {
  readonly reply: FastifyReply;
  readonly sinceMs: number;
}

/** The requests that are under way. */
export class OpenRequests {
  /** In the order in which they came. */
  readonly #all = new Set<OpenRequest>();
  /** Of those that wait for nobody but us: how many, and the sum of the times at which they came. */
  #own = 0;
  #ownSinceSumMs = 0;

  get count(): number {
    return this.#all.size;
  }

  get ownCount(): number {
    return this.#own;
  }

  /** How long those that wait for nobody but us have been under way, on average. */
  get ownAgeMs(): number {
    return this.#own === 0 ? 0 : performance.now() - this.#ownSinceSumMs / this.#own;
  }

  /** From now until its answer has ended or its caller has gone; the framework's `onResponse` does not come for all of these. */
  add(reply: FastifyReply, isOwn: boolean): void {
    const request: OpenRequest = { reply, sinceMs: performance.now() };
    this.#all.add(request);
    if (isOwn) {
      this.#own += 1;
      this.#ownSinceSumMs += request.sinceMs;
    }
    reply.raw.on('close', () => {
      this.#all.delete(request);
      if (!isOwn) return;
      this.#own -= 1;
      this.#ownSinceSumMs -= request.sinceMs;
    });
  }

  /** Those that have been under way for longer than this. */
  *olderThan(ageMs: number): Generator<FastifyReply> {
    const beforeMs = performance.now() - ageMs;
    for (const { reply, sinceMs } of this.#all) {
      if (sinceMs > beforeMs) return;
      yield reply;
    }
  }
}
