import type { BenchDatabase } from '../lab/database.ts';
import { takeTurns } from '../lab/rounds.ts';
import type { Scenario } from '../lab/scenario.ts';
import { batchSize, cpuOf, createMeter, seedSubscribers, UsageWork } from './usage-work.ts';

const rowsFull = 20_000_000;
const rowsQuick = 250_000;
const rowsPerStatement = 500_000;
const customersFull = 100_000;
const customersQuick = 20_000;
const batchesFull = 200;
const batchesQuick = 40;
/** Events of these days can still be repeated. */
const days = 35;

/** Whether recording usage costs more with the number of stored events. */
export const usageGrowth: Scenario = {
  names: ['usage_growth'],
  async run(lab) {
    const customers = lab.amount(customersFull, customersQuick);
    const rows = lab.scale.usageEvents ?? lab.amount(rowsFull, rowsQuick);
    await using emptyDatabase = await lab.database('till');
    await using fullDatabase = await lab.database('till');
    await seedEvents(fullDatabase, rows, customers);
    for (const database of [emptyDatabase, fullDatabase]) await seedSubscribers(database, customers);
    await using empty = await lab.startTill(emptyDatabase);
    await using full = await lab.startTill(fullDatabase);
    const work = new UsageWork(lab, customers);
    const batches = lab.amount(batchesFull, batchesQuick);
    for (const till of [empty, full]) {
      await createMeter(till);
      await work.ingest(till, batches);
    }
    const runs = await takeTurns(lab, {
      full: () => work.ingest(full, batches),
      empty: () => work.ingest(empty, batches),
    });
    return [
      {
        name: 'usage_growth',
        value: cpuOf(runs.full),
        unit: 'CPU ms/1,000',
        baseline: cpuOf(runs.empty),
        cpu: runs.full,
        baselineCpu: runs.empty,
        goal: { atMost: 1.2 },
        note: `${rows.toLocaleString('en-US')} stored events against those of the run alone, in batches of ${batchSize}`,
      },
    ];
  },
};

/** A third of the events are of today, where new ones are inserted. The others are spread over the days before. */
async function seedEvents(database: BenchDatabase, count: number, customers: number): Promise<void> {
  for (let from = 0; from < count; from += rowsPerStatement) {
    const to = Math.min(from + rowsPerStatement, count) - 1;
    await database.query(`
      insert into till.usage_events
        (application, id, day, at, quantity, customer_id, meter_id, window_start, created_at)
      select '', 'stored-' || n, (at at time zone 'utc')::date, at, 1,
        ('00000000-0000-7000-8000-' || lpad(to_hex(n % ${customers}), 12, '0'))::uuid,
        '00000000-0000-7000-8000-000000000000', at, at
      from generate_series(${from}, ${to}) as n
      cross join lateral (
        select now() - case when n % 3 = 0 then 0 else n / 3 % ${days} end * interval '1 day' as at
      ) as placed`);
  }
  await database.query('vacuum analyze till.usage_events');
}
