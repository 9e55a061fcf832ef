import type { BenchDatabase } from '../lab/database.ts';
import type { Lab, LoadRun } from '../lab/lab.ts';
import { takeTurns } from '../lab/rounds.ts';
import type { Scenario } from '../lab/scenario.ts';
import { seedManySubscriptions } from '../lab/seed.ts';
import type { ServerProcess } from '../lab/server-process.ts';
import { apiKey } from '../load/requests.ts';

const customersFull = 100_000;
const customersQuick = 20_000;
/** The most that one request can have. */
const batchSize = 1_000;
/** Enough to keep PostgreSQL and the service busy. */
const ingestConnections = 4;
const batchesFull = 200;
const batchesQuick = 40;
const connections = 64;
const readsFull = 30_000;
const readsQuick = 10_000;

/** How fast usage is stored and counted, what a consumption costs, and what usage adds to a read of entitlements. */
export const usage: Scenario = {
  names: ['usage_ingest', 'usage_consume', 'entitlements_with_usage'],
  async run(lab) {
    await using database = await lab.database('till');
    const customers = lab.amount(customersFull, customersQuick);
    await seedManySubscriptions(database, customers);
    await database.query(`update till.subscriptions set status = 'active'`);
    await database.query(`update till.plans set features = '{"api_calls": 1000000000}'`);
    await database.query('vacuum analyze till.subscriptions');
    await using till = await lab.startTill(database);
    await using bareDatabase = await lab.database('empty');
    await using bare = await lab.startBaseline('baselines/usage-insert.ts', bareDatabase);
    const work = new UsageWork(lab, customers);
    const count = lab.amount(readsFull, readsQuick);
    await work.read(till, count);
    const without = await takeTurns(lab.scale.rounds, { read: () => work.read(till, count) });
    await createMeter(till);
    const batches = lab.amount(batchesFull, batchesQuick);
    for (const server of [till, bare]) await work.ingest(server, batches);
    await work.consume(till, count);
    // As autovacuum does within a minute. Until then, plans that were made for an empty table scan all counters.
    await database.query('vacuum analyze');
    const runs = await takeTurns(lab.scale.rounds, {
      ingest: () => work.ingest(till, batches),
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
        baseline: runs.bare.ratePerSecond,
        cpu: runs.ingest,
        baselineCpu: runs.bare,
        goal: { atLeast: 0.6 },
        note: `batches of ${batchSize} over ${customers} customers; the baseline is one bare insert of the same batch`,
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
      {
        name: 'entitlements_with_usage',
        value: cpuOf(runs.read),
        unit: 'CPU ms/1,000',
        baseline: cpuOf(without.read),
        cpu: runs.read,
        baselineCpu: without.read,
        goal: { atMost: 1.15 },
      },
    ];
  },
};

/** Sends usage whose events all have ids of their own. */
class UsageWork {
  readonly #lab: Lab;
  readonly #customers: number;
  readonly #sent = new Map<ServerProcess, number>();

  constructor(lab: Lab, customers: number) {
    this.#lab = lab;
    this.#customers = customers;
  }

  sentTo(server: ServerProcess): number {
    return this.#sent.get(server) ?? 0;
  }

  /** The numbers are those of events. */
  async ingest(server: ServerProcess, batches: number): Promise<LoadRun> {
    const run = await this.#send(server, ingestConnections, { count: batches, size: batchSize });
    return {
      ...run,
      ratePerSecond: run.ratePerSecond * batchSize,
      serviceCpuMs: run.serviceCpuMs / batchSize,
      databaseCpuMs: run.databaseCpuMs / batchSize,
    };
  }

  consume(server: ServerProcess, count: number): Promise<LoadRun> {
    return this.#send(server, connections, { count });
  }

  read(server: ServerProcess, count: number): Promise<LoadRun> {
    const requests = {
      kind: 'reads' as const,
      path: '/api/v1/customers',
      suffix: '/entitlements',
      count,
      ids: { count: this.#customers, step: 1 },
    };
    return this.#lab.load({ targets: [{ url: server.url, connections, requests }], expected: [200] }, [
      server.pid,
    ]);
  }

  #send(
    server: ServerProcess,
    lanes: number,
    amount: { readonly count: number; readonly size?: number },
  ): Promise<LoadRun> {
    const first = this.sentTo(server);
    this.#sent.set(server, first + amount.count * (amount.size ?? 1));
    const requests = { kind: 'usage' as const, ...amount, first, customers: this.#customers };
    return this.#lab.load({ targets: [{ url: server.url, connections: lanes, requests }], expected: [200] }, [
      server.pid,
    ]);
  }
}

function cpuOf({ serviceCpuMs, databaseCpuMs }: LoadRun): number {
  return serviceCpuMs + databaseCpuMs;
}

async function createMeter({ url }: ServerProcess): Promise<void> {
  const response = await fetch(`${url}/api/v1/meters`, {
    method: 'POST',
    headers: { 'x-api-key': apiKey, 'content-type': 'application/json' },
    body: JSON.stringify({ key: 'api_calls', name: 'API calls', resets: 'period' }),
  });
  if (response.status !== 201) throw new Error(`no meter was created: ${await response.text()}`);
}

/** Every event must be counted once. */
async function expectCounted(database: BenchDatabase, expected: number): Promise<void> {
  const [row] = await database.query<{ used: number }>(
    'select coalesce(sum(used), 0)::bigint as used from till.usage_counters',
  );
  if (Number(row?.used) !== expected) throw new Error(`${row?.used} of ${expected} events were counted`);
}
