import type { Lab } from '../lab/lab.ts';
import { takeTurns } from '../lab/rounds.ts';
import type { Scenario } from '../lab/scenario.ts';
import { seedManySubscriptions } from '../lab/seed.ts';
import type { ServerProcess } from '../lab/server-process.ts';

const processCount = 4;
const ids = 20_000;
/** As many for each process as the single one gets, because several processes are for more load. */
const connectionsPerProcess = 64;
const readsFull = 60_000;
const readsQuick = 15_000;

/** What a read costs, in the service and in PostgreSQL, if four processes serve on one port. */
export const processes: Scenario = {
  names: ['processes_reads'],
  async run(lab) {
    await using database = await lab.database('till');
    await seedManySubscriptions(database, ids);
    await using one = await lab.startTill(database);
    await using four = await lab.startTill(database, { PROCESSES: String(processCount) });
    const count = lab.amount(readsFull, readsQuick);
    // Each process has to compile what it runs often.
    await read(lab, one, 1, count);
    await read(lab, four, processCount, count * processCount);
    const runs = await takeTurns(lab, {
      one: () => read(lab, one, 1, count),
      four: () => read(lab, four, processCount, count),
      spread: () => read(lab, four, 1, count),
    });
    const sum = ({ serviceCpuMs, databaseCpuMs }: (typeof runs)['one']) => serviceCpuMs + databaseCpuMs;
    return [
      {
        name: 'processes_reads',
        value: sum(runs.four),
        unit: 'CPU ms/1,000',
        baseline: sum(runs.one),
        cpu: runs.four,
        baselineCpu: runs.one,
        goal: { atMost: 1.25 },
        note: `with the same load for each process; with the load of one process spread over four ${Math.round(sum(runs.spread))}, because each of them does less at a time`,
      },
    ];
  },
};

function read(lab: Lab, server: ServerProcess, size: number, count: number) {
  const requests = {
    kind: 'reads' as const,
    path: '/api/v1/subscriptions',
    count,
    ids: { count: ids, step: 1 },
  };
  const target = { url: server.url, connections: size * connectionsPerProcess, requests };
  return lab.load({ targets: [target], expected: [200] }, [server.pid]);
}
