import type { Lab } from '../lab/lab.ts';
import { takeTurns } from '../lab/rounds.ts';
import type { Scenario } from '../lab/scenario.ts';
import { seedManySubscriptions } from '../lab/seed.ts';
import type { ServerProcess } from '../lab/server-process.ts';

const idsFull = 100_000;
const idsQuick = 20_000;
const path = '/api/v1/subscriptions';
const connections = 64;
/** A few seconds at full speed. */
const readsFull = 60_000;
const readsQuick = 15_000;
const readsOneByOne = 2_000;

/** How fast a row is read by its id, under load and one at a time, and how fast entitlements are read. */
export const reads: Scenario = {
  names: ['read_subscription', 'read_entitlements', 'read_latency_idle', 'load_generator'],
  async run(lab) {
    await using database = await lab.database('till');
    await seedManySubscriptions(database, lab.amount(idsFull, idsQuick));
    await using till = await lab.startTill(database);
    await using fixed = await lab.startBaseline('baselines/static-subscription.ts');
    await using lookup = await lab.startBaseline('baselines/pg-subscription.ts', database);
    await using canned = await lab.startBaseline('baselines/canned.ts');
    const count = lab.amount(readsFull, readsQuick);
    for (const server of [till, fixed, lookup, canned]) await read(lab, server, connections, readsOneByOne);
    await readEntitlements(lab, till, readsOneByOne);
    const busy = await takeTurns(lab, {
      till: () => read(lab, till, connections, count),
      entitlements: () => readEntitlements(lab, till, count),
      fixed: () => read(lab, fixed, connections, count),
      canned: () => read(lab, canned, connections, count),
    });
    const idle = await takeTurns(lab, {
      till: () => read(lab, till, 1, readsOneByOne),
      lookup: () => read(lab, lookup, 1, readsOneByOne),
    });
    return [
      {
        name: 'read_subscription',
        value: busy.till.ratePerSecond,
        unit: 'reads/s',
        baseline: busy.fixed.ratePerSecond,
        cpu: busy.till,
        baselineCpu: busy.fixed,
        goal: { atLeast: 0.6 },
      },
      {
        name: 'read_entitlements',
        value: busy.entitlements.ratePerSecond,
        unit: 'reads/s',
        baseline: busy.till.ratePerSecond,
        cpu: busy.entitlements,
        baselineCpu: busy.till,
        goal: { atLeast: 1 },
      },
      {
        name: 'read_latency_idle',
        value: idle.till.p50Ms,
        unit: 'ms p50',
        baseline: idle.lookup.p50Ms,
        cpu: idle.till,
        baselineCpu: idle.lookup,
        goal: { atMost: 1.15 },
      },
      {
        name: 'load_generator',
        value: busy.canned.ratePerSecond,
        unit: 'requests/s',
        baseline: busy.fixed.ratePerSecond,
        cpu: busy.canned,
        baselineCpu: busy.fixed,
        note: 'for information: the limit of the load generator itself, against its fastest target',
      },
    ];
  },
};

function readEntitlements(lab: Lab, server: ServerProcess, count: number) {
  return read(lab, server, connections, count, { path: '/api/v1/customers', suffix: '/entitlements' });
}

function read(
  lab: Lab,
  server: ServerProcess,
  lanes: number,
  count: number,
  route: { readonly path: string; readonly suffix?: string } = { path },
) {
  const requests = {
    kind: 'reads' as const,
    ...route,
    count,
    ids: { count: lab.amount(idsFull, idsQuick), step: 1 },
  };
  const target = { url: server.url, connections: lanes, requests };
  return lab.load({ targets: [target], expected: [200] }, [server.pid]);
}
