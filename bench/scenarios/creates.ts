import type { BenchDatabase } from '../lab/database.ts';
import type { Run } from '../lab/lab.ts';
import { sharedProcessorKey } from '../lab/lab.ts';
import { median } from '../lab/numbers.ts';
import { takeTurns } from '../lab/rounds.ts';
import type { Scenario } from '../lab/scenario.ts';
import type { ServerProcess } from '../lab/server-process.ts';
import { createCustomer, slowDown } from '../lab/shop.ts';

/** Enough to keep the sandbox busy, few enough that no request waits for long. */
const connections = 16;
const createsFull = 3_000;
const createsQuick = 1_000;
const createsAtOnce = 200;
const processorLatencyMs = 300;

/** The cost of a create without the call to the processor, and whether a slow processor delays creates. */
export const creates: Scenario = {
  names: ['create_payment_overhead', 'create_payment_slow_processor'],
  async run(lab) {
    await using database = await lab.database('till');
    await using till = await lab.startTill(database, { PROCESSOR_SECRET_KEY: sharedProcessorKey });
    await using bare = await lab.startBaseline('baselines/create-only.ts');
    const owner = await createCustomer(till);
    const count = lab.amount(createsFull, createsQuick);
    const create = (server: ServerProcess, customerId: string, lanes: number, number: number) => {
      const requests = { kind: 'creates' as const, customerId, count: number };
      const target = { url: server.url, connections: lanes, requests };
      return lab.load({ targets: [target], expected: [201] }, [server.pid]);
    };
    let created = 0;
    const createPayments = (lanes: number, number: number) => {
      created += number;
      return create(till, owner.id, lanes, number);
    };
    await createPayments(connections, createsAtOnce);
    await create(bare, owner.processorCustomerId, connections, createsAtOnce);
    const runs = await takeTurns(lab, {
      till: () => createPayments(connections, count),
      bare: () => create(bare, owner.processorCustomerId, connections, count),
    });
    const slowMs: number[] = [];
    for (let round = 0; round < lab.scale.rounds; round += 1) {
      await slowDown(lab, processorLatencyMs, createsAtOnce);
      const { ratePerSecond } = await createPayments(createsAtOnce, createsAtOnce);
      slowMs.push((createsAtOnce / ratePerSecond) * 1_000);
    }
    await expectPayments(database, created);
    return [
      overhead(runs.till, runs.bare),
      {
        name: 'create_payment_slow_processor',
        value: median(slowMs),
        unit: 'ms',
        baseline: processorLatencyMs,
        goal: { atMost: 2.5 },
      },
    ];
  },
};

function overhead(till: Run, bare: Run) {
  return {
    name: 'create_payment_overhead',
    value: till.serviceCpuMs,
    unit: 'CPU ms/1,000',
    baseline: bare.serviceCpuMs,
    cpu: till,
    baselineCpu: bare,
    goal: { atMost: 1.7 },
    note: `${Math.round(till.ratePerSecond)} creates/s, the baseline ${Math.round(bare.ratePerSecond)}/s`,
  };
}

/** Every successful create must have left its row. */
async function expectPayments(database: BenchDatabase, expected: number): Promise<void> {
  const [row] = await database.query<{ created: number }>(
    'select count(*)::int as created from till.payments',
  );
  if (row?.created !== expected) throw new Error(`${row?.created} of ${expected} payments were recorded`);
}
