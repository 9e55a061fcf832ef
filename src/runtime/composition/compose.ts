import { setTimeout as delay, setImmediate } from 'node:timers/promises';
import type { FastifyInstance } from 'fastify';
import type { Cache } from '#core/platform/cache.ts';
import { systemClock } from '#core/platform/clock.ts';
import { MemoryCache } from '#core/platform/memory-cache.ts';
import { createMetrics } from '#core/platform/metrics.ts';
import type { Platform } from '#core/platform/platform.ts';
import { Repeater } from '#core/platform/repeater.ts';
import type { Replica } from '#core/platform/replica.ts';
import type { Tracer } from '#core/platform/tracing.ts';
import type { CrashPoints } from '#engine/idempotency/claim.ts';
import { ApiGuard } from '#http/access/api-guard.ts';
import type { LoadedApiKeys } from '#http/access/api-key-source.ts';
import { RateLimiter } from '#http/access/rate-limiter.ts';
import { buildApp } from '#http/app.ts';
import { registerSitePages } from '#http/docs/site-pages.ts';
import { backlogMax } from '#http/load/limits.ts';
import { registerRoot } from '#http/operations/root-route.ts';
import { refreshDelayMs } from '#operators/keys/key-cache.ts';
import type { SandboxControl } from '#operators/sandbox-control/sandbox-control.ts';
import type { ResetListener, SandboxResets } from '#operators/sandbox-control/sandbox-resets.ts';
import { AccountGuard } from '#processor/account/account-guard.ts';
import type { Processor } from '#processor/port/processor.ts';
import { type BackgroundWork, composeBackgroundWork } from './compose-background.ts';
import { composeConsole } from './compose-console.ts';
import { closeTimeoutMs, describeAddress, type OpenedDatabase, openReplica } from './compose-database.ts';
import { composeMetrics, noteProcesses, processesDependency, Retirement } from './compose-member.ts';
import { metricLabels, openCache, openProcessor, openTelemetry } from './compose-parts.ts';
import { operationTags, registerRoutes } from './compose-routes.ts';
import { explainPort, openResets } from './compose-sandbox.ts';
import { composeServices, type Services } from './compose-services.ts';
import type { Config } from './config.ts';
import type { Start } from './start.ts';
import type { WelcomeFacts } from './welcome.ts';

/**
 * A processor call ends within ten seconds; with the stop delay before it, this fits the 30 s that orchestrators wait.
 */
const drainTimeoutMs = 15_000;

export interface Till {
  readonly facts: WelcomeFacts;
  /** Reloads the file of API keys; returns the number of valid ones. */
  readonly reloadKeys: () => Promise<number>;
  /** Stops everything in order; true if every part stopped in time. */
  readonly stop: () => Promise<boolean>;
  /** The same, while another process serves on the same port: accepts no new connections, and stays healthy. */
  readonly retire: () => Promise<boolean>;
}

/** Settings that only tests change. */
export interface TestSettings {
  readonly crashPoints?: CrashPoints;
  /** How long a request may take. */
  readonly requestDeadlineMs?: number;
  /** How long a call to the processor may take. */
  readonly callLimits?: Start['callLimits'];
  /** The time between two regular runs of the recovery. */
  readonly recoveryDelayMs?: number;
}

/** The parts that are opened while the rest of the code is loaded. */
interface Opened {
  readonly keys: LoadedApiKeys;
  readonly opened: OpenedDatabase;
}

/** The composition root: the only place that knows every part. The caller stops what was started if it fails. */
export async function compose(
  from: Start,
  { keys, opened }: Opened,
  { crashPoints, recoveryDelayMs, ...limits }: Omit<TestSettings, 'callLimits'>,
): Promise<Till> {
  const { config, logger, shutdown, parent } = from;
  const { database } = opened;
  const cache = await openCache(from);
  const metrics = createMetrics(metricLabels);
  const replica = openReplica(from, database, metrics);
  let measure = async (): Promise<void> => {};
  const tracer = await openTelemetry(from, { registry: metrics.registry, measure: () => measure() });
  const address = { url: `http://${config.host}:${config.port}` };
  const account = new AccountGuard({ database, logger });
  const { processor, processorClock, name, sandbox } = await openProcessor(from, metrics, address, {
    beforeCall: () => account.require(),
    cache,
  });
  shutdown.add('processor account', closeTimeoutMs, async () => account.stop());
  await account.start(processor);
  const resets = sandbox && openResets(from, { ...opened, sandbox });
  const services = composeServices({
    ...{ ...from, ...opened, processor, processorClock, metrics, tracer, crashPoints, door: resets?.door },
    ...(parent === undefined || config.role !== 'api' ? {} : { reportWork: () => parent.reportWork() }),
  });
  measure = () => services.measure();
  parent?.setOnWork(services.nudge);
  const background = composeBackgroundWork(from, services, {
    ...{ account, database, processorClock, door: resets?.door, recoveryDelayMs },
  });
  await resets?.start(pauseOf(services, background));
  const retirement = new Retirement();
  const input = {
    ...{
      database,
      replica,
      cache,
      metrics,
      tracer,
      keys,
      services,
      processor,
      sandbox,
      resets,
      limits,
      retirement,
    },
  };
  const app = await composeApp(from, input);
  address.url = await listen(app, config);
  if (config.role !== 'api') background.start();
  const facts: WelcomeFacts = {
    url: address.url,
    database:
      config.databaseUrl === undefined
        ? `embedded PostgreSQL in ${config.dataDir}`
        : describeAddress(config.databaseUrl),
    cache: config.redisUrl === undefined ? 'in-process' : describeAddress(config.redisUrl),
    processor: name,
    servesApi: config.role !== 'worker',
    hasConsole: config.hasConsole,
    generatedKey: keys.generated,
  };
  const retire = async () => {
    await retirement.begin(app.server);
    return shutdown.run();
  };
  return { facts, reloadKeys: keys.reload, stop: () => shutdown.run(), retire };
}

