import { residentMbOf } from '../lab/cpu.ts';
import { median } from '../lab/numbers.ts';
import type { Scenario } from '../lab/scenario.ts';
import { seedObjects } from '../lab/seed.ts';
import { eventKinds, objectCount } from '../load/events.ts';
import { drain, WebhookLane } from './webhook-lane.ts';

const operationsFull = 200_000;
const operationsQuick = 20_000;
/** Events and reads alternate in this many steps. */
const steps = 20;
const connections = 64;
/** Often enough for a few hundred samples, and rarely enough to cost nothing. */
const sampleDelayMs = 100;
/** The share of the run over which samples are smoothed: garbage collection makes single samples jump. */
const windowShare = 0.1;

/** How much memory the service uses after a long run, and whether it still grows. */
export const memory: Scenario = {
  names: ['memory', 'memory_growth'],
  async run(lab) {
    await using database = await lab.database('till');
    await seedObjects(database);
    await using till = await lab.startTill(database);
    const lane = new WebhookLane(lab, till);
    const operations = lab.amount(operationsFull, operationsQuick);
    // Every `step`th object is a subscription, starting with the first.
    const step = eventKinds.length;
    const ids = { count: Math.floor(objectCount / step), step };
    const samplesMb: number[] = [];
    const timer = setInterval(() => samplesMb.push(residentMbOf(till.pid)), sampleDelayMs);
    try {
      for (let step = 0; step < steps; step += 1) {
        await lane.ingest(operations / steps);
        const path = '/api/v1/subscriptions';
        const requests = { kind: 'reads' as const, path, count: operations / steps, ids };
        await lab.load({ targets: [{ url: till.url, connections, requests }], expected: [200] }, [till.pid]);
      }
      await drain(database);
    } finally {
      clearInterval(timer);
    }
    const half = medianAt(samplesMb, 0.5);
    const end = medianAt(samplesMb, 1);
    const note = `after ${operations.toLocaleString('en-US')} events and as many reads`;
    return [
      { name: 'memory', value: end, unit: 'MB', goal: { atMost: 280 }, note },
      { name: 'memory_growth', value: end, unit: 'MB', baseline: half, goal: { atMost: 1.05 } },
    ];
  },
};

/** The median of the samples that end at this share of the run. */
function medianAt(samples: readonly number[], share: number): number {
  const to = Math.round(samples.length * share);
  return median(samples.slice(Math.max(to - Math.ceil(samples.length * windowShare), 0), to));
}
