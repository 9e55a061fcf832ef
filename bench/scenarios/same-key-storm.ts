import { randomUUID } from 'node:crypto';
import { type Lab, sharedProcessorKey } from '../lab/lab.ts';
import { mean, median, percentile } from '../lab/numbers.ts';
import type { Scenario } from '../lab/scenario.ts';
import { seedManySubscriptions } from '../lab/seed.ts';
import type { ServerProcess } from '../lab/server-process.ts';
import { createCustomer, slowDown } from '../lab/shop.ts';
import { Connection } from '../load/connection.ts';
import { localId } from '../load/events.ts';
import { createRequest, getRequest } from '../load/requests.ts';

/** Requests that wait for the same idempotency key: a client library that retries without a limit. */
const waitingRequests = 150;
/** Other callers, each with one read in flight: few enough that they do not wait for each other. */
const readers = 4;
const idCount = 10_000;
/** How long the processor delays the first request: less than the 6 s after which an attempt is retried. */
const holdMsFull = 5_000;
const holdMsQuick = 3_000;
/** How long reads are measured. This ends well before the processor responds. */
const measuredShare = 0.6;
const pollDelayMs = 10;

interface Latency {
  readonly meanMs: number;
  readonly p99Ms: number;
}

/** How 150 requests that wait for one idempotency key slow down the reads of other callers. */
export const sameKeyStorm: Scenario = {
  names: ['same_key_storm'],
  async run(lab) {
    await using database = await lab.database('till');
    await seedManySubscriptions(database, idCount);
    await using till = await lab.startTill(database, { PROCESSOR_SECRET_KEY: sharedProcessorKey });
    const { id } = await createCustomer(till);
    const holdMs = lab.amount(holdMsFull, holdMsQuick);
    const measure = () => readFor(till, holdMs * measuredShare);
    await measure();
    const alone: Latency[] = [];
    const beside: Latency[] = [];
    for (let round = 0; round < lab.scale.rounds; round += 1) {
      alone.push(await measure());
      beside.push(await besideStorm(lab, till, { customerId: id, holdMs }, measure));
    }
    const p99 = (runs: readonly Latency[]) => median(runs.map(({ p99Ms }) => p99Ms)).toFixed(2);
    return [
      {
        name: 'same_key_storm',
        value: median(beside.map(({ meanMs }) => meanMs)),
        unit: 'ms mean',
        baseline: median(alone.map(({ meanMs }) => meanMs)),
        goal: { atMost: 1.5 },
        note: `p99 ${p99(beside)} ms, without the waiting requests ${p99(alone)} ms`,
      },
    ];
  },
};

/** Measures while many requests wait for one that the processor delays. All of them must then get the same payment. */
async function besideStorm(
  lab: Lab,
  till: ServerProcess,
  { customerId, holdMs }: { readonly customerId: string; readonly holdMs: number },
  measure: () => Promise<Latency>,
): Promise<Latency> {
  await slowDown(lab, holdMs, 1);
  const values = { customerId, amount: 2_000, currency: 'eur', idempotencyKey: randomUUID() };
  const request = createRequest(JSON.stringify(values));
  const connections = await Promise.all(
    Array.from({ length: waitingRequests }, () => Connection.open(till.url)),
  );
  let isHeld = true;
  const responses = Promise.all(connections.map((connection) => connection.send(request))).finally(() => {
    isHeld = false;
  });
  await untilHeld(lab);
  const latency = await measure();
  if (!isHeld) throw new Error('the processor responded before the reads were measured');
  const bodies = (await responses).map(({ status, body }) => {
    if (status !== 201) throw new Error(`a waiting request got ${status}: ${body}`);
    return JSON.parse(body).payment.id;
  });
  for (const connection of connections) connection.close();
  if (new Set(bodies).size !== 1) throw new Error('one idempotency key created several payments');
  return latency;
}

/** The sandbox removes the fault from its list when a request uses it. */
async function untilHeld(lab: Lab): Promise<void> {
  for (;;) {
    const response = await fetch(`${lab.sandboxUrl}/sandbox/faults`);
    const { faults } = (await response.json()) as { readonly faults: readonly unknown[] };
    if (faults.length === 0) return;
    await new Promise((resolve) => setTimeout(resolve, pollDelayMs));
  }
}

async function readFor(till: ServerProcess, durationMs: number): Promise<Latency> {
  const endMs = performance.now() + durationMs;
  const durationsMs: number[] = [];
  const read = async (_: unknown, reader: number) => {
    const connection = await Connection.open(till.url);
    for (let number = reader; performance.now() < endMs; number += readers) {
      const request = getRequest(`/api/v1/subscriptions/${localId(number % idCount)}`);
      const sentAtMs = performance.now();
      const { status, body } = await connection.send(request);
      durationsMs.push(performance.now() - sentAtMs);
      if (status !== 200) throw new Error(`a read got ${status}: ${body}`);
    }
    connection.close();
  };
  await Promise.all(Array.from({ length: readers }, read));
  return { meanMs: mean(durationsMs), p99Ms: percentile(durationsMs, 0.99) };
}
