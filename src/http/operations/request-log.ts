import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import type { Logger } from '#core/platform/logger.ts';
import type { Metrics } from '#core/platform/metrics.ts';
import type { Span } from '#core/platform/tracing.ts';

declare module 'fastify' {
  interface FastifyRequest {
    /** A response that stays open for as long as the caller reads it. Its duration is logged, and not measured. */
    isStream: boolean;
    isLogged: boolean;
  }
  interface FastifyInstance {
    /**
     * Logs a request once. A stream calls it when its caller has disconnected: the framework only reports its own end.
     */
    logRequest(request: FastifyRequest, reply: FastifyReply): void;
  }
}

/** A request whose response has ended. */
interface CompletedRequest {
  readonly id: string;
  readonly method: string;
  /** Undefined if no route matches. */
  readonly route: string | undefined;
  readonly status: number;
  readonly elapsedMs: number;
  readonly span: Span | undefined;
  readonly keyName?: string | undefined;
  readonly isStream?: boolean;
  readonly isShed?: boolean;
}

export type RecordRequest = (request: CompletedRequest) => void;

/**
 * One log line and one observation per request. They name the route's pattern, not the URL: URLs contain ids and
 * queries that callers choose, which would inflate the metrics and leak into the log.
 */
export function requestRecorder(logger: Logger, metrics: Metrics): RecordRequest {
  return ({ id, method, route = 'unmatched', status, elapsedMs, span, keyName, isStream, isShed }) => {
    const label = route === 'unmatched' ? 'any' : method;
    if (isStream !== true)
      metrics.httpRequestDuration.observe({ method: label, route, status }, elapsedMs / 1_000);
    span?.set({ 'http.response.status_code': status });
    span?.end(status >= 500 ? new Error() : undefined);
    if (isShed === true) return;
    logger.info(
      {
        requestId: id,
        method,
        route,
        status,
        durationMs: Math.round(elapsedMs * 1_000) / 1_000,
        key: keyName,
        traceId: span?.traceparent.split('-')[1],
      },
      'request',
    );
  };
}

/** Records the requests of the framework. */
export function registerRequestLog(app: FastifyInstance, record: RecordRequest): void {
  app.decorateRequest('caller', undefined);
  app.decorateRequest('isStream', false);
  app.decorateRequest('isLogged', false);
  const logRequest = (request: FastifyRequest, reply: FastifyReply) => {
    if (request.isLogged) return;
    request.isLogged = true;
    const { id, method, span, caller, isStream, isShed } = request;
    const route = request.is404 ? undefined : request.routeOptions.url;
    const [status, elapsedMs] = [reply.statusCode, reply.elapsedTime];
    record({ id, method, route, status, elapsedMs, span, keyName: caller?.name, isStream, isShed });
  };
  app.decorate('logRequest', logRequest);
  app.addHook('onResponse', (request, reply, done) => {
    logRequest(request, reply);
    done();
  });
}
