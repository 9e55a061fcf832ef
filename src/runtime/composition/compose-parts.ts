import type { Cache } from '#core/platform/cache.ts';
import { MovableClock, type ProcessorClock, systemClock } from '#core/platform/clock.ts';
import { MemoryCache } from '#core/platform/memory-cache.ts';
import type { Metrics } from '#core/platform/metrics.ts';
import type { Tracer } from '#core/platform/tracing.ts';
import { version } from '#core/platform/version.ts';
import { lists } from '#features/features.ts';
import { SandboxControl } from '#operators/sandbox-control/sandbox-control.ts';
import { SandboxTime } from '#operators/sandbox-control/sandbox-time.ts';
import type { BeforeCall, Processor } from '#processor/port/processor.ts';
import { checkSecretKey, mayBeSandbox, publicApiBase } from '#processor/stripe/check-secret-key.ts';
import { eventTypes } from '#processor/stripe/events/event-types.ts';
import { createStripeProcessor } from '#processor/stripe/stripe-processor.ts';
import type { MetricsSource } from '../telemetry/metrics-of-registry.ts';
import { closeTimeoutMs } from './compose-database.ts';
import { type OwnSandbox, startOwnSandbox } from './compose-sandbox.ts';
import type { Config } from './config.ts';
import type { Start } from './start.ts';

/** Metrics are created before the processor. */
export const metricLabels = { eventTypes: [...eventTypes, 'other'], mirrors: Object.keys(lists) };
/** The sandbox accepts any test key. */
export const sandboxKey = 'sk_test_sandbox';

/** Loads the packages of OpenTelemetry only if there is a collector. */
export async function openTelemetry(
  { config, logger, shutdown }: Start,
  source: MetricsSource,
): Promise<Tracer | undefined> {
  if (config.telemetry === undefined) return undefined;
  const { Telemetry } = await import('../telemetry/open-telemetry.ts');
  const telemetry = new Telemetry(config.telemetry, { ...source, version, logger });
  shutdown.add('telemetry', closeTimeoutMs, () => telemetry.stop());
  return telemetry.tracer;
}

export async function openCache({ config, logger, shutdown }: Start): Promise<Cache> {
  if (config.redisUrl === undefined) return new MemoryCache(systemClock);
  const { RedisCache } = await import('#core/platform/redis-cache.ts');
  const cache = new RedisCache({ url: config.redisUrl, logger });
  shutdown.add('cache', closeTimeoutMs, () => cache.close());
  await cache.connect();
  return cache;
}

/** What the calls to the processor have to do with other parts. */
interface CallParts {
  readonly beforeCall?: BeforeCall | undefined;
  /** Where processes count their calls together. */
  readonly cache?: Cache | undefined;
}

interface OpenedProcessor {
  readonly processor: Processor;
  readonly processorClock: ProcessorClock;
  /** The name that is shown to people. */
  readonly name: string;
  /** Undefined if the processor cannot be a sandbox. */
  readonly sandbox?: SandboxControl | undefined;
}

/** The processor for the configured secret key. Without one, the sandbox, which sends its webhooks to `till`. */
export async function openProcessor(
  start: Start,
  metrics: Metrics,
  till: { readonly url: string },
  calls: CallParts = {},
): Promise<OpenedProcessor> {
  const { secretKey } = start.config.processor;
  if (secretKey !== undefined) return openRealProcessor(start, metrics, secretKey, calls);
  const processorClock = new MovableClock(systemClock);
  const onClock = (aheadSeconds: number) => processorClock.setAhead(aheadSeconds);
  const shared = start.parent?.seat.sandbox;
  if (shared !== undefined) start.parent?.setOnClock(onClock);
  const sandbox = shared ?? (await startOwnSandbox(start, { till, onClock }));
  return { ...openSandbox(start, metrics, sandbox, calls), processorClock };
}

/** The processor of a running service, for commands that run next to it. */
export function joinProcessor(start: Start, metrics: Metrics, calls: CallParts = {}): OpenedProcessor {
  const { secretKey, sandboxPort } = start.config.processor;
  if (secretKey !== undefined) return openRealProcessor(start, metrics, secretKey, calls);
  const sandbox = { url: `http://127.0.0.1:${sandboxPort}`, webhookSecrets: ['unused'] };
  const opened = openSandbox(start, metrics, sandbox, calls);
  return { ...opened, processorClock: new SandboxTime(opened.sandbox, systemClock) };
}

/** Warnings about the secret key and the address of the processor. */
export function secretKeyWarnings({ processor, production }: Config) {
  if (processor.secretKey === undefined) return [];
  return checkSecretKey({
    secretKey: processor.secretKey,
    apiBase: new URL(processor.apiBase ?? publicApiBase),
    nodeEnv: production ? 'production' : undefined,
  });
}

function openSandbox(start: Start, metrics: Metrics, { url, webhookSecrets }: OwnSandbox, calls: CallParts) {
  const [secretKey, apiBase] = [sandboxKey, new URL(url)];
  const processor = connectProcessor(start, metrics, { secretKey, apiBase, webhookSecrets, ...calls });
  return { processor, name: `sandbox at ${url}`, sandbox: new SandboxControl({ url, secretKey }) };
}

function openRealProcessor(
  start: Start,
  metrics: Metrics,
  secretKey: string,
  calls: CallParts,
): OpenedProcessor {
  const { config, logger } = start;
  const apiBase = new URL(config.processor.apiBase ?? publicApiBase);
  const nodeEnv = config.production ? 'production' : undefined;
  const settings = { secretKey, apiBase, nodeEnv };
  for (const { message, ...fields } of secretKeyWarnings(config)) logger.warn(fields, message);
  const { webhookSecrets } = config.processor;
  const processor = connectProcessor(start, metrics, { secretKey, apiBase, webhookSecrets, ...calls });
  const sandbox = mayBeSandbox(settings) ? new SandboxControl({ url: apiBase.origin, secretKey }) : undefined;
  return {
    processor,
    processorClock: sandbox ? new SandboxTime(sandbox, systemClock) : new MovableClock(systemClock),
    name: `${apiBase.origin}, ${processor.livemode ? 'live' : 'test'} mode`,
    sandbox,
  };
}

function connectProcessor(
  { config, logger, shutdown, callLimits = {} }: Start,
  metrics: Metrics,
  to: {
    readonly secretKey: string;
    readonly apiBase: URL;
    readonly webhookSecrets: readonly string[];
  } & CallParts,
): Processor {
  const { maxInFlight, requestsPerSecond } = config.processor;
  const { processes } = config;
  const runScript = to.cache?.runScript?.bind(to.cache);
  const pace = { maxInFlight, requestsPerSecond, processes, runScript };
  const processor = createStripeProcessor({ ...to, ...pace, metrics, logger, limits: callLimits });
  shutdown.add('processor', closeTimeoutMs, async () => processor.close());
  return processor;
}
