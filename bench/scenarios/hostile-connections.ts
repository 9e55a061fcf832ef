import { setTimeout as delay } from 'node:timers/promises';
import { holdingOf } from '../../test/load/process-watch.ts';
import { startHostileClients } from '../../test/support/hostile/crowd.ts';
import { hostileKinds } from '../../test/support/hostile/kinds.ts';
import type { Lab, LoadRun } from '../lab/lab.ts';
import { shown } from '../lab/numbers.ts';
import { takeTurns } from '../lab/rounds.ts';
import type { Scenario } from '../lab/scenario.ts';
import { seedManySubscriptions } from '../lab/seed.ts';
import type { ServerProcess } from '../lab/server-process.ts';
import { firstEventSeconds } from '../load/events.ts';
import { apiKey } from '../load/requests.ts';

/** Of each kind, as far as the rate allows: most of them are soon cut off, and come back. */
const hostileFull = 800;
const hostileQuick = 400;
/** Of all kinds together: they share the machine with the service. */
const hostileRequestsPerSecond = 50;
/** How long they come before the measurement: as long as one that reads nothing stays. */
const gatherMsFull = 45_000;
const gatherMsQuick = 10_000;
const idCount = 1_000;
const readsFull = 6_000;
const readsQuick = 1_500;
/** A third of what a core can do, so that requests wait for each other and not for the machine. */
const readsPerSecond = 150;
/** For each event, there are so many reads. */
const readsPerEvent = 3;
/** API keys of the hostile callers. */
const keyCount = 20;

type Latency = LoadRun & { readonly rssMegabytes: number };

/** How long reads and signed webhooks take beside connections that take much and give nothing. */
export const hostileConnections: Scenario = {
  names: ['keyed_beside_hostile'],
  async run(lab) {
    await using database = await lab.database('till');
    await seedManySubscriptions(database, idCount);
    await using till = await lab.startTill(database, {
      CONSOLE: 'on',
      PUBLIC_URL: 'https://till.example.com',
    });
    const ordinary = new Ordinary(lab, till);
    const keys = await createKeys(till);
    await ordinary.measure();
    const runs = await takeTurns(lab, {
      alone: () => ordinary.measure(),
      beside: () => besideHostile(lab, till, keys, ordinary),
    });
    const [alone, beside] = [runs.alone, runs.beside];
    return [
      {
        name: 'keyed_beside_hostile',
        value: beside.p99Ms,
        unit: 'ms p99',
        baseline: alone.p99Ms,
        cpu: beside,
        baselineCpu: alone,
        goal: { atMost: 2 },
        note:
          `p50 ${shown(beside.p50Ms)} ms, without them ${shown(alone.p50Ms)} ms; resident memory ` +
          `${shown(beside.rssMegabytes)} MB, without them ${shown(alone.rssMegabytes)} MB`,
      },
    ];
  },
};

/** Reads and signed webhooks at the same time, at a steady rate. */
class Ordinary {
  readonly #lab: Lab;
  readonly #till: ServerProcess;
  readonly #startSeconds = firstEventSeconds(Date.now());
  #sent = 0;

  constructor(lab: Lab, till: ServerProcess) {
    this.#lab = lab;
    this.#till = till;
  }

  async measure(): Promise<Latency> {
    const { url, pid } = this.#till;
    const count = this.#lab.amount(readsFull, readsQuick);
    const ids = { count: idCount, step: 1 };
    const reads = { kind: 'reads' as const, path: '/api/v1/subscriptions', count, ids };
    const series = { first: this.#sent, count: count / readsPerEvent, startSeconds: this.#startSeconds };
    this.#sent += series.count;
    const run = await this.#lab.load(
      {
        targets: [
          { url, connections: 4, requests: reads, perSecond: readsPerSecond },
          {
            ...{ url, connections: 2, requests: { kind: 'events', series } },
            perSecond: readsPerSecond / readsPerEvent,
          },
        ],
        expected: [200],
      },
      [pid],
    );
    return { ...run, rssMegabytes: holdingOf(pid).rssMegabytes };
  }
}

async function besideHostile(
  lab: Lab,
  till: ServerProcess,
  keys: readonly string[],
  ordinary: Ordinary,
): Promise<Latency> {
  const { host, hostname, port } = new URL(till.url);
  const kinds = hostileKinds({ host, keys, count: lab.amount(hostileFull, hostileQuick) });
  await using clients = await startHostileClients(kinds, {
    ...{ host: hostname, port: Number(port), from: ['127.0.0.1', '127.0.0.2'] },
    requestsPerSecond: hostileRequestsPerSecond,
  });
  await delay(lab.amount(gatherMsFull, gatherMsQuick));
  const run = await ordinary.measure();
  await clients.leave();
  return run;
}

async function createKeys(till: ServerProcess): Promise<readonly string[]> {
  const created = Array.from({ length: keyCount }, async (_, index) => {
    const response = await fetch(`${till.url}/api/v1/api-keys`, {
      method: 'POST',
      headers: { 'x-api-key': apiKey, 'content-type': 'application/json' },
      body: JSON.stringify({ name: `hostile-${index}`, scopes: ['write'] }),
    });
    if (response.status !== 201) throw new Error(`no API key was created: ${await response.text()}`);
    return ((await response.json()) as { readonly key: string }).key;
  });
  return Promise.all(created);
}
