import cluster from 'node:cluster';
import { setFlagsFromString } from 'node:v8';
import { createLogger, type Logger } from '#core/platform/logger.ts';
import { formatLog } from '#core/platform/pretty-log.ts';
import { secondSignalDelayMs } from '#core/platform/shutdown.ts';
import { StandardOutput, sharedWriteBytesMax } from '#core/platform/standard-output.ts';
import { version } from '#core/platform/version.ts';
import { whenNpmEnds } from '../npm-parent.mjs';
import { ProcessStartError } from '../processes/member.ts';
import { ParentLink } from '../processes/parent-link.ts';
import type { Till } from './compose.ts';
import { type Config, ConfigError, loadConfig, secretVariables } from './config.ts';
import type { Service } from './serve-group.ts';
import type { Start } from './start.ts';
import { type WelcomeFacts, welcome } from './welcome.ts';

/**
 * Every object starts in the new generation. Otherwise V8 may conclude from the first requests that some objects of
 * requests live long, and create these in the old generation for as long as the process runs (decision 0034).
 */
setFlagsFromString('--no-allocation-site-pretenuring');

/** Runs the service until a signal stops it. Returns the exit code, with which the process must end. */
export async function serve(environment: Record<string, string | undefined>): Promise<number> {
  const inherited = { ...environment };
  const config = readConfig(environment);
  if (config === undefined) return 1;
  const parent = cluster.isWorker ? await ParentLink.open<WelcomeFacts>() : undefined;
  const output = new StandardOutput(
    config.processes === undefined ? {} : { writeBytesMax: sharedWriteBytesMax },
  );
  const terminal = { isTTY: process.stdout.isTTY, environment };
  const wholeLogger = createLogger(config.logLevel, formatLog(output, config, terminal));
  const logger = parent === undefined ? wholeLogger : wholeLogger.child({ process: parent.seat.number });
  logger.info({ version, node: process.version, role: config.role }, 'starting');
  process.on('uncaughtException', (error) => {
    // Not `fatal`: that level waits until everything is written, which may never happen.
    logger.error({ err: error }, 'uncaught error');
    process.exit(1);
  });

  const hangupStops = parent === undefined && stopsOnHangup(config);
  const stopRequested = onStopSignal(hangupStops, logger);
  const hangup = hangupStops ? undefined : new Hangup();
  let service: Service;
  try {
    service = await startService({ config, logger, parent, inherited });
  } catch (error) {
    logger.error({ err: error }, 'start failed');
    const message = error instanceof Error ? error.message : String(error);
    // The failed process has already written the reason.
    if (!(error instanceof ProcessStartError)) process.stderr.write(`till failed to start: ${message}\n`);
    await output.end();
    return 1;
  }
  hangup?.handle(service.reload);
  // Registered after the handler, because the parent signals a process as soon as it is ready.
  parent?.announceReady(service.facts);
  announce({ config, logger, parent }, service.facts);

  const signal = await Promise.race(
    service.isOver === undefined ? [stopRequested] : [stopRequested, service.isOver],
  );
  const stopped = service.stop(signal);
  logger.info({ signal }, 'stopping');
  const clean = (await stopped) && signal !== 'failed';
  logger.info({ clean }, 'stopped');
  await output.end();
  return clean ? 0 : 1;
}

function readConfig(environment: Record<string, string | undefined>): Config | undefined {
  try {
    const config = loadConfig(environment, process.cwd());
    for (const name of secretVariables) delete environment[name];
    return config;
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error;
    process.stderr.write(`${error.message}\n`);
    return undefined;
  }
}

/** A closed terminal ends the service, unless SIGHUP reloads the file of API keys or replaces the processes. */
function stopsOnHangup({ apiKeysFile, processes }: Config): boolean {
  return apiKeysFile === undefined && (processes === undefined || process.stderr.isTTY === true);
}

/** Resolves with the first signal. A second one, at least a second later, ends the process at once. */
function onStopSignal(hangupStops: boolean, logger: Logger): Promise<NodeJS.Signals> {
  const { promise, resolve } = Promise.withResolvers<NodeJS.Signals>();
  let firstAtMs: number | undefined;
  const onSignal = (signal: NodeJS.Signals) => {
    firstAtMs ??= performance.now();
    resolve(signal);
    if (performance.now() - firstAtMs < secondSignalDelayMs) return;
    logger.warn({ signal }, 'stopped immediately by a second signal');
    process.exit(1);
  };
  for (const signal of ['SIGTERM', 'SIGINT'] as const) process.on(signal, onSignal);
  if (hangupStops) process.on('SIGHUP', onSignal);
  whenNpmEnds(() => resolve('SIGTERM'));
  return promise;
}

/** SIGHUP. If it comes during the start, which may have read the old settings, it is handled after it. */
class Hangup {
  #handle = (): void => {
    this.#isPending = true;
  };
  #isPending = false;

  constructor() {
    process.on('SIGHUP', () => this.#handle());
  }

  handle(handle: () => void): void {
    this.#handle = handle;
    if (this.#isPending) handle();
  }
}

interface ServiceStart extends Pick<Start, 'config' | 'logger' | 'parent'> {
  /** The variables of this process, with those that are secret. */
  readonly inherited: Readonly<Record<string, string | undefined>>;
}

/** The parent loads only what it needs, because it serves no requests. */
async function startService({ config, logger, parent, inherited }: ServiceStart): Promise<Service> {
  if (parent === undefined && config.processes !== undefined) {
    const { startGroup } = await import('./serve-group.ts');
    return startGroup({ config, logger, count: config.processes, environment: inherited });
  }
  const { startTill } = await import('./start-till.ts');
  if (parent === undefined) {
    const till = await startTill(config, logger);
    return { facts: till.facts, reload: () => reloadKeys(till, logger), stop: till.stop };
  }
  const { poolSize: databasePoolSize, hasBackgroundWork } = parent.seat;
  const own: Config = { ...config, databasePoolSize, role: hasBackgroundWork ? config.role : 'api' };
  const till = await startTill(own, logger, {}, parent);
  return {
    facts: till.facts,
    // The parent also replaces this process, but only after others. A revoked API key must be refused before that.
    reload: config.apiKeysFile === undefined ? () => {} : () => reloadKeys(till, logger),
    isOver: parent.retired.then(() => 'retired' as const),
    stop: async (reason) => {
      const isClean = await (reason === 'retired' ? till.retire() : till.stop());
      await parent.leaveReport();
      return isClean;
    },
  };
}

/** The parent of several processes announces the whole service. */
function announce(
  { config, logger, parent }: Pick<Start, 'config' | 'logger' | 'parent'>,
  facts: WelcomeFacts,
): void {
  if (parent !== undefined) {
    logger.info('process ready');
    return;
  }
  const { generatedKey, ...inUse } = facts;
  const { role, processes } = config;
  logger.info({ role, ...(processes === undefined ? {} : { processes }), ...inUse }, 'ready');
  if (process.stderr.isTTY) process.stderr.write(welcome(facts));
  else if (generatedKey !== undefined) logger.info({ path: generatedKey.path }, 'generated API key in use');
}

function reloadKeys(till: Till, logger: Logger): void {
  till.reloadKeys().then(
    (count) => logger.info({ count }, 'API keys reloaded'),
    (error: unknown) => logger.error({ err: error }, 'API key reload failed; previous keys kept'),
  );
}
