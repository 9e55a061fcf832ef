import { setTimeout as delay } from 'node:timers/promises';
import { startOwnRedis } from '../../test/support/redis-server.ts';
import type { BenchDatabase } from '../lab/database.ts';
import type { Lab, Run } from '../lab/lab.ts';
import { takeTurns } from '../lab/rounds.ts';
import type { Scenario } from '../lab/scenario.ts';
import { seedObjects } from '../lab/seed.ts';
import type { ServerProcess } from '../lab/server-process.ts';
import { firstEventSeconds, objectCount } from '../load/events.ts';
import { expectApplied, untilApplied } from './webhook-lane.ts';

const processCount = 4;
/** Each process gets as many as the single one: several processes are for more load. */
const connectionsPerProcess = 64;
const eventsFull = 10_000;
const eventsQuick = 2_000;
/** Low enough to be exceeded within a second, high enough that four separate limits would let more requests pass. */
const sharedLimit = 400;
const limitedReads = 600;

/** Four processes on one PostgreSQL and Redis: as correct as one, and about as cheap. */
export const scaleOut: Scenario = {
  names: ['scale_out'],
  async run(lab) {
    await using open = new AsyncDisposableStack();
    const redis = await startOwnRedis();
    if (redis === undefined) {
      return [
        {
          name: 'scale_out',
          value: null,
          unit: 'CPU ms/1,000',
          note: 'skipped, because there is no redis-server on this machine',
        },
      ];
    }
    lab.endLater(() => redis.stop());
    const shared = { REDIS_URL: redis.url };
    const fleets = { four: processCount, one: 1 };
    const contestants: Partial<Record<string, Fleet>> = {};
    for (const [name, size] of Object.entries(fleets)) {
      const database = open.use(await lab.database('till'));
      await seedObjects(database);
      const tills = await Promise.all(Array.from({ length: size }, () => lab.startTill(database, shared)));
      for (const till of tills) open.use(till);
      contestants[name] = new Fleet(lab, database, tills);
    }
    const { four, one } = contestants;
    if (four === undefined || one === undefined) throw new Error('a fleet is missing');
    // Each process has to compile what it runs often.
    for (const fleet of [four, one]) await fleet.deliver(objectCount * fleet.size, fleet.size);
    const count = lab.amount(eventsFull, eventsQuick);
    const runs = await takeTurns(lab, {
      four: () => four.deliver(count, processCount),
      one: () => one.deliver(count, 1),
      spread: () => four.deliver(count, 1),
    });
    for (const fleet of [four, one]) await fleet.expectOnce();
    await expectSharedLimit(lab, { ...shared, RATE_LIMIT_PER_MINUTE: String(sharedLimit) });
    return [
      {
        name: 'scale_out',
        value: runs.four.serviceCpuMs,
        unit: 'CPU ms/1,000',
        baseline: runs.one.serviceCpuMs,
        cpu: runs.four,
        baselineCpu: runs.one,
        goal: { atMost: 1.2 },
        note: `each event sent twice, and applied once; the rate limit was shared; with 64 connections for all four processes ${Math.round(runs.spread.serviceCpuMs)}, because each gets smaller batches`,
      },
    ];
  },
};

/** Processes that share a database and get every event twice: two processes once each, or a single one twice. */
class Fleet {
  readonly #lab: Lab;
  readonly #database: BenchDatabase;
  readonly #tills: readonly ServerProcess[];
  readonly #startSeconds = firstEventSeconds(Date.now());
  #sent = 0;

  constructor(lab: Lab, database: BenchDatabase, tills: readonly ServerProcess[]) {
    this.#lab = lab;
    this.#database = database;
    this.#tills = tills;
  }

  get size(): number {
    return this.#tills.length;
  }

  /** Sends events with as many connections as this many processes get. */
  async deliver(count: number, loadedProcesses: number): Promise<Run> {
    const series = { first: this.#sent, count, startSeconds: this.#startSeconds };
    this.#sent += count;
    const targets = this.#tills.map(({ url }, part) => ({
      url,
      connections: (loadedProcesses * connectionsPerProcess) / this.size,
      requests: { kind: 'events' as const, series, take: { part, of: this.size } },
    }));
    const start = await this.#lab.prepare({ targets, expected: [200] });
    const pids = this.#tills.map(({ pid }) => pid);
    return this.#lab.measure(pids, () => untilApplied(start, this.#database));
  }

  /** Checks the rows and the processes' own counters: every event once, and one duplicate of each. */
  async expectOnce(): Promise<void> {
    await expectApplied(this.#database, this.#sent);
    const scrapes = await Promise.all(
      this.#tills.map(async ({ url }) => (await fetch(`${url}/metrics`)).text()),
    );
    for (const name of ['webhook_events_processed_total', 'webhook_events_duplicate_total']) {
      const counted = scrapes.reduce((sum, scrape) => sum + total(scrape, name), 0);
      if (counted !== this.#sent)
        throw new Error(`${name} is ${counted}, and ${this.#sent} events were sent`);
    }
  }
}

/** The sum of a counter over its labels. */
function total(scrape: string, name: string): number {
  const lines = scrape
    .split('\n')
    .filter((line) => line.startsWith(`${name}{`) || line.startsWith(`${name} `));
  return lines.reduce((sum, line) => sum + Number(line.slice(line.lastIndexOf(' ') + 1)), 0);
}

/** Reads spread over four processes. Together, they let as many requests pass as one process would. */
async function expectSharedLimit(lab: Lab, environment: Readonly<Record<string, string>>): Promise<void> {
  await using database = await lab.database('till');
  await using tills = new AsyncDisposableStack();
  const targets = [];
  for (let number = 0; number < processCount; number += 1) {
    const { url } = tills.use(await lab.startTill(database, environment));
    const requests = { kind: 'same' as const, path: '/api/v1/plans', count: limitedReads / processCount };
    targets.push({ url, connections: 1, requests });
  }
  const start = await lab.prepare({ targets, expected: [200, 429] });
  await untilEarlyInMinute();
  const { statuses } = await start();
  if (statuses['200'] !== sharedLimit)
    throw new Error(`${statuses['200']} reads were let through by a shared limit of ${sharedLimit}`);
}

/** The limiter counts by clock minutes, and a burst must fall into one of them. */
const burstMsMax = 10_000;
const minuteMs = 60_000;

async function untilEarlyInMinute(): Promise<void> {
  const leftMs = minuteMs - (Date.now() % minuteMs);
  if (leftMs < burstMsMax) await delay(leftMs);
}
