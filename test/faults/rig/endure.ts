import type { TestContext } from 'node:test';
import type { HealthWatch } from './health-watch.ts';
import type { Load } from './load.ts';

export interface Fault {
  /** What /health says is down meanwhile. */
  readonly down: readonly string[];
  begin(): Promise<unknown> | unknown;
  /** What else must hold while it lasts. */
  readonly meanwhile?: () => Promise<void>;
  end(): Promise<unknown> | unknown;
  /** Two seconds by default. */
  readonly healthyWithinMs?: number;
}

/**
 * How many steps the load completes after a fault, before the next fault or the check. They show that the load is
 * running again.
 */
const roundsAfterwards = 5;

/**
 * Lets a fault happen under load. `/health` must report it for as long as it lasts, and then report its end, and the
 * load must continue without a restart. docs/reliability.md shows the figures.
 */
export async function endure(t: TestContext, load: Load, health: HealthWatch, fault: Fault): Promise<void> {
  const beginMs = performance.now();
  await fault.begin();
  const brokenAtMs = performance.now();
  let downMs: number;
  try {
    downMs = await health.says(fault.down, brokenAtMs);
    const saidAtMs = performance.now();
    await fault.meanwhile?.();
    health.assertOnly(fault.down, saidAtMs, performance.now());
  } finally {
    // Otherwise the next step would meet this fault too.
    await fault.end();
  }
  const repairedAtMs = performance.now();
  const upMs = await health.says([], repairedAtMs, fault.healthyWithinMs);
  await load.progressed(roundsAfterwards);
  const attempts = load.ledger.client.attempts.filter(({ atMs, tookMs }) => atMs + tookMs >= beginMs);
  const refused = attempts.filter(({ status }) => status >= 500).length;
  const slowestMs = Math.max(...attempts.map(({ tookMs }) => tookMs));
  t.diagnostic(
    `broken for ${seconds(repairedAtMs - brokenAtMs)}, said after ${seconds(downMs)}, healthy after ${seconds(upMs)}; ` +
      `${attempts.length} responses, ${refused} of them 503, the slowest after ${seconds(slowestMs)}`,
  );
}

function seconds(ms: number): string {
  return `${(ms / 1_000).toFixed(2)} s`;
}
