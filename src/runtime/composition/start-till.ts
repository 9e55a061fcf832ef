import { setImmediate } from 'node:timers/promises';
import type { Logger } from '#core/platform/logger.ts';
import { Shutdown } from '#core/platform/shutdown.ts';
import { loadApiKeys } from '#http/access/api-key-source.ts';
import type { TestSettings, Till } from './compose.ts';
import { openDatabase } from './compose-database.ts';
import { loadSandbox } from './compose-sandbox.ts';
import type { Config } from './config.ts';
import type { Start } from './start.ts';

/** Starts the service. If the start fails, nothing is left running. */
export async function startTill(
  config: Config,
  logger: Logger,
  { callLimits, ...testSettings }: TestSettings = {},
  parent?: Start['parent'],
): Promise<Till> {
  const shutdown = new Shutdown(logger);
  const start = { config, logger, shutdown, parent, callLimits };
  try {
    const keys = await loadApiKeys(config, logger);
    let loading: ReturnType<typeof loadCode> | undefined;
    const opened = await openDatabase(start, () => {
      loading ??= loadCode(config);
      // Thrown below, unless the database cannot be opened.
      loading.catch(() => {});
    });
    const { compose } = await (loading ?? loadCode(config));
    return await compose(start, { keys, opened }, testSettings);
  } catch (error) {
    await shutdown.run();
    throw error;
  }
}

/**
 * Loads the code that serves requests, in pieces: an import blocks the process until all modules behind it are loaded,
 * and the database should start meanwhile.
 */
async function loadCode({ processor }: Config) {
  const pieces = [
    () => import('#http/docs/components.ts'),
    () => import('#core/platform/metrics.ts'),
    () => import('#http/app.ts'),
    () => import('#features/features.ts'),
    () => import('./compose-parts.ts'),
    () => import('./compose-services.ts'),
    () => import('./compose-routes.ts'),
    ...(processor.secretKey === undefined ? [loadSandbox] : []),
  ];
  for (const load of pieces) {
    await load();
    await setImmediate();
  }
  return import('./compose.ts');
}
