import { SerializerSelector } from '@fastify/fast-json-stringify-compiler';
import {
  type FastifyBaseLogger,
  type FastifyInstance,
  type FastifyRequest,
  fastify,
  LogController,
} from 'fastify';
import { type Cause, runWithCause, type WhileWaiting } from '#core/platform/cause.ts';
import type { Logger } from '#core/platform/logger.ts';
import { runInSpan, type Tracer } from '#core/platform/tracing.ts';
import { type ApiGuard, registerKeyChecks } from './access/api-guard.ts';
import { rewriteConsoleUrl } from './access/console-calls.ts';
import { type AuditWriter, registerAudit } from './audited-requests.ts';
import { CsvExports, type CsvLimits, csvLimits } from './csv/csv-exports.ts';
import { registerDirectRoutes } from './direct-routes.ts';
import { type OperationTag, registerDocs } from './docs/docs.ts';
import { RouteIndex } from './docs/route-index.ts';
import { createBrokenRequestHandler, respondToFailure } from './failures/respond-to-failure.ts';
import { registerJsonBody, requestIdOf, unclearHost, undeclaredInput } from './input/request-parts.ts';
import { compileValidator } from './input/validator.ts';
import { type KeyedBodies, registerKeyedBodies, registerUnsentResponses } from './load/application-memory.ts';
import { LargeResponses } from './load/large-responses.ts';
import {
  bodyBytesMax,
  type ConnectionLimits,
  connectionLimits,
  headerBytesMax,
  pathParamLengthMax,
} from './load/limits.ts';
import { type Connections, OpenRequests, registerConnections } from './load/open-requests.ts';
import {
  type OverloadLimits,
  overloadLimits,
  registerOverload,
  registerRequestDeadline,
} from './load/overload.ts';
import { type Pauses, registerPauses } from './load/paused-requests.ts';
import { UnverifiedBodies } from './load/unverified-bodies.ts';
import { type Dependency, registerHealth } from './operations/health.ts';
import { type MetricsParts, registerMetrics } from './operations/metrics-route.ts';
import { registerRequestLog, requestRecorder } from './operations/request-log.ts';
import { registerRequestTrace } from './operations/request-trace.ts';
import { type PositionSource, registerPositions } from './positions.ts';
import { securityHeaders } from './security-headers.ts';

declare module 'fastify' {
  interface FastifyInstance {
    /** Once true, each connection closes after its current response. */
    isStopping(): boolean;
  }
  interface FastifyRequest {
    /** The framework creates `routeOptions` at each access, and every request needs them several times. */
    route: FastifyRequest['routeOptions'];
    /** Values that are known only when the response is sent. */
    response: FastifyReply['raw'];
  }
}

export interface AppParts extends MetricsParts {
  readonly logger: Logger;
  readonly guard: ApiGuard;
  /** Undefined if there is none. */
  readonly audit?: AuditWriter | undefined;
  /** Undefined if there is no replica. */
  readonly positions?: PositionSource | undefined;
  /** Whether the console may call the API below its own path. */
  readonly hasConsole?: boolean;
  readonly dependencies: readonly Dependency[];
  readonly trustProxy: readonly string[];
  /** Shorter limits for tests. */
  readonly connectionLimits?: Partial<ConnectionLimits>;
  /** Once true, each connection closes after its current response, and the service is no longer healthy. */
  readonly isStopping: () => boolean;
  /** Undefined if requests are not traced. */
  readonly tracer?: Tracer | undefined;
  /** Replaces the default answer to whether a stopping process counts as unhealthy: others may serve on its port. */
  readonly isUnhealthy?: () => boolean;
  /** False for a process that only does background work: it serves only health and metrics. */
  readonly servesApi: boolean;
  /** Lower limits for tests. */
  readonly overloadLimits?: OverloadLimits;
  /** Lower limits for tests. */
  readonly csvLimits?: Partial<CsvLimits>;
  /** Undefined if nothing pauses requests. */
  readonly pauses?: Pauses | undefined;
  /** How long a request may take; 30 s by default. */
  readonly requestDeadlineMs?: number;
  /** The groups of the operations of the resources. */
  readonly tags?: readonly OperationTag[];
  /** Adds the routes of every module, with their full paths. */
  readonly registerRoutes: (app: FastifyInstance) => Promise<void>;
}

