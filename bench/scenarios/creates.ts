import type { BenchDatabase } from '../lab/database.ts';
import type { Lab, Run } from '../lab/lab.ts';
import { median } from '../lab/numbers.ts';
import { takeTurns } from '../lab/rounds.ts';
import type { Scenario } from '../lab/scenario.ts';
import type { ServerProcess } from '../lab/server-process.ts';
import { Connection } from '../load/connection.ts';
import { createRequest } from '../load/requests.ts';

/** Enough that the sandbox is busy, few enough that nothing waits for long. */
const connections = 16;
const createsFull = 3_000;
const createsQuick = 1_500;
const createsAtOnce = 200;
const processorLatencyMs = 300;

interface Owner {
  readonly id: string;
  readonly processorCustomerId: string;
}

/** What a create costs beside the call to the processor, and whether a slow processor holds creates up. */
export const creates: Scenario = {
  names: ['create_payment_overhead', 'create_payment_slow_processor'],
  async run(lab) {
    await using database = await lab.database('till');
    await using till = await lab.startTill(database);
    await using bare = await lab.startBaseline('baselines/create-only.ts');
    const owner = await createCustomer(till);
    const count = lab.amount(createsFull, createsQuick);
    const create = (server: ServerProcess, customerId: string, lanes: number, number: number) => {
      const requests = { kind: 'creates' as const, customerId, count: number };
      const target = { url: server.url, connections: lanes, requests };
      return lab.load({ targets: [target], expected: [201] }, [server.pid]);
    };
    await create(till, owner.id, connections, createsAtOnce);
    await create(bare, owner.processorCustomerId, connections, createsAtOnce);
    const runs = await takeTurns(lab.scale.rounds, {
      till: () => create(till, owner.id, connections, count),
      bare: () => create(bare, owner.processorCustomerId, connections, count),
    });
    const slowMs: number[] = [];
    for (let round = 0; round < lab.scale.rounds; round += 1) {
      await slowDown(lab);
      const { ratePerSecond } = await create(till, owner.id, createsAtOnce, createsAtOnce);
      slowMs.push((createsAtOnce / ratePerSecond) * 1_000);
    }
    await expectPayments(database, (count + createsAtOnce) * lab.scale.rounds + createsAtOnce);
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
    goal: { atMost: 2 },
    note: `${Math.round(till.ratePerSecond)} creates/s, the baseline ${Math.round(bare.ratePerSecond)}/s`,
  };
}

async function createCustomer(till: ServerProcess): Promise<Owner> {
  const connection = await Connection.open(till.url);
  const request = createRequest(JSON.stringify({ email: 'bench@example.com' }), '/api/v1/customers');
  const { status, body } = await connection.send(request);
  connection.close();
  if (status !== 201) throw new Error(`the customer was not made: ${body}`);
  return JSON.parse(body);
}

async function slowDown(lab: Lab): Promise<void> {
  const fault = {
    operation: 'payment_intents.create',
    kind: 'latency',
    latencyMs: processorLatencyMs,
    times: createsAtOnce,
  };
  const answer = await fetch(`${lab.sandboxUrl}/sandbox/faults`, {
    method: 'POST',
    body: JSON.stringify(fault),
  });
  if (!answer.ok) throw new Error(`the sandbox was not slowed down: ${await answer.text()}`);
}

/** Every create that was answered must have left its row. */
async function expectPayments(database: BenchDatabase, expected: number): Promise<void> {
  const [row] = await database.query<{ made: number }>('select count(*)::int as made from till.payments');
  if (row?.made !== expected) throw new Error(`${row?.made} of ${expected} payments were recorded`);
}
