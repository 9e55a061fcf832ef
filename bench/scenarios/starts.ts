import { setTimeout as delay } from 'node:timers/promises';
import type { Lab } from '../lab/lab.ts';
import { median } from '../lab/numbers.ts';
import type { Scenario } from '../lab/scenario.ts';

const pollDelayMs = 5;
/** A started service is healthy at once, or something is wrong. */
const checksMax = 1_000;

/** How long `npm start` takes until the service is healthy, with all embedded parts. */
export const starts: Scenario = {
  names: ['cold_start', 'warm_start'],
  async run(lab) {
    const coldMs: number[] = [];
    const warmMs: number[] = [];
    for (let round = 0; round < lab.scale.rounds; round += 1) {
      const dataDir = lab.newPath('data');
      coldMs.push(await startOnce(lab, dataDir));
      warmMs.push(await startOnce(lab, dataDir));
    }
    const unit = 's';
    return [
      { name: 'cold_start', value: median(coldMs) / 1_000, unit, goal: { atMost: 2 } },
      { name: 'warm_start', value: median(warmMs) / 1_000, unit, goal: { atMost: 1 } },
    ];
  },
};

/** Starts the service, measures the time until it is healthy, and ends it. */
async function startOnce(lab: Lab, dataDir: string): Promise<number> {
  // An empty variable counts as unset: this is a new user's start, with nothing configured.
  const environment = { NODE_ENV: '', DATA_DIR: dataDir, PORT: '0', SANDBOX_PORT: '0' };
  const startedAtMs = performance.now();
  await using till = await lab.start('npm', ['start'], environment);
  await untilHealthy(till.url);
  return performance.now() - startedAtMs;
}

async function untilHealthy(url: string): Promise<void> {
  for (let checks = 0; checks < checksMax; checks += 1) {
    if ((await fetch(`${url}/health`)).ok) return;
    await delay(pollDelayMs);
  }
  throw new Error('the service did not become healthy');
}
