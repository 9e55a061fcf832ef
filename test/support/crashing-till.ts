/**
 * The service, made to die: it kills itself, as nothing could prevent, once CRASH_COUNT creations have come to the
 * crash point CRASH_AT. Those that come first wait there for the last, so that one process dies amid all of them.
 */

import { createLogger } from '../../src/platform/logger.ts';
import { startTill } from '../../src/till/compose.ts';
import { loadConfig } from '../../src/till/config.ts';

const crashAt = process.env['CRASH_AT'];
let left = Number(process.env['CRASH_COUNT']);

const never = new Promise<void>(() => {});
const config = loadConfig(process.env, process.cwd());
const logger = createLogger(config.logLevel);
const till = await startTill(config, logger, {
  pass: (crashPoint) => {
    if (crashPoint !== crashAt) return undefined;
    left -= 1;
    if (left === 0) process.kill(process.pid, 'SIGKILL');
    return never;
  },
});
logger.info({ url: till.facts.url }, 'ready');
