import type { BenchDatabase } from '../lab/database.ts';
import type { Lab, LoadRun } from '../lab/lab.ts';
import { seedManySubscriptions } from '../lab/seed.ts';
import type { ServerProcess } from '../lab/server-process.ts';
import { apiKey } from '../load/requests.ts';

/** The most that one request can have. */
export const batchSize = 1_000;
/** Enough to keep PostgreSQL and the service busy. */
const ingestConnections = 4;
const connections = 64;

/** Customers with a subscription each, whose plan limits the meter of `createMeter`. */
export async function seedSubscribers(database: BenchDatabase, customers: number): Promise<void> {
  await seedManySubscriptions(database, customers);
  await database.query(`update till.subscriptions set status = 'active'`);
  await database.query(`update till.plans set features = '{"api_calls": 1000000000}'`);
  await database.query('vacuum analyze till.subscriptions');
}

/** Sends usage whose events all have ids of their own. */
export class UsageWork {
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

export function cpuOf({ serviceCpuMs, databaseCpuMs }: LoadRun): number {
  return serviceCpuMs + databaseCpuMs;
}

export async function createMeter({ url }: ServerProcess): Promise<void> {
  const response = await fetch(`${url}/api/v1/meters`, {
    method: 'POST',
    headers: { 'x-api-key': apiKey, 'content-type': 'application/json' },
    body: JSON.stringify({ key: 'api_calls', name: 'API calls', resets: 'period' }),
  });
  if (response.status !== 201) throw new Error(`no meter was created: ${await response.text()}`);
}

/** Every event must be counted once. */
export async function expectCounted(database: BenchDatabase, expected: number): Promise<void> {
  const [row] = await database.query<{ used: number }>(
    'select coalesce(sum(used), 0)::bigint as used from till.usage_counters',
  );
  if (Number(row?.used) !== expected) throw new Error(`${row?.used} of ${expected} events were counted`);
}
