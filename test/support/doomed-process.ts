/**
 * Tills in one process that dies: it kills itself once every Till has enough requests at its crash point. The first
 * request waits there for the last, so that one process dies amid all of them. See `killAmid`.
 */

import { createLogger } from '#core/platform/logger.ts';
import { loadConfig } from '#runtime/composition/config.ts';
import { startTill } from '#runtime/composition/start-till.ts';
import type { CrashPlan } from './doomed-tills.ts';

const plans: readonly CrashPlan[] = JSON.parse(process.env['CRASH_PLANS'] ?? '[]');
let left = plans.reduce((sum, { requests }) => sum + requests, 0);

/** Far longer than the last request needs to reach its crash point: the first must not get a response meanwhile. */
const requestDeadlineMs = 600_000;
/** Many requests start at once, so that on a busy machine a call takes longer than in production. */
const callLimits = { deadlineMs: 60_000, attemptTimeoutMs: 30_000 };
const never = new Promise<void>(() => {});
const logger = createLogger('info');
const urls: string[] = [];
for (const { crashAt, requests, environment } of plans) {
  const config = loadConfig({ PORT: '0', ...environment }, process.cwd());
  let leftHere = requests;
  const pass = (crashPoint: string) => {
    if (crashPoint !== crashAt) return undefined;
    if (leftHere > 0) {
      leftHere -= 1;
      left -= 1;
    }
    if (left === 0) process.kill(process.pid, 'SIGKILL');
    return never;
  };
  const till = await startTill(config, logger, { crashPoints: { pass }, requestDeadlineMs, callLimits });
  urls.push(till.facts.url);
}
logger.info({ url: urls[0], urls }, 'ready');
