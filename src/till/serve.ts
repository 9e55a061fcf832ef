import { createLogger, type Logger } from '../platform/logger.ts';
import { formatLog } from '../platform/pretty-log.ts';
import { secondSignalDelayMs } from '../platform/shutdown.ts';
import { StandardOutput } from '../platform/standard-output.ts';
import { startTill, type Till } from './compose.ts';
import { type Config, ConfigError, loadConfig, secretVariables } from './config.ts';
import { welcome } from './welcome.ts';

/** Runs the service until a signal stops it. Returns the exit code, with which the process must end. */
export async function serve(environment: Record<string, string | undefined>): Promise<number> {
  const config = readConfig(environment);
  if (config === undefined) return 1;
  const output = new StandardOutput();
  const terminal = { isTTY: process.stdout.isTTY, environment };
  const logger = createLogger(config.logLevel, formatLog(output, config, terminal));
  process.on('uncaughtException', (error) => {
    // Not `fatal`: that level waits until everything is written, which may be forever.
    logger.error({ err: error }, 'uncaught error');
    process.exit(1);
  });

  // A closed terminal ends the service, unless SIGHUP reloads the file of API keys.
  const signals: readonly NodeJS.Signals[] =
    config.apiKeysFile === undefined ? ['SIGTERM', 'SIGINT', 'SIGHUP'] : ['SIGTERM', 'SIGINT'];
  const stopRequested = onStopSignal(signals, logger);
  let till: Till;
  try {
    till = await startTill(config, logger);
  } catch (error) {
    logger.error({ err: error }, 'start failed');
    process.stderr.write(`till failed to start: ${error instanceof Error ? error.message : String(error)}\n`);
    return 1;
  }
  const { generatedKey, ...inUse } = till.facts;
  logger.info({ role: config.role, ...inUse }, 'ready');
  if (process.stderr.isTTY) process.stderr.write(welcome(till.facts));
  else if (generatedKey !== undefined) logger.info({ path: generatedKey.path }, 'generated API key in use');
  if (config.apiKeysFile !== undefined) process.on('SIGHUP', () => reloadKeys(till, logger));

  const signal = await stopRequested;
  const stopped = till.stop();
  logger.info({ signal }, 'stopping');
  const clean = await stopped;
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

/** Resolves with the first signal. A second one, at least a second later, ends the process at once. */
function onStopSignal(signals: readonly NodeJS.Signals[], logger: Logger): Promise<NodeJS.Signals> {
  const { promise, resolve } = Promise.withResolvers<NodeJS.Signals>();
  let firstAtMs: number | undefined;
  const onSignal = (signal: NodeJS.Signals) => {
    firstAtMs ??= performance.now();
    resolve(signal);
    if (performance.now() - firstAtMs < secondSignalDelayMs) return;
    logger.warn({ signal }, 'stopped immediately by a second signal');
    process.exit(1);
  };
  for (const signal of signals) process.on(signal, onSignal);
  return promise;
}

function reloadKeys(till: Till, logger: Logger): void {
  till.reloadKeys().then(
    (count) => logger.info({ count }, 'API keys reloaded'),
    (error: unknown) => logger.error({ err: error }, 'API key reload failed; previous keys kept'),
  );
}
