import type { FastifyInstance, FastifyRequest } from 'fastify';
import type { Span, Tracer } from '#core/platform/tracing.ts';

declare module 'fastify' {
  interface FastifyRequest {
    /** Undefined if the request is not traced. The log of the request ends it. */
    span: Span | undefined;
  }
}

/** Starts a span for each request, in the trace of the caller if it sends one (`traceparent`). */
export function registerRequestTrace(
  app: FastifyInstance,
  tracer: Tracer | undefined,
  isTraced: (request: FastifyRequest) => boolean,
): void {
  app.decorateRequest('span', undefined);
  if (tracer === undefined) return;
  app.addHook('onRequest', (request, _reply, done) => {
    const { method, headers, id } = request;
    const route = request.route.url ?? '';
    if (isTraced(request)) request.span = startRequestSpan(tracer, { id, method, route, headers });
    done();
  });
}

export function startRequestSpan(
  tracer: Tracer,
  request: Pick<FastifyRequest, 'id' | 'method' | 'headers'> & { readonly route: string },
): Span | undefined {
  const { id, method, route, headers } = request;
  const header = headers['traceparent'];
  const parent = typeof header === 'string' ? header : undefined;
  const attributes = { 'http.request.method': method, 'http.route': route, 'till.request.id': id };
  return tracer.start(`${method} ${route}`, { kind: 'server', parent, attributes });
}
