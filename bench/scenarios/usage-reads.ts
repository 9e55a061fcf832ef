import { takeTurns } from '../lab/rounds.ts';
import type { Scenario } from '../lab/scenario.ts';
import { batchSize, cpuOf, createMeter, seedSubscribers, UsageWork } from './usage-work.ts';

const customersFull = 100_000;
const customersQuick = 20_000;
const readsFull = 30_000;
const readsQuick = 10_000;

/**
 * What usage adds to a read of entitlements. The two services take turns, each with a database of its own. The
 * databases differ in the meter and its counters alone.
 */
export const usageReads: Scenario = {
  names: ['entitlements_with_usage'],
  async run(lab) {
    const customers = lab.amount(customersFull, customersQuick);
    await using plainDatabase = await lab.database('till');
    await using meteredDatabase = await lab.database('till');
    for (const database of [plainDatabase, meteredDatabase]) await seedSubscribers(database, customers);
    await using plain = await lab.startTill(plainDatabase);
    await using metered = await lab.startTill(meteredDatabase);
    const work = new UsageWork(lab, customers);
    await createMeter(metered);
    // Each customer has a counter.
    await work.ingest(metered, customers / batchSize);
    for (const database of [plainDatabase, meteredDatabase]) await database.query('vacuum analyze');
    const count = lab.amount(readsFull, readsQuick);
    for (const till of [plain, metered]) await work.read(till, count);
    const runs = await takeTurns(lab, {
      plain: () => work.read(plain, count),
      metered: () => work.read(metered, count),
    });
    return [
      {
        name: 'entitlements_with_usage',
        value: cpuOf(runs.metered),
        unit: 'CPU ms/1,000',
        baseline: cpuOf(runs.plain),
        cpu: runs.metered,
        baselineCpu: runs.plain,
        goal: { atMost: 1.15 },
        note: `a meter and ${customers.toLocaleString('en-US')} counters against no meter`,
      },
    ];
  },
};
