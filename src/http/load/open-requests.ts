import type { IncomingMessage, ServerResponse } from 'node:http';
import type { FastifyBaseLogger } from 'fastify';
import type { Failure } from '../../errors.ts';

/** A reply of the framework, or of a route without it. */
export interface OpenReply {
  readonly raw: ServerResponse;
  readonly request: { readonly id: string; readonly raw: IncomingMessage };
  readonly sent: boolean;
  /** Undefined if the request is not tracked. */
  open: OpenRequest | undefined;
  log?: FastifyBaseLogger;
  send(failure: Failure): unknown;
  /** Lets the framework ignore what the handler still sends. */
  hijack?(): unknown;
}

export interface OpenRequest {
  readonly reply: OpenReply;
  readonly sinceMs: number;
  readonly isLocal: boolean;
  /** True once its handler runs: by then the request has arrived as far as it is needed. */
  hasStarted: boolean;
  /** True once its response is known, which may still wait for its audit entry. */
  hasResponse: boolean;
  /** What the handler returned: a promise if it is asynchronous. */
  outcome: unknown;
  /** Its neighbours in order of arrival. Undefined at the ends, and once it is no longer tracked. */
  previous: OpenRequest | undefined;
  next: OpenRequest | undefined;
}

declare module 'fastify' {
  interface FastifyInstance {
    openRequests: OpenRequests;
  }
  interface FastifyReply {
    open: OpenRequest | undefined;
  }
}

/**
 * The requests in progress, as a linked list. A map that entries join and leave is copied every few hundred requests, and
 * V8 lets each copy refer to the next one. Once a copy is in the old generation, the requests of all later copies stay in
 * memory until the next full garbage collection, and the heap grows to three times its size (decision 0073).
 */
export class OpenRequests {
  #oldest: OpenRequest | undefined;
  #newest: OpenRequest | undefined;
  #count = 0;
  /** Requests that don't wait for the processor: their number, and the sum of their arrival times. */
  #local = 0;
  #localSinceSumMs = 0;

  get count(): number {
    return this.#count;
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
    const previous = this.#newest;
    const handling = { hasStarted: false, hasResponse: false, outcome: undefined };
    const request: OpenRequest = { reply, sinceMs, isLocal, ...handling, previous, next: undefined };
    if (previous === undefined) this.#oldest = request;
    else previous.next = request;
    this.#newest = request;
    reply.open = request;
    this.#count += 1;
    if (isLocal) {
      this.#local += 1;
      this.#localSinceSumMs += sinceMs;
    }
    reply.raw.on('close', () => this.leave(reply));
  }

  /** Notes that the handler of a request runs. */
  start(reply: OpenReply, outcome: unknown): void {
    const request = reply.open;
    if (request === undefined) return;
    request.hasStarted = true;
    request.outcome = outcome;
  }

  /**
   * Stops tracking a request. A request that waits for new events is neither late nor a sign of overload. It must have
   * its own time limit.
   */
  leave(reply: OpenReply): void {
    const request = reply.open;
    if (request === undefined) return;
    const { previous, next } = request;
    if (previous === undefined) this.#oldest = next;
    else previous.next = next;
    if (next === undefined) this.#newest = previous;
    else next.previous = previous;
    request.previous = undefined;
    request.next = undefined;
    reply.open = undefined;
    this.#count -= 1;
    if (!request.isLocal) return;
    this.#local -= 1;
    this.#localSinceSumMs -= request.sinceMs;
  }

  /** Requests older than this. */
  *olderThan(ageMs: number): Generator<OpenRequest> {
    const beforeMs = performance.now() - ageMs;
    for (let request = this.#oldest; request !== undefined && request.sinceMs <= beforeMs; ) {
      // The caller may end the request, which then leaves the list.
      const { next } = request;
      yield request;
      request = next;
    }
  }
}
