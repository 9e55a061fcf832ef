import type { Cache } from '#core/platform/cache.ts';
import { withDeadline } from '#core/platform/deadline.ts';
import { Shutdown } from '#core/platform/shutdown.ts';
import { compareAccount } from '#processor/account/compare-account.ts';
import type { BeforeCall } from '#processor/port/processor.ts';
import type { Services } from '#runtime/composition/compose-services.ts';
import type { Start } from '#runtime/composition/start.ts';
import type { CommandCall } from './command.ts';
import { untilInterrupted } from './interrupted.ts';

/** How long a command waits for interrupted work, which ends with its next statement or call. */
const interruptedWorkMsMax = 5_000;

/** The adapter requires a value. Only the service verifies webhooks. */
const withoutWebhooks = { PROCESSOR_WEBHOOK_SECRET: 'unset' };

type CallParts = Pick<CommandCall, 'config' | 'environment' | 'output' | 'signal'>;

/** Throws if the secret key belongs to another account than the database. */
type RequireAccount = (options?: { readonly remembers: boolean }) => Promise<void>;

/**
 * Runs `work` with the services of a running Till. Starts nothing, and closes everything at the end. `beforeCall` runs
 * before every call to the processor.
 */
export async function withServices<T>(
  call: CallParts,
  work: (services: Services, requireAccount: RequireAccount) => Promise<T>,
  { beforeCall }: { readonly beforeCall?: BeforeCall } = {},
): Promise<T> {
  return withShutdown(call, async (start) => {
    const { services, database, processor } = await joinServices(start, beforeCall);
    return work(services, async (options) => {
      const difference = await compareAccount({ database, logger: start.logger }, processor, options);
      if (difference !== undefined) throw new Error(difference);
    });
  });
}

/** The database, the processor and the services of a running Till. */
export async function joinServices(start: Start, beforeCall?: BeforeCall) {
  // Loaded only now: the whole service would make `--help` slow.
  const { joinDatabase } = await import('#runtime/composition/compose-database.ts');
  const { composeServices } = await import('#runtime/composition/compose-services.ts');
  const joined = await joinDatabase(start);
  const { openCache } = await import('#runtime/composition/compose-parts.ts');
  const cache = await openCache(start);
  const { processor, processorClock, metrics } = await joinProcessor(start, { beforeCall, cache });
  const services = composeServices({ ...start, ...joined, processor, processorClock, metrics });
  return { services, database: joined.database, processor };
}

/** The processor of a running Till. */
export async function joinProcessor(
  start: Start,
  calls: { readonly beforeCall?: BeforeCall | undefined; readonly cache?: Cache } = {},
) {
  const parts = await import('#runtime/composition/compose-parts.ts');
  const { createMetrics } = await import('#core/platform/metrics.ts');
  const metrics = createMetrics(parts.metricLabels);
  return { ...parts.joinProcessor(start, metrics, calls), metrics };
}

/**
 * Runs `work`, and then stops what it started, even after a signal. Logs go to standard error: only errors, unless
 * LOG_LEVEL is set to another level than `info`.
 */
export async function withShutdown<T>(
  { config: readConfig, environment, output, signal }: CallParts,
  work: (start: Start) => Promise<T>,
): Promise<T> {
  const config = readConfig(withoutWebhooks);
  const { createLogger } = await import('#core/platform/logger.ts');
  const { formatLog } = await import('#core/platform/pretty-log.ts');
  const { logLevel } = config;
  const { stderr } = output;
  const destination = formatLog(stderr, config, { isTTY: stderr.isTTY === true, environment });
  const logger = createLogger(logLevel === 'info' ? 'error' : logLevel, destination);
  const shutdown = new Shutdown(logger);
  const working = work({ config, logger, shutdown });
  try {
    return await untilInterrupted(signal, working);
  } finally {
    await shutdown.run();
    // Interrupted work fails once its parts are closed. Parts that it opened meanwhile are closed after it.
    await withDeadline(working, interruptedWorkMsMax, 'interrupted work').catch(() => undefined);
    await shutdown.run();
  }
}
