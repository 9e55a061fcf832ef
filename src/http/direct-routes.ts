import type { IncomingHttpHeaders, IncomingMessage, RequestListener, ServerResponse } from 'node:http';
import type { FastifyInstance } from 'fastify';
import type { Logger } from '#core/platform/logger.ts';
import { runInSpan, type Span, type Tracer } from '#core/platform/tracing.ts';
import type { ApiGuard } from './access/api-guard.ts';
import { problemResponse } from './failures/problem.ts';
import { failureOf } from './failures/respond-to-failure.ts';
import { hasClearHost, requestIdOf } from './input/request-parts.ts';
import { bodyBytesMax } from './load/limits.ts';
import type { Connections, OpenReply, OpenRequest, OpenRequests } from './load/open-requests.ts';
import type { UnverifiedBodies } from './load/unverified-bodies.ts';
import type { RecordRequest } from './operations/request-log.ts';
import { startRequestSpan } from './operations/request-trace.ts';
import { securityHeaders } from './security-headers.ts';

declare module 'fastify' {
  interface FastifyInstance {
    directRoutes: DirectRoutes;
  }
}

/** Returns the response, to send with status 200. */
type Run = (headers: IncomingHttpHeaders, body: Buffer) => Promise<object>;

interface DirectParts {
  readonly logger: Logger;
  readonly tracer?: Tracer | undefined;
  readonly guard: Pick<ApiGuard, 'isKey'>;
  readonly open: OpenRequests;
  readonly bodies: UnverifiedBodies;
  readonly connections: Connections;
  readonly record: RecordRequest;
  readonly isOverloaded: () => boolean;
  readonly isStopping: () => boolean;
}

const method = 'POST';

/**
 * Serves frequent requests without the framework, whose routing, hooks and objects would cost more than the work.
 * Serves only requests that need nothing else of the framework: the exact path, a body of a declared and allowed
 * length, and a process that is neither overloaded nor stopping. All other requests go to the framework, which has the
 * same route.
 */
class DirectRoutes {
  readonly #parts: DirectParts;
  readonly #routes = new Map<string, Run>();

  constructor(parts: DirectParts) {
    this.#parts = parts;
  }

  add(path: string, run: Run): void {
    this.#routes.set(path, run);
  }

  /** Whether it serves the request. */
  take(request: IncomingMessage, response: ServerResponse): boolean {
    const { url: route = '', headers } = request;
    const run = this.#routes.get(route);
    if (run === undefined || request.method !== method || !hasClearHost(request)) return false;
    if (!(Number(headers['content-length']) <= bodyBytesMax)) return false;
    const { tracer, guard, open, bodies, connections, isOverloaded, isStopping } = this.#parts;
    if (isStopping() || isOverloaded()) return false;
    const id = requestIdOf(headers, (text) => guard.isKey(text));
    const span = tracer && startRequestSpan(tracer, { id, method, route, headers });
    const reply = new DirectReply(this.#parts, { id, raw: request, route, span }, response);
    open.add(reply, true, true);
    // The deadline of the request may have passed before the body is complete or given up.
    const take = (body: Buffer) => {
      if (reply.sent) return;
      open.arrive(reply);
      const running = runInSpan(span, () => run(headers, body));
      open.start(reply, running);
      running.then(
        (result) => {
          connections.know(request.socket);
          reply.respond(result);
        },
        (error: Error) => reply.send(error),
      );
    };
    bodies.read(request, take, (error) => {
      if (reply.sent) return;
      // The rest of the body would follow on the connection, so the connection is closed.
      response.setHeader('connection', 'close');
      reply.send(error);
    });
    return true;
  }
}

/** Passes requests to the direct routes first. */
export function registerDirectRoutes(app: FastifyInstance, parts: DirectParts): void {
  const routes = new DirectRoutes(parts);
  app.decorate('directRoutes', routes);
  const { server } = app;
  const [serve] = server.listeners('request') as RequestListener[];
  if (serve === undefined) throw new Error('the framework does not listen');
  // Other listeners stay, because they only observe requests.
  server.removeListener('request', serve);
  server.on('request', (request, response) => {
    if (!routes.take(request, response)) serve.call(server, request, response);
  });
}

interface DirectRequest {
  readonly id: string;
  readonly raw: IncomingMessage;
  readonly route: string;
  readonly span: Span | undefined;
}

/** Sends the responses that the framework would send. */
class DirectReply implements OpenReply {
  readonly request: DirectRequest;
  readonly raw: ServerResponse;
  readonly #parts: DirectParts;
  readonly #startedAtMs = performance.now();
  #isRecorded = false;
  sent = false;
  open: OpenRequest | undefined;

  constructor(parts: DirectParts, request: DirectRequest, raw: ServerResponse) {
    this.#parts = parts;
    this.request = request;
    this.raw = raw;
    // Without a listener, an error event would end the process.
    raw.on('error', () => this.#record());
  }

  respond(result: object): void {
    this.#write(200, { 'content-type': 'application/json; charset=utf-8' }, JSON.stringify(result));
  }

  send(error: Error): void {
    if (this.sent) return;
    const failure = failureOf(error, this.request, bodyBytesMax, this.#parts.logger);
    const { status, headers, body } = problemResponse(failure, this.request.id);
    this.#write(status, headers, JSON.stringify(body));
  }

  #write(status: number, headers: Readonly<Record<string, string>>, text: string): void {
    // The deadline has passed, and the caller has its response.
    if (this.sent) return;
    this.sent = true;
    const closing = this.#parts.isStopping() ? { connection: 'close' } : {};
    this.raw
      .writeHead(status, {
        'x-request-id': this.request.id,
        ...securityHeaders,
        ...headers,
        ...closing,
        'content-length': Buffer.byteLength(text),
      })
      .end(text, () => this.#record());
  }

  #record(): void {
    if (this.#isRecorded) return;
    this.#isRecorded = true;
    const { id, route, span } = this.request;
    const elapsedMs = performance.now() - this.#startedAtMs;
    this.#parts.record({ id, method, route, span, status: this.raw.statusCode, elapsedMs });
  }
}