/** The HTTP side of the service: everything around the resources, in the order in which a request passes it. */
export async function buildApp(parts: AppParts): Promise<FastifyInstance> {
  const app = createServer(parts);
  // Ignores an unknown `Expect` header. Node would refuse the request, with a response that has no body.
  app.server.on('checkExpectation', (request, response) => app.server.emit('request', request, response));
  const connections = registerConnections(app, { ...connectionLimits, ...parts.connectionLimits });
  const routes = new RouteIndex(app);
  registerFailures(app, routes, parts.logger);
  app.setValidatorCompiler(({ schema, httpPart }) => compileValidator(schema, httpPart));
  app.setSerializerCompiler<object>(({ schema }) => compileSerializer(schema));
  const open = new OpenRequests();
  app.decorate('openRequests', open);
  app.decorateReply('open', undefined);
  const keyedBodies = registerKeyedBodies(app);
  app.decorate('isStopping', parts.isStopping);
  app.decorate('largeResponses', new LargeResponses());
  const csvExports = new CsvExports({ ...csvLimits, ...parts.csvLimits });
  app.decorate('csvExports', csvExports);
  app.addHook('onClose', async () => csvExports.close());
  const timeoutMs = parts.requestDeadlineMs ?? connectionLimits.requestTimeoutMs;
  if (parts.pauses !== undefined) registerPauses(app, parts.pauses);
  registerRequestDeadline(app, { logger: parts.logger, open, timeoutMs });
  app.decorateRequest('route');
  app.decorateRequest('response');
  // Hooks that every request passes use callbacks: a promise for each would cost more than the hooks themselves.
  app.addHook('onRequest', (request, reply, done) => {
    request.route = request.routeOptions;
    request.response = reply.raw;
    reply.header('x-request-id', request.id);
    reply.headers(securityHeaders);
    done();
  });
  registerRequestTrace(app, parts.tracer, isTraced);
  const limits = parts.overloadLimits ?? overloadLimits;
  const isOverloaded = registerOverload(app, { ...parts, open, limits });
  const record = requestRecorder(parts.logger, parts.metrics);
  const bodies = new UnverifiedBodies();
  app.decorate('unverifiedBodies', bodies);
  registerDirectRoutes(app, { ...parts, open, bodies, connections, record, isOverloaded });
  registerAdmission(app, { guard: parts.guard, routes, keyedBodies, connections });
  registerKeyChecks(app, parts.guard);
  registerUnsentResponses(app, parts.logger);
  app.addHook('onSend', (_request, reply, payload, done) => {
    if (parts.isStopping()) reply.header('connection', 'close');
    done(null, payload);
  });
  registerRequestLog(app, record);
  registerJsonBody(app);
  app.addHook('preValidation', (request, _reply, done) => {
    done(isApi(request) ? undeclaredInput(request) : undefined);
  });
  if (parts.audit !== undefined) registerAudit(app, parts.audit, parts.logger);
  registerPositions(app, parts.positions);
  // The last of these hooks: socket events, such as those that deliver the body, run outside a context that an earlier
  // hook enters.
  registerCause(app, parts.guard, open);

  if (parts.servesApi) await registerDocs(app, parts.tags);
  registerHealth(app, parts.dependencies, parts.isUnhealthy ?? parts.isStopping);
  registerMetrics(app, parts);
  if (parts.servesApi) await app.register(parts.registerRoutes);
  await app.ready();
  return app;
}

interface AdmissionParts {
  readonly guard: ApiGuard;
  readonly routes: RouteIndex;
  readonly keyedBodies: KeyedBodies;
  readonly connections: Connections;
}

/** Hooks that refuse requests before the body is read. */
function registerAdmission(
  app: FastifyInstance,
  { guard, routes, keyedBodies, connections }: AdmissionParts,
): void {
  app.addHook('onRequest', (request, reply, done) => {
    const unclear = unclearHost(request, reply);
    if (unclear !== undefined) return done(unclear);
    // Refused before the body is read: a request without a route needs no parsing.
    const enter = () => done(request.is404 ? routes.refusal(request) : keyedBodies.admit(request, reply));
    if (!isApi(request)) return enter();
    const admitted = () => {
      connections.know(request.raw.socket);
      enter();
    };
    const pending = guard.admit(request);
    return void (pending === undefined ? admitted() : pending.then(admitted, done));
  });
}

