import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { setTimeout as delay } from 'node:timers/promises';
import { freePort } from '../../test/support/redis-server.ts';
import { projectFolder } from '../lab/lab.ts';
import { median } from '../lab/numbers.ts';
import type { Scenario } from '../lab/scenario.ts';

const lookDelayMs = 5;
const startTimeoutMs = 60_000;

/** How long `npm start` takes until the service is healthy, on everything that is embedded. */
export const starts: Scenario = {
  names: ['cold_start', 'warm_start'],
  async run(lab) {
    const coldMs: number[] = [];
    const warmMs: number[] = [];
    for (let round = 0; round < lab.scale.rounds; round += 1) {
      const dataDir = lab.newPath('data');
      coldMs.push(await startOnce(dataDir));
      warmMs.push(await startOnce(dataDir));
    }
    const unit = 's';
    return [
      { name: 'cold_start', value: median(coldMs) / 1_000, unit, goal: { atMost: 5 } },
      { name: 'warm_start', value: median(warmMs) / 1_000, unit, goal: { atMost: 2 } },
    ];
  },
};

/** Starts the service, takes the time until it is healthy, and ends it. */
async function startOnce(dataDir: string): Promise<number> {
  const [port, sandboxPort] = [await freePort(), await freePort()];
  const startedAtMs = performance.now();
  const child = spawn('npm', ['start'], {
    cwd: projectFolder,
    env: {
      PATH: process.env['PATH'],
      HOME: process.env['HOME'],
      DATA_DIR: dataDir,
      PORT: String(port),
      SANDBOX_PORT: String(sandboxPort),
    },
    stdio: 'ignore',
    // A group of its own, so that whatever npm starts is reached by one signal.
    detached: true,
  });
  const ended = once(child, 'exit');
  const endGroup = () => signalGroup(child, 'SIGTERM');
  process.once('exit', endGroup);
  try {
    await untilHealthy(`http://127.0.0.1:${port}/health`, child, startedAtMs + startTimeoutMs);
    return performance.now() - startedAtMs;
  } finally {
    endGroup();
    await ended;
    process.off('exit', endGroup);
  }
}

async function untilHealthy(url: string, child: ChildProcess, deadlineMs: number): Promise<void> {
  while (performance.now() < deadlineMs) {
    if (child.exitCode !== null || child.signalCode !== null) throw new Error('npm start ended by itself');
    const answer = await fetch(url).catch(() => undefined);
    await answer?.body?.cancel();
    if (answer?.status === 200) return;
    await delay(lookDelayMs);
  }
  throw new Error('the service did not become healthy');
}

function signalGroup(child: ChildProcess, signal: NodeJS.Signals): void {
  if (child.pid !== undefined && child.exitCode === null) process.kill(-child.pid, signal);
}
