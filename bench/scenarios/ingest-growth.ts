import type { BenchDatabase } from '../lab/database.ts';
import { takeTurns } from '../lab/rounds.ts';
import type { Scenario } from '../lab/scenario.ts';
import { seedObjects } from '../lab/seed.ts';
import { drain, WebhookLane } from './webhook-lane.ts';

const rowsFull = 5_000_000;
const rowsQuick = 250_000;
const rowsPerStatement = 500_000;
const eventsFull = 30_000;
const eventsQuick = 4_000;
/** The default of WEBHOOK_RETENTION_DAYS: older events are deleted. */
const retentionDays = 90;

/** Whether receiving events gets slower with the number of stored events. */
export const ingestGrowth: Scenario = {
  names: ['ingest_growth'],
  async run(lab) {
    await using emptyDatabase = await lab.database('till');
    await using fullDatabase = await lab.database('till');
    const rows = lab.amount(rowsFull, rowsQuick);
    await seedInbox(fullDatabase, rows);
    for (const database of [emptyDatabase, fullDatabase]) await seedObjects(database);
    await using emptyTill = await lab.startTill(emptyDatabase);
    await using fullTill = await lab.startTill(fullDatabase);
    const emptyLane = new WebhookLane(lab, emptyTill);
    const fullLane = new WebhookLane(lab, fullTill);
    for (const lane of [emptyLane, fullLane]) await lane.warmUp();
    const count = lab.amount(eventsFull, eventsQuick);
    const ingest = async (lane: WebhookLane, database: BenchDatabase) => {
      const run = await lane.ingest(count);
      await drain(database);
      return run;
    };
    const runs = await takeTurns(lab, {
      full: () => ingest(fullLane, fullDatabase),
      empty: () => ingest(emptyLane, emptyDatabase),
    });
    return [
      {
        name: 'ingest_growth',
        value: runs.full.ratePerSecond,
        unit: 'events/s',
        baseline: runs.empty.ratePerSecond,
        cpu: runs.full,
        baselineCpu: runs.empty,
        goal: { atLeast: 0.9 },
        note: `${rows.toLocaleString('en-US')} events in the inbox against none`,
      },
    ];
  },
};

/** Processed events, spread evenly over the retention time. Short ones, to save disk space. */
async function seedInbox(database: BenchDatabase, count: number): Promise<void> {
  const oldest = `now() - interval '${retentionDays} days'`;
  await database.query(`select till.make_weeks('webhook_events', ${oldest}, now())`);
  for (let from = 0; from < count; from += rowsPerStatement) {
    const to = Math.min(from + rowsPerStatement, count) - 1;
    await database.query(`
      insert into till.webhook_events (id, type, object_id, created_at, api_version, payload, state, next_try_at,
        received_at, processed_at)
      select 'evt_' || md5(n::text), 'invoice.updated', 'in_' || n % 100000, created, '2026-10-28.endive',
        repeat('x', 200), 'processed', created, created, created
      from generate_series(${from}, ${to}) as n,
        lateral (select ${oldest} + interval '${retentionDays} days' * (n::float8 / ${count}) as created) as times`);
  }
  await database.query('vacuum analyze');
}
