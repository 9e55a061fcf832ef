import { takeTurns } from '../lab/rounds.ts';
import type { Scenario } from '../lab/scenario.ts';
import { seedObjects } from '../lab/seed.ts';
import { drain, WebhookLane } from './webhook-lane.ts';

/** A few seconds at full speed. */
const eventsFull = 30_000;
const eventsQuick = 5_000;

/** How fast events are received durably, compared with a route that only verifies them. */
export const webhookIngest: Scenario = {
  names: ['webhook_ingest', 'webhook_ingest_bare'],
  async run(lab) {
    await using database = await lab.database('till');
    await seedObjects(database);
    await using till = await lab.startTill(database);
    await using verifyOnly = await lab.startBaseline('baselines/verify-only.ts');
    await using bare = await lab.startBaseline('baselines/bare-webhook.ts');
    const lanes = {
      till: new WebhookLane(lab, till),
      verifyOnly: new WebhookLane(lab, verifyOnly),
      bare: new WebhookLane(lab, bare),
    };
    for (const lane of Object.values(lanes)) await lane.warmUp();
    const count = lab.amount(eventsFull, eventsQuick);
    const runs = await takeTurns(lab, {
      till: async () => {
        const run = await lanes.till.ingest(count);
        // The backlog must not slow down the others.
        await drain(database);
        return run;
      },
      verifyOnly: () => lanes.verifyOnly.ingest(count),
      bare: () => lanes.bare.ingest(count),
    });
    const value = { value: runs.till.ratePerSecond, unit: 'events/s', cpu: runs.till };
    return [
      {
        ...value,
        name: 'webhook_ingest',
        baseline: runs.verifyOnly.ratePerSecond,
        baselineCpu: runs.verifyOnly,
        goal: { atLeast: 0.8 },
      },
      {
        ...value,
        name: 'webhook_ingest_bare',
        baseline: runs.bare.ratePerSecond,
        baselineCpu: runs.bare,
        note: 'for information: against a Fastify route without logs, metrics or limits',
      },
    ];
  },
};
