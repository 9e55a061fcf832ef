import type { FastifyReply } from 'fastify';

declare module 'fastify' {
  interface FastifyInstance {
    /** Responses that need no API key. */
    largeResponses: LargeResponses;
  }
}

/**
 * Sends large responses that need no API key one at a time, with a turn of the event loop after each. A request to the
 * API then waits for at most one of them, however many there are. The limit on connections also limits how many wait,
 * and each takes less than a millisecond.
 */
export class LargeResponses {
  readonly #waiting: { readonly reply: FastifyReply; readonly begin: () => void }[] = [];
  #isBusy = false;

  /** Resolves when the response may be sent. */
  wait(reply: FastifyReply): Promise<void> {
    // Otherwise waiting responses would count as overload, and requests to the API would be shed.
    reply.server.openRequests.leave(reply);
    const { promise, resolve: begin } = Promise.withResolvers<void>();
    this.#waiting.push({ reply, begin });
    if (!this.#isBusy) this.#serve();
    return promise;
  }

  #serve(): void {
    let next = this.#waiting.shift();
    // A caller that has disconnected gets no response.
    for (; next?.reply.raw.destroyed === true; next = this.#waiting.shift()) next.begin();
    this.#isBusy = next !== undefined;
    if (next === undefined) return;
    next.begin();
    setImmediate(() => this.#serve());
  }
}
