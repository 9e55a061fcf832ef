import type { IncomingMessage, ServerResponse } from 'node:http';
import type { FastifyBaseLogger } from 'fastify';
import type { Failure } from '../../errors.ts';

/** A reply of the framework, or of a route without it. */
export interface OpenReply {
  readonly raw: ServerResponse;
  readonly request: { readonly id: string; readonly raw: IncomingMessage };
  readonly sent: boolean;
  log?: FastifyBaseLogger;
  send(failure: Failure): unknown;
}

export interface OpenRequest {
  readonly reply: OpenReply;
  readonly sinceMs: number;
  readonly isLocal: boolean;
  /** True once its handler runs: by then the request has arrived as far as it is needed. */
  hasStarted: boolean;
  /** What the handler returned: a promise if it is asynchronous. */
  outcome: unknown;
}

declare module 'fastify' {
  interface FastifyInstance {
    openRequests: OpenRequests;
  }
}

/** The requests in progress. */
export class OpenRequests {
  /** In order of arrival. */
  readonly #all = new Map<OpenReply, OpenRequest>();
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
  add(reply: OpenReply, isLocal: boolean): void {
    const sinceMs = performance.now();
    const request: OpenRequest = { reply, sinceMs, isLocal, hasStarted: false, outcome: undefined };
    this.#all.set(reply, request);
    if (isLocal) {
      this.#local += 1;
      this.#localSinceSumMs += sinceMs;
    }
    reply.raw.on('close', () => this.leave(reply));
  }

  /** Notes that the handler of a request runs. */
  start(reply: OpenReply, outcome: unknown): void {
    const request = this.#all.get(reply);
    if (request === undefined) return;
    request.hasStarted = true;
    request.outcome = outcome;
  }

  /**
   * Stops tracking a request. A request that waits for new events is neither late nor a sign of overload. It must have
   * its own time limit.
   */
  leave(reply: OpenReply): void {
    const request = this.#all.get(reply);
    if (request === undefined) return;
    this.#all.delete(reply);
    if (!request.isLocal) return;
    this.#local -= 1;
    this.#localSinceSumMs -= request.sinceMs;
  }

  /** Requests older than this. */
  *olderThan(ageMs: number): Generator<OpenRequest> {
    const beforeMs = performance.now() - ageMs;
    for (const request of this.#all.values()) {
      if (request.sinceMs > beforeMs) return;
      yield request;
    }
  }
}