/** The work that a reset of the sandbox pauses, besides requests and repeated work. */
function pauseOf({ dispatcher }: Services, background: BackgroundWork): ResetListener {
  return {
    onPause: () => dispatcher.pause(),
    onOpen: (wereDeleted) => {
      if (wereDeleted) background.forgetHistory();
      dispatcher.resume();
    },
  };
}

interface AppInput extends Pick<Platform, 'database' | 'metrics'> {
  readonly replica: Replica | undefined;
  readonly cache: Cache;
  readonly tracer: Tracer | undefined;
  readonly keys: LoadedApiKeys;
  readonly services: Services;
  readonly processor: Processor;
  readonly sandbox: SandboxControl | undefined;
  readonly resets: SandboxResets | undefined;
  readonly limits: Pick<TestSettings, 'requestDeadlineMs'>;
  readonly retirement: Retirement;
}

async function composeApp(start: Start, input: AppInput): Promise<FastifyInstance> {
  const { config, logger, shutdown, parent } = start;
  const { database, replica, cache, metrics, tracer, keys, services, processor, sandbox } = input;
  const { limits, resets, retirement } = input;
  const fallback = new MemoryCache(systemClock);
  const limiter = new RateLimiter({ shared: cache, fallback, clock: systemClock, logger });
  const { keys: storedKeys, audit } = services;
  const shared = { database, ring: keys.ring, keys: storedKeys, audit, clock: systemClock, logger };
  const address = () => app.server.address();
  const operators = config.hasConsole
    ? composeConsole({
        ...shared,
        config: config.console,
        timeZone: config.overviewTimeZone,
        port: () => portOf(address(), config),
      })
    : undefined;
  const guard = new ApiGuard({
    keys: keys.ring,
    storedKeys,
    sessions: operators?.access,
    limiter,
    requestsPerMinute: config.rateLimitPerMinute,
    usageRequestsPerMinute: config.usageRateLimitPerMinute,
  });
  const app: FastifyInstance = await buildApp({
    ...limits,
    pauses: resets,
    ...{ logger, metrics, tracer, guard, audit },
    positions: replica,
    hasConsole: config.hasConsole,
    dependencies: [
      { name: 'database', check: () => database.ping(), reach: () => database.reach() },
      { name: 'cache', check: () => cache.ping() },
      ...(parent === undefined ? [] : [processesDependency(parent)]),
    ],
    trustProxy: config.trustProxy,
    isStopping: () => shutdown.hasBegun || retirement.hasBegun,
    isUnhealthy: () => shutdown.hasBegun && !retirement.hasBegun,
    servesApi: config.role !== 'worker',
    beforeScrape: () => {
      metrics.rateLimitsShared.set(limiter.isShared ? 1 : 0);
      noteProcesses(metrics, parent);
      return services.measure();
    },
    readMetrics: composeMetrics(metrics, parent),
    tags: operationTags,
    registerRoutes: async (scope) => {
      await registerRoutes(scope, services, {
        processor,
        sandbox,
        resets,
        clock: systemClock,
        logger,
        metrics,
      });
      registerRoot(scope, config.hasConsole);
      registerSitePages(scope);
      operators?.registerRoutes(scope, guard);
    },
  });
  if (config.role !== 'worker') refreshKeys({ logger, shutdown }, services);
  const stopDelayMs = config.stopDelaySeconds * 1_000;
  shutdown.add('open requests', stopDelayMs + drainTimeoutMs + closeTimeoutMs, () =>
    closeApp(app, retirement.hasBegun ? 0 : stopDelayMs),
  );
  return app;
}

function portOf(address: ReturnType<FastifyInstance['server']['address']>, { port }: Config): number {
  return typeof address === 'object' && address !== null ? address.port : port;
}

/** Starts before the first request, and stops after the last one. */
function refreshKeys({ logger, shutdown }: Omit<Start, 'config'>, { keys }: Services): void {
  const repeater = new Repeater({
    name: 'API keys',
    delayMs: refreshDelayMs,
    work: () => keys.refresh(),
    logger,
  });
  shutdown.add('API keys', closeTimeoutMs, () => repeater.stop());
  repeater.start();
}

async function listen(app: FastifyInstance, { host, port }: Config): Promise<string> {
  try {
    return await app.listen({ host, port, backlog: backlogMax });
  } catch (error) {
    throw explainPort(error, { variable: 'PORT', port, host });
  }
}

/**
 * Keeps serving for a while, so that load balancers stop sending requests, and clients, whose connections are closed,
 * reconnect to another process. Then accepts no new connections, and waits for requests in progress, up to a limit.
 */
async function closeApp(app: FastifyInstance, stopDelayMs: number): Promise<void> {
  await delay(stopDelayMs);
  // Runs just after incoming data was read: before that, a connection with an unread request would look idle.
  await setImmediate();
  const limit = setTimeout(() => app.server.closeAllConnections(), drainTimeoutMs);
  await app.close();
  clearTimeout(limit);
}
