import type { Server } from 'node:http';
import { Server as NetServer } from 'node:net';
import { withDeadline } from '#core/platform/deadline.ts';
import type { Metrics } from '#core/platform/metrics.ts';
import type { Dependency } from '#http/operations/health.ts';
import { mergeReports } from '../processes/merge-metrics.ts';
import type { Start } from './start.ts';

/**
 * How long a replaced process waits for its idle connections. A response on one tells the client to close it. Callers
 * that send requests all the time use each of their connections within this time.
 */
const retireMsMax = 5_000;

/** The end of a process while another one serves on the same port. */
export class Retirement {
  #hasBegun = false;

  get hasBegun(): boolean {
    return this.#hasBegun;
  }

  /** Takes no new connections. Resolves when the open ones have been closed, or after a limit. */
  async begin(server: Server): Promise<void> {
    this.#hasBegun = true;
    const closed = Promise.withResolvers<void>();
    // The HTTP server's own method would close idle connections at once, although a request may be on its way.
    NetServer.prototype.close.call(server, () => closed.resolve());
    await withDeadline(closed.promise, retireMsMax, 'retiring').catch(() => {});
  }
}

/** How `/metrics` reads the metrics: of this process, or of all processes if there are several. */
export function composeMetrics({ registry }: Metrics, parent: Start['parent']): () => Promise<string> {
  if (parent === undefined) return () => registry.metrics();
  parent.setReport(() => registry.getMetricsAsJSON());
  return async () => mergeReports(await parent.gather());
}

/** Updates the metrics of the processes themselves. */
export function noteProcesses(
  { processesServing, processesRestarted }: Metrics,
  parent: Start['parent'],
): void {
  const { serving, restarts } = parent?.state ?? { serving: 1, restarts: 0 };
  processesServing.set(serving);
  processesRestarted.reset();
  processesRestarted.inc(restarts);
}

/** For monitoring only. Readiness ignores it, because the remaining processes serve all requests. */
export function processesDependency(parent: NonNullable<Start['parent']>): Dependency {
  return {
    name: 'processes',
    check: () => parent.requireAll(),
    downMessage: 'at least one process has ended and is not yet back',
  };
}
