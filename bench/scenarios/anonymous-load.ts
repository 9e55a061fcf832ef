import { setTimeout as delay } from 'node:timers/promises';
import type { Lab, LoadRun } from '../lab/lab.ts';
import { takeTurns } from '../lab/rounds.ts';
import type { Scenario } from '../lab/scenario.ts';
import { seedManySubscriptions } from '../lab/seed.ts';
import type { ServerProcess } from '../lab/server-process.ts';
import { startLoadGenerator } from '../load/load-generator.ts';

const idCount = 1_000;
const callers = 100;
/** Far more than the callers can send while one measurement takes. */
const requestsOfCallers = 1_000_000;
const readsFull = 1_000;
const readsQuick = 100;
/** The time until every caller has its connection and the first documents are compressed. */
const warmUpMs = 1_000;

/** How long an authorized read takes while a hundred callers without an API key request public pages. */
export const anonymousLoad: Scenario = {
  names: ['read_beside_docs', 'read_beside_metrics'],
  async run(lab) {
    await using database = await lab.database('till');
    await seedManySubscriptions(database, idCount);
    await using till = await lab.startTill(database);
    const beside = await takeTurns(lab, {
      live: () => readBeside(lab, till, '/health/live'),
      docs: () => readBeside(lab, till, '/api/docs/json'),
      metrics: () => readBeside(lab, till, '/metrics'),
    });
    const row = (name: string, run: LoadRun, path: string) => ({
      name,
      value: run.p50Ms,
      unit: 'ms p50',
      baseline: beside.live.p50Ms,
      cpu: run,
      baselineCpu: beside.live,
      goal: { atMost: 2 },
      note: `${callers} connections read ${path}, against as many that read /health/live`,
    });
    return [
      row('read_beside_docs', beside.docs, '/api/docs/json'),
      row('read_beside_metrics', beside.metrics, '/metrics'),
    ];
  },
};

async function readBeside(lab: Lab, till: ServerProcess, path: string): Promise<LoadRun> {
  // This load ends with the measurement.
  await using generator = startLoadGenerator();
  const crowd = { kind: 'same' as const, path, count: requestsOfCallers };
  const target = { url: till.url, connections: callers, requests: crowd };
  const start = await generator.prepare({ targets: [target], expected: [200] });
  let hasEnded = false;
  start().then(
    () => {
      hasEnded = true;
    },
    () => {
      hasEnded = true;
    },
  );
  await delay(warmUpMs);
  const count = lab.amount(readsFull, readsQuick);
  const requests = {
    kind: 'reads' as const,
    path: '/api/v1/subscriptions',
    count,
    ids: { count: idCount, step: 1 },
  };
  const reads = { targets: [{ url: till.url, connections: 1, requests }], expected: [200] };
  const run = await lab.load(reads, [till.pid]);
  const { status } = await fetch(`${till.url}/health`);
  if (status !== 200) throw new Error(`/health is ${status} with ${callers} connections on ${path}`);
  if (hasEnded) throw new Error(`the callers of ${path} ended before the measurement`);
  return run;
}
