import { takeTurns } from '../lab/rounds.ts';
import type { Scenario } from '../lab/scenario.ts';
import { batchSize, cpuOf, createMeter, expectCounted, seedSubscribers, UsageWork } from './usage-work.ts';

const customersFull = 100_000;
const customersQuick = 20_000;
const batchesFull = 200;
const batchesQuick = 40;
const readsFull = 30_000;
const readsQuick = 10_000;

/** How fast usage is stored and counted, and what a consumption costs. */
export const usage: Scenario = {
  names: ['usage_ingest', 'usage_ingest_bare', 'usage_consume'],
  async run(lab) {
    await using database = await lab.database('till');
    const customers = lab.amount(customersFull, customersQuick);
    await seedSubscribers(database, customers);
    await using till = await lab.startTill(database);
    await using insertDatabase = await lab.database('till');
    await using insert = await lab.startBaseline('baselines/usage-insert.ts', insertDatabase);
    await using bareDatabase = await lab.database('empty');
    await using bare = await lab.startBaseline('baselines/usage-bare-insert.ts', bareDatabase);
    const work = new UsageWork(lab, customers);
    const count = lab.amount(readsFull, readsQuick);
    await createMeter(till);
    const batches = lab.amount(batchesFull, batchesQuick);
    for (const server of [till, insert, bare]) await work.ingest(server, batches);
    await work.consume(till, count);
    await work.read(till, count);
    const runs = await takeTurns(lab, {
      ingest: () => work.ingest(till, batches),
      insert: () => work.ingest(insert, batches),
      bare: () => work.ingest(bare, batches),
      consume: () => work.consume(till, count),
      read: () => work.read(till, count),
    });
    await expectCounted(database, work.sentTo(till));
    return [
      {
        name: 'usage_ingest',
        value: runs.ingest.ratePerSecond,
        unit: 'events/s',
        baseline: runs.insert.ratePerSecond,
        cpu: runs.ingest,
        baselineCpu: runs.insert,
        goal: { atLeast: 0.6 },
        note: `batches of ${batchSize} over ${customers} customers; the baseline inserts the same rows into the same table`,
      },
      {
        name: 'usage_ingest_bare',
        value: runs.ingest.ratePerSecond,
        unit: 'events/s',
        baseline: runs.bare.ratePerSecond,
        cpu: runs.ingest,
        baselineCpu: runs.bare,
        note: 'for information: against a table with the fields of the request, one index and no partitions',
      },
      {
        name: 'usage_consume',
        value: cpuOf(runs.read),
        unit: 'CPU ms/1,000 reads',
        baseline: cpuOf(runs.consume),
        cpu: runs.read,
        baselineCpu: runs.consume,
        goal: { atLeast: 0.5 },
        note: `reads of entitlements against consumptions; ${Math.round(runs.consume.ratePerSecond)} consumptions/s`,
      },
    ];
  },
};
