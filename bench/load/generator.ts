/**
 * The load generator: a separate process, so that its CPU time does not count for the service. It creates every
 * request before the measurement. Then each connection sends one request after another, with one in flight: at once,
 * or when the request is due.
 */
import { setTimeout as delay } from 'node:timers/promises';
import { median, percentile } from '../lab/numbers.ts';
import { Connection } from './connection.ts';
import type { FromGenerator, Job, JobResult, ToGenerator } from './job.ts';
import { makeRequests } from './requests.ts';

interface Lane {
  readonly connection: Connection;
  /** Shared by the connections to one target. */
  readonly queue: Queue;
}

interface Queue {
  readonly requests: readonly Buffer[];
  /** The time between two requests. 0 if none waits. */
  readonly everyMs: number;
  next: number;
}

let prepared: { readonly job: Job; readonly lanes: readonly Lane[] } | undefined;

process.on('message', (message: ToGenerator) => {
  const work = 'prepare' in message ? prepare(message.prepare) : run();
  work.then(reply, (error: unknown) =>
    reply({ error: error instanceof Error ? error.message : String(error) }),
  );
});

function reply(message: FromGenerator): void {
  process.send?.(message);
}

async function prepare(job: Job): Promise<FromGenerator> {
  const lanes: Lane[] = [];
  let count = 0;
  for (const target of job.targets) {
    const requests = makeRequests(target.requests, Date.now());
    count += requests.length;
    const everyMs = target.perSecond === undefined ? 0 : 1_000 / target.perSecond;
    const queue = { requests, everyMs, next: 0 };
    for (let number = 0; number < target.connections; number += 1)
      lanes.push({ connection: await Connection.open(target.url), queue });
  }
  prepared = { job, lanes };
  return { prepared: count };
}

async function run(): Promise<FromGenerator> {
  if (prepared === undefined) throw new Error('nothing was prepared');
  const { job, lanes } = prepared;
  prepared = undefined;
  try {
    return { result: await drive(job, lanes) };
  } finally {
    for (const { connection } of lanes) connection.close();
  }
}

async function drive({ expected }: Job, lanes: readonly Lane[]): Promise<JobResult> {
  const durationsMs: number[] = [];
  const statuses: Record<string, number> = {};
  const startedAtMs = performance.now();
  await Promise.all(
    lanes.map(async ({ connection, queue }) => {
      for (let index = queue.next++; index < queue.requests.length; index = queue.next++) {
        const request = queue.requests[index] ?? Buffer.alloc(0);
        const dueAtMs = queue.everyMs === 0 ? performance.now() : startedAtMs + index * queue.everyMs;
        const earlyMs = dueAtMs - performance.now();
        if (earlyMs > 0) await delay(earlyMs);
        // A timer can be a little early.
        const sentAtMs = Math.min(dueAtMs, performance.now());
        const { status, body } = await connection.send(request);
        durationsMs.push(performance.now() - sentAtMs);
        statuses[status] = (statuses[status] ?? 0) + 1;
        if (!expected.includes(status)) throw new Error(`a response had status ${status}: ${body}`);
      }
    }),
  );
  const elapsedMs = performance.now() - startedAtMs;
  return {
    requests: durationsMs.length,
    elapsedMs,
    p50Ms: median(durationsMs),
    p99Ms: percentile(durationsMs, 0.99),
    statuses,
  };
}
