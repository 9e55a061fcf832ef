import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import type { FastifyBaseLogger, FastifyInstance } from 'fastify';
import type { Failure } from '#core/errors.ts';
import { Turns } from '#core/platform/turns.ts';
import type { ConnectionLimits } from './limits.ts';

/** Beside requests, work that gives way has a tenth of the time: it pauses for so many times as long as it worked. */
const pausesPerWork = 9;
/** So that it goes on even if the database is slow. */
const pauseMsMax = 250;
/** How long after a request another one is expected. */
const quietAfterMs = 100;

/** A reply of the framework, or of a route without it. */
export interface OpenReply {
  readonly raw: ServerResponse;
  readonly request: { readonly id: string; readonly raw: IncomingMessage };
  readonly sent: boolean;
  /** Undefined if the request is not tracked. */
  open: OpenRequest | undefined;
  log?: FastifyBaseLogger;
  send(failure: Failure): unknown;
  /** Makes the framework ignore what the handler sends later. */
  hijack?(): unknown;
}

/**
 * What a request does now. While its body arrives, or while it waits for the processor or for another request, it keeps
 * a connection and some memory, but does not slow other requests down.
 */
type Phase = 'arriving' | 'working' | 'waiting';

export interface OpenRequest {
  readonly reply: OpenReply;
  readonly sinceMs: number;
  readonly isLocal: boolean;
  phase: Phase;
  /** How many calls of `wait` have not ended. */
  waits: number;
  /** When it began to work, after its latest wait. */
  workingSinceMs: number;
  /** True once its handler runs: by then, all of the request that it needs has arrived. */
  hasStarted: boolean;
  /** True once its response is known, which may still wait for its audit entry. */
  hasResponse: boolean;
  /** What the handler returned: a promise if it is asynchronous. */
  outcome: unknown;
  /** Its neighbours in order of arrival. Undefined at both ends of the list, and once it is no longer tracked. */
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
 * The requests in progress, as a linked list. A map that entries join and leave is copied every few hundred requests,
 * and V8 lets each copy refer to the next one. Once a copy is in the old generation, the requests of all later copies
 * stay in memory until the next full garbage collection, and the heap grows to three times its size (decision 0034).
 */
export class OpenRequests {
  #oldest: OpenRequest | undefined;
  #newest: OpenRequest | undefined;
  #working = 0;
  /** Working requests that never call the processor: their number, and the sum of the times at which they began. */
  #local = 0;
  #localSinceSumMs = 0;
  /** When a request last began or ended to work. */
  #workedMs = Number.NEGATIVE_INFINITY;
  /** Beside requests, one piece of the work that gives way is done at a time. */
  readonly #pieces = new Turns(1);

  /** The requests that work now: neither arriving nor waiting. */
  get workingCount(): number {
    return this.#working;
  }

  get localCount(): number {
    return this.#local;
  }

  /** How long the working requests that never call the processor have worked, on average. */
  get localAgeMs(): number {
    return this.#local === 0 ? 0 : performance.now() - this.#localSinceSumMs / this.#local;
  }

  /**
   * Does a piece of work that may wait, such as reading a page of an export. Beside requests, one piece is done at a
   * time, and all of them together get a tenth of the time: a thousand streams that read old events hardly slow
   * requests down, and go on. Few pieces may wait at the same time. Undefined if the signal aborts before it begins.
   */
  async giveWay<Result>(work: () => Promise<Result>, signal: AbortSignal): Promise<Result | undefined> {
    if (this.#isQuiet) return work();
    if (!(await this.#pieces.take(signal))) return undefined;
    const beganMs = performance.now();
    try {
      return await work();
    } finally {
      const pauseMs = Math.min(pauseMsMax, pausesPerWork * (performance.now() - beganMs));
      if (this.#isQuiet) this.#pieces.leave();
      else setTimeout(() => this.#pieces.leave(), pauseMs).unref();
    }
  }

  get #isQuiet(): boolean {
    return this.#working === 0 && performance.now() - this.#workedMs > quietAfterMs;
  }

  /**
   * Tracks a request until its response has ended or its caller has disconnected. The framework's `onResponse` does not
   * run in all of these cases. A request with a body begins to work when `arrive` is called.
   */
  add(reply: OpenReply, isLocal: boolean, hasBody: boolean): void {
    const sinceMs = performance.now();
    const previous = this.#newest;
    const request: OpenRequest = {
      reply,
      sinceMs,
      isLocal,
      phase: 'arriving',
      waits: 0,
      workingSinceMs: sinceMs,
      hasStarted: false,
      hasResponse: false,
      outcome: undefined,
      previous,
      next: undefined,
    };
    if (previous === undefined) this.#oldest = request;
    else previous.next = request;
    this.#newest = request;
    reply.open = request;
    if (!hasBody) this.#work(request, sinceMs);
    reply.raw.on('close', () => this.leave(reply));
  }

  /** Records that the whole body of a request has arrived. */
  arrive(reply: OpenReply): void {
    const request = reply.open;
    if (request?.phase === 'arriving') this.#work(request, performance.now());
  }

  /** Waits for work that is done elsewhere: at the processor, or in another request. */
  async wait<Result>(reply: OpenReply, work: () => Promise<Result>): Promise<Result> {
    const request = reply.open;
    if (request === undefined) return work();
    request.waits += 1;
    this.#rest(request, 'waiting');
    try {
      return await work();
    } finally {
      request.waits -= 1;
      // It may have ended meanwhile.
      if (request.waits === 0 && reply.open === request) this.#work(request, performance.now());
    }
  }

  /** Records that the handler of a request runs, and what it returned. */
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
    this.#rest(request, 'waiting');
  }

  #work(request: OpenRequest, sinceMs: number): void {
    request.phase = 'working';
    request.workingSinceMs = sinceMs;
    this.#workedMs = sinceMs;
    this.#working += 1;
    if (!request.isLocal) return;
    this.#local += 1;
    this.#localSinceSumMs += sinceMs;
  }

  #rest(request: OpenRequest, phase: Phase): void {
    const wasWorking = request.phase === 'working';
    request.phase = phase;
    if (!wasWorking) return;
    this.#workedMs = performance.now();
    this.#working -= 1;
    if (!request.isLocal) return;
    this.#local -= 1;
    this.#localSinceSumMs -= request.workingSinceMs;
  }

  /** Requests older than this. */
  *olderThan(ageMs: number): Generator<OpenRequest> {
    const beforeMs = performance.now() - ageMs;
    for (let request = this.#oldest; request !== undefined && request.sinceMs <= beforeMs; ) {
      // The callback may end the request, which then leaves the list.
      const { next } = request;
      yield request;
      request = next;
    }
  }
}

declare module 'fastify' {
  interface FastifyInstance {
    connections: Connections;
  }
}

/** How many connections are closed at a time, because each search examines all connections. */
const shareToClose = 1 / 100;

/** An open connection, and what is known about its caller. */
class Connection {
  readonly socket: Socket;
  /** Whether its caller has shown a valid API key, session or signature. */
  isKnown = false;
  /** When it was opened, or its last response was sent. */
  usedAtMs = performance.now();
  #responses = 0;
  /** Its latest response. Undefined before the first one. */
  #latest: ServerResponse | undefined;
  readonly #end = () => {
    this.#responses -= 1;
    this.usedAtMs = performance.now();
    if (this.#responses === 0) this.#latest = undefined;
  };

