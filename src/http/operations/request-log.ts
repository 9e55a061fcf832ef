import type { FastifyInstance } from 'fastify';
import type { Logger } from '../../platform/logger.ts';
import type { Metrics } from '../../platform/metrics.ts';

/**
 * One log line and one observation per request. They name the route's pattern, not the URL: URLs contain ids and
 * queries that callers choose, which would inflate the metrics and leak into the log.
 */
export function registerRequestLog(app: FastifyInstance, logger: Logger, metrics: Metrics): void {
  app.decorateRequest('caller', undefined);
  app.addHook('onResponse', (request, reply, done) => {
    const route = request.is404 ? 'unmatched' : (request.routeOptions.url ?? 'unmatched');
    const method = request.is404 ? 'any' : request.method;
    const status = reply.statusCode;
    metrics.httpRequestDuration.observe({ method, route, status }, reply.elapsedTime / 1_000);
    if (request.isShed) return done();
    logger.info(
      {
        requestId: request.id,
        method: request.method,
        route,
        status,
        durationMs: Math.round(reply.elapsedTime * 1_000) / 1_000,
        key: request.caller?.name,
      },
      'request',
    );
    done();
  });
  app.addHook('onRoute', ({ url, method }) => {
    for (const name of [method].flat())
      metrics.httpRequestDuration.zero({ method: name, route: url, status: 200 });
  });
}
