import { createLogger, type Logger } from './platform/logger.ts';
import { StandardOutput } from './platform/standard-output.ts';
import { startTill, type Till } from './till/compose.ts';
import { type Config, ConfigError, loadConfig, secretVariables } from './till/config.ts';
import { welcome } from './till/welcome.ts';

/** Ctrl-C under npm arrives twice within a millisecond; only a later signal means "stop at once". */
const secondSignalDelayMs = 1_000;

await main();

async function main(): Promise<void> {
  const config = readConfig();
  if (config === undefined) return;
  const output = new StandardOutput();
  const logger = createLogger(config.logLevel, output);
  process.on('uncaughtException', (error) => {
    // Not `fatal`: that level waits until everything is written, forever if nothing can be.
    logger.error({ err: error }, 'uncaught error');
    process.exit(1);
  });

  // A closed terminal ends the service, unless SIGHUP reloads the key file.
  const signals: readonly NodeJS.Signals[] =
    config.apiKeysFile === undefined ? ['SIGTERM', 'SIGINT', 'SIGHUP'] : ['SIGTERM', 'SIGINT'];
  const stopRequested = onStopSignal(signals, logger);
  let till: Till;
  try {
    till = await startTill(config, logger);
  } catch (error) {
    logger.error({ err: error }, 'start failed');
    process.stderr.write(`till failed to start: ${error instanceof Error ? error.message : String(error)}\n`);
    process.exit(1);
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
  process.exit(clean ? 0 : 1);
}

function readConfig(): Config | undefined {
  try {
    const config = loadConfig(process.env, process.cwd());
    for (const name of secretVariables) delete process.env[name];
    return config;
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error;
    process.stderr.write(`${error.message}\n`);
    process.exitCode = 1;
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