  constructor(socket: Socket) {
    this.socket = socket;
  }

  respond(response: ServerResponse): void {
    this.#responses += 1;
    this.#latest = response;
    response.once('close', this.#end);
  }

  /** Whether a request on it has arrived with its whole body, and has no response yet. */
  get isServing(): boolean {
    // The next request on a connection begins after the one before it is complete.
    return this.#responses > 1 || this.#latest?.req.complete === true;
  }
}

/** The open connections of a server. */
export class Connections {
  readonly #open = new Set<Connection>();
  readonly #ofSocket = new WeakMap<Socket, Connection>();
  readonly #max: number;

  constructor({ server }: FastifyInstance, max: number) {
    this.#max = max;
    server.on('connection', (socket) => this.#add(socket));
    server.on('request', (_request, response) => {
      if (response.socket !== null) this.#ofSocket.get(response.socket)?.respond(response);
    });
  }

  /** Records that the caller has shown a valid API key, session or signature. */
  know(socket: Socket): void {
    const connection = this.#ofSocket.get(socket);
    if (connection !== undefined) connection.isKnown = true;
  }

  /**
   * Closes connections on which nothing was ever sent: browsers and load balancers open them in advance. Node does not
   * count them as idle, and would wait for them when it closes the server.
   */
  closeSilent(): void {
    for (const { socket } of this.#open) if (socket.bytesRead === 0) socket.destroy();
  }

  /** Closes connections without a request that has arrived as a whole. */
  closeUnused(): void {
    for (const { socket, isServing } of this.#open) if (!isServing) socket.destroy();
  }

  #add(socket: Socket): void {
    const connection = new Connection(socket);
    this.#open.add(connection);
    this.#ofSocket.set(socket, connection);
    socket.once('close', () => this.#open.delete(connection));
    if (this.#open.size > this.#max) this.#makeRoom();
  }

  /**
   * Closes connections that serve no request: those of unknown callers first, and of these the one that was unused for
   * longest. A caller that opens thousands of connections displaces only its own.
   */
  #makeRoom(): void {
    const unused = [...this.#open]
      .filter(({ isServing }) => !isServing)
      .sort((a, b) => Number(a.isKnown) - Number(b.isKnown) || a.usedAtMs - b.usedAtMs);
    const count = Math.max(this.#open.size - this.#max, Math.floor(this.#max * shareToClose));
    for (const connection of unused.slice(0, count)) {
      this.#open.delete(connection);
      connection.socket.destroy();
    }
  }
}

/** Keeps the number of connections below its maximum, and closes those that would hold up a stop. */
export function registerConnections(
  app: FastifyInstance,
  { connectionsMax, incompleteMs }: Pick<ConnectionLimits, 'connectionsMax' | 'incompleteMs'>,
): Connections {
  const connections = new Connections(app, connectionsMax);
  app.decorate('connections', connections);
  app.addHook('preClose', async () => {
    connections.closeSilent();
    const timer = setTimeout(() => connections.closeUnused(), incompleteMs);
    app.server.once('close', () => clearTimeout(timer));
  });
  return connections;
}
