import { setTimeout as delay } from 'node:timers/promises';
import type { Logger } from '#core/platform/logger.ts';
import type { Server } from './server.ts';

interface Supervisor {
  /** Shuts down the server and stops restarting it. */
  stop(): Promise<void>;
}

/** A server that ran this long did not fail at its start, so the next restart uses the short delay again. */
const stableAfterMs = 60_000;

/** Starts the server, and restarts it whenever it dies, until `stop`. */
export async function superviseServer(launch: () => Promise<Server>, logger: Logger): Promise<Supervisor> {
  const stopping = new AbortController();
  let server = await launchFirst(launch);

  const keepRunning = async () => {
    let deaths = 0;
    for (;;) {
      const launchedAtMs = performance.now();
      const how = await server.ended;
      if (stopping.signal.aborted) return;
      deaths = performance.now() - launchedAtMs >= stableAfterMs ? 1 : deaths + 1;
      const delayMs = restartDelayMs(deaths);
      logger.error({ how, deaths, delayMs }, 'PostgreSQL exited; restart scheduled');
      await delay(delayMs, undefined, { signal: stopping.signal }).catch(() => {});
      if (stopping.signal.aborted) return;
      try {
        server = await launch();
        if (stopping.signal.aborted) return await server.stop();
        await server.ready;
        logger.info({ serverPid: server.pid }, 'PostgreSQL restarted');
      } catch (err) {
        if (!stopping.signal.aborted) logger.error({ err }, 'PostgreSQL restart failed');
      }
    }
  };
  const finished = keepRunning();

  return {
    stop: async () => {
      stopping.abort();
      await server.stop();
      await finished;
    },
  };
}

/** Processes of a server that was just killed may still hold its shared memory; if there are many, for seconds. */
const lingeringMsMax = 10_000;
const lingeringPollMs = 200;

async function launchFirst(launch: () => Promise<Server>): Promise<Server> {
  const deadlineMs = performance.now() + lingeringMsMax;
  for (;;) {
    const server = await launch();
    try {
      await server.ready;
      return server;
    } catch (error) {
      const isLingering =
        error instanceof Error && error.message.includes('pre-existing shared memory block');
      if (!isLingering || performance.now() >= deadlineMs) throw error;
    }
    await delay(lingeringPollMs);
  }
}

/** After a single crash, such as a kill by the kernel when memory runs out, clients should hardly notice the outage. */
const restartDelayMsMin = 100;
/**
 * A server that crashes at every start must not keep the machine busy, and must return soon after the cause is gone.
 */
const restartDelayMsMax = 10_000;

/** The delay before the next start, after this many crashes in a row. */
export function restartDelayMs(crashes: number): number {
  return Math.min(restartDelayMsMin * 2 ** (crashes - 1), restartDelayMsMax);
}
