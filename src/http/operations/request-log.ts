import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import type { Logger } from '../../platform/logger.ts';
import type { Metrics } from '../../platform/metrics.ts';

declare module 'fastify' {
  interface FastifyRequest {
    /** A response that stays open for as long as the caller reads it. Its duration is logged, and not measured. */
    isStream: boolean;
    isLogged: boolean;
  }
  interface FastifyInstance {
    /** Logs a request once. A stream calls it when its caller has disconnected: the framework only reports its own end. */
    logRequest(request: FastifyRequest, reply: FastifyReply): void;
  }
}

/**
 * One log line and one observation per request. They name the route's pattern, not the URL: URLs contain ids and
 * queries that callers choose, which would inflate the metrics and leak into the log.
 */
export function registerRequestLog(app: FastifyInstance, logger: Logger, metrics: Metrics): void {
  app.decorateRequest('caller', undefined);
  app.decorateRequest('isStream', false);
  app.decorateRequest('isLogged', false);
  const logRequest = (request: FastifyRequest, reply: FastifyReply) => {
    if (request.isLogged) return;
    request.isLogged = true;
    const route = request.is404 ? 'unmatched' : (request.routeOptions.url ?? 'unmatched');
    const method = request.is404 ? 'any' : request.method;
    const status = reply.statusCode;
    if (!request.isStream)
      metrics.httpRequestDuration.observe({ method, route, status }, reply.elapsedTime / 1_000);
    request.span?.set({ 'http.response.status_code': status });
    request.span?.end(status >= 500 ? new Error() : undefined);
    if (request.isShed) return;
    logger.info(
      {
        requestId: request.id,
        method: request.method,
        route,
        status,
        durationMs: Math.round(reply.elapsedTime * 1_000) / 1_000,
        key: request.caller?.name,
        traceId: request.span?.traceparent.split('-')[1],
      },
      'request',
    );
  };
  app.decorate('logRequest', logRequest);
  app.addHook('onResponse', (request, reply, done) => {
    logRequest(request, reply);
    done();
  });
}
