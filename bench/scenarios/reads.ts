import type { Lab } from '../lab/lab.ts';
import { takeTurns } from '../lab/rounds.ts';
import type { Scenario } from '../lab/scenario.ts';
import { seedManySubscriptions } from '../lab/seed.ts';
import type { ServerProcess } from '../lab/server-process.ts';

const idCount = 100_000;
const path = '/api/v1/subscriptions';
const connections = 64;
/** A few seconds at full speed. */
const readsFull = 60_000;
const readsQuick = 20_000;
const readsOneByOne = 2_000;

/** How fast one row is read by its id, under load and one at a time. */
export const reads: Scenario = {
  names: ['read_subscription', 'read_latency_idle', 'load_generator'],
  async run(lab) {
    await using database = await lab.database('till');
    await seedManySubscriptions(database, idCount);
    await using till = await lab.startTill(database);
    await using fixed = await lab.startBaseline('baselines/static-subscription.ts');
    await using lookup = await lab.startBaseline('baselines/pg-subscription.ts', database);
    await using canned = await lab.startBaseline('baselines/canned.ts');
    const count = lab.amount(readsFull, readsQuick);
    for (const server of [till, fixed, lookup, canned]) await read(lab, server, connections, readsOneByOne);
    const busy = await takeTurns(lab.scale.rounds, {
      till: () => read(lab, till, connections, count),
      fixed: () => read(lab, fixed, connections, count),
      canned: () => read(lab, canned, connections, count),
    });
    const idle = await takeTurns(lab.scale.rounds, {
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
        goal: { atLeast: 0.5 },
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
        note: 'for information: what the load generator itself can do, against the fastest route that it drives',
      },
    ];
  },
};

function read(lab: Lab, server: ServerProcess, lanes: number, count: number) {
  const requests = { kind: 'reads' as const, path, count, ids: { count: idCount, step: 1 } };
  const target = { url: server.url, connections: lanes, requests };
  return lab.load({ targets: [target], expected: [200] }, [server.pid]);
}
