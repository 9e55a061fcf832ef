import type { Run } from '../lab/lab.ts';
import { takeTurns } from '../lab/rounds.ts';
import type { Scenario } from '../lab/scenario.ts';
import { seedObjects } from '../lab/seed.ts';
import { installPeers } from '../peers/install.ts';
import { WebhookLane } from './webhook-lane.ts';

/** A few seconds each. The peers are slower, so they get fewer of the same events. */
const eventsFull = { till: 30_000, peers: 8_000 };
const eventsQuick = { till: 6_000, peers: 2_000 };

/** From the request to the mirror, compared with the alternatives for a user. */
export const webhookEndToEnd: Scenario = {
  names: ['webhook_end_to_end', 'webhook_end_to_end_vs_stripe', 'webhook_cpu'],
  async run(lab) {
    installPeers();
    await using database = await lab.database('till');
    await using supabaseDatabase = await lab.database('empty');
    await using stripeDatabase = await lab.database('empty');
    await seedObjects(database);
    await using till = await lab.startTill(database);
    await using supabase = await lab.startBaseline('peers/supabase.ts', supabaseDatabase);
    await using stripe = await lab.startBaseline('peers/stripe.ts', stripeDatabase);
    const lanes = {
      till: new WebhookLane(lab, till),
      supabase: new WebhookLane(lab, supabase),
      stripe: new WebhookLane(lab, stripe),
    };
    for (const lane of Object.values(lanes)) await lane.warmUp();
    for (const peer of [supabaseDatabase, stripeDatabase]) await peer.query('vacuum analyze');
    const count = lab.scale.quick ? eventsQuick : eventsFull;
    const runs = await takeTurns(lab, {
      till: () => lanes.till.apply(count.till, database),
      // The peers apply an event before they respond.
      supabase: () => lanes.supabase.ingest(count.peers),
      stripe: () => lanes.stripe.ingest(count.peers),
    });
    const value = { value: runs.till.ratePerSecond, unit: 'events/s', cpu: runs.till };
    const [cpu, supabaseCpu] = [cpuOf(runs.till), cpuOf(runs.supabase)];
    return [
      {
        ...value,
        name: 'webhook_end_to_end',
        baseline: runs.supabase.ratePerSecond,
        baselineCpu: runs.supabase,
        goal: { atLeast: 3.5 },
      },
      {
        ...value,
        name: 'webhook_end_to_end_vs_stripe',
        baseline: runs.stripe.ratePerSecond,
        baselineCpu: runs.stripe,
        goal: { atLeast: 3.5 },
      },
      {
        name: 'webhook_cpu',
        value: cpu,
        unit: 'ms/1,000 events',
        baseline: supabaseCpu,
        ratio: supabaseCpu / cpu,
        goal: { atLeast: 5 },
      },
    ];
  },
};

/** The CPU time of the service and that of PostgreSQL for it: moving work to PostgreSQL does not count as a gain. */
function cpuOf(run: Run): number {
  return run.serviceCpuMs + run.databaseCpuMs;
}