/** Gives the work for a request its cause, and a way to check whether its caller is still admitted. */
function registerCause(app: FastifyInstance, guard: ApiGuard, open: OpenRequests): void {
  app.addHook('preHandler', (request, reply, done) => {
    if (!isApi(request)) return done();
    const whileWaiting: WhileWaiting = (work) => open.wait(reply, work);
    const options = { confirm: () => guard.confirm(request), audit: request.audit, whileWaiting };
    return runInSpan(request.span, () => runWithCause(causeOf(request), done, options));
  });
}

function registerFailures(app: FastifyInstance, routes: RouteIndex, logger: Logger): void {
  app.setErrorHandler((error: Error & { code: string }, request, reply) =>
    respondToFailure(error, request, reply, logger),
  );
  app.setNotFoundHandler((request) => {
    throw routes.refusal(request);
  });
}

function createServer(parts: AppParts): FastifyInstance {
  const loggerInstance: FastifyBaseLogger = parts.logger;
  const limits = { ...connectionLimits, ...parts.connectionLimits };
  const app = fastify({
    loggerInstance,
    logController: new LogController({ disableRequestLogging: true }),
    // Every log line names the request id itself, so a logger per request would be wasted.
    childLoggerFactory: (logger) => logger,
    genReqId: ({ headers }) => requestIdOf(headers, (text) => parts.guard.isKey(text)),
    requestIdHeader: false,
    bodyLimit: bodyBytesMax,
    requestTimeout: limits.requestTimeoutMs,
    keepAliveTimeout: limits.keepAliveTimeoutMs,
    connectionTimeout: limits.stalledTimeoutMs,
    http: {
      headersTimeout: limits.headersTimeoutMs,
      connectionsCheckingInterval: limits.timeoutCheckIntervalMs,
      maxHeaderSize: headerBytesMax,
      // `unclearHost` refuses such a request with a problem response.
      requireHostHeader: false,
    },
    routerOptions: { maxParamLength: pathParamLengthMax },
    ...(parts.hasConsole === true ? { rewriteUrl: rewriteConsoleUrl } : {}),
    trustProxy: parts.trustProxy.length === 0 ? false : [...parts.trustProxy],
    // During a shutdown, requests that still arrive on an open connection are served, and then the connection closes.
    return503OnClosing: false,
    forceCloseConnections: 'idle',
    frameworkErrors: (error, request, reply) => {
      reply.header('x-request-id', request.id);
      reply.headers(securityHeaders);
      respondToFailure(error, request, reply, parts.logger);
    },
    clientErrorHandler: createBrokenRequestHandler(),
  });
  return app;
}

type Serialize = (data: unknown) => string;

/** No schema refers to another one. */
const compile = SerializerSelector()();
/** Services in one process, and routes with the same schema, share the compiled serialiser. */
const compiled = new WeakMap<object, Serialize>();

/** Compiles at the first response: otherwise a start would spend most of its time in the compiler. */
function compileSerializer(schema: object): Serialize {
  let serialize: Serialize | undefined;
  return (data) => {
    serialize ??= sharedSerializer(schema);
    return serialize(data);
  };
}

function sharedSerializer(schema: object): Serialize {
  const known = compiled.get(schema);
  if (known !== undefined) return known;
  const serialize = compile({ schema, method: '', url: '', httpStatus: '' });
  compiled.set(schema, serialize);
  return serialize;
}

function causeOf({ id, caller, span }: FastifyRequest): Cause {
  const [keyName, person] = [caller?.name ?? null, caller?.person?.email ?? null];
  const cause: Cause = { kind: 'api', keyName, person, requestId: id, processorEventId: null };
  return span === undefined ? cause : { ...cause, traceparent: span.traceparent };
}

/**
 * Checks the route's own pattern where there is one, so that no spelling of a URL bypasses the check of the API key.
 */
function isApi(request: FastifyRequest): boolean {
  const path = request.route.url ?? request.url;
  return path.startsWith('/api/v1/') || path === '/api/v1';
}

/** Only requests of callers and of the processor. Health checks and scrapes would hide them. */
function isTraced(request: FastifyRequest): boolean {
  return !request.is404 && (isApi(request) || request.route.url === '/webhooks/processor');
}
