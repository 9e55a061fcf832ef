import { setTimeout as delay } from 'node:timers/promises';
import type { BenchDatabase } from '../lab/database.ts';
import { median } from '../lab/numbers.ts';
import type { Scenario } from '../lab/scenario.ts';
import { seedObjects } from '../lab/seed.ts';
import { Connection } from '../load/connection.ts';
import { eventKinds, eventRequest, firstEventSeconds, localId, objectCount } from '../load/events.ts';
import { getRequest } from '../load/requests.ts';

/** A few hundred events, one at a time, give a stable median. */
const eventsPerRound = 200;
const warmUpEvents = 50;
/** The delay between two reads. Reading without a pause would itself slow down the service. */
const readDelayMs = 1;
/** An event that is not visible after this many reads, a few seconds, will never be. */
const readsMax = 5_000;

/** How soon after its arrival a read shows an event, on an idle service. */
export const webhookLag: Scenario = {
  names: ['webhook_lag_idle'],
  async run(lab) {
    await using database = await lab.database('till');
    await seedObjects(database);
    await using till = await lab.startTill(database);
    const sender = await Connection.open(till.url);
    const reader = await Connection.open(till.url);
    const observe = observer(sender, reader);
    const commit = await committer(database);
    for (let count = 0; count < warmUpEvents; count += 1) await observe();
    const lagsMs: number[] = [];
    const commitsMs: number[] = [];
    for (let round = 0; round < lab.scale.rounds; round += 1) {
      const lags: number[] = [];
      const commits: number[] = [];
      for (let count = 0; count < eventsPerRound; count += 1) {
        lags.push(await observe());
        commits.push(await commit());
      }
      lagsMs.push(median(lags));
      commitsMs.push(median(commits));
    }
    for (const connection of [sender, reader]) connection.close();
    return [
      {
        name: 'webhook_lag_idle',
        value: median(lagsMs),
        unit: 'ms p50',
        baseline: median(commitsMs),
        goal: { atMost: 3.5 },
      },
    ];
  },
};

/** Sends the next event about a subscription, reads the subscription until it shows it, and returns the time. */
function observer(sender: Connection, reader: Connection): () => Promise<number> {
  const startSeconds = firstEventSeconds(Date.now());
  let observed = 0;
  return async () => {
    const number = numberOfSubscriptionEvent(observed);
    observed += 1;
    const request = eventRequest(number, startSeconds, Date.now());
    const read = getRequest(`/api/v1/subscriptions/${localId(number % objectCount)}`);
    const shows = `"currentPeriodStart":"${new Date((startSeconds + number) * 1_000).toISOString()}"`;
    const sentAtMs = performance.now();
    const { status } = await sender.send(request);
    if (status !== 200) throw new Error(`an event was refused with ${status}`);
    for (let reads = 0; reads < readsMax; reads += 1) {
      const { body } = await reader.send(read);
      if (body.includes(shows)) return performance.now() - sentAtMs;
      await delay(readDelayMs);
    }
    throw new Error('an event never became readable');
  };
}

/** Kinds of events alternate, and the first kind is about subscriptions. */
function numberOfSubscriptionEvent(index: number): number {
  const perLap = Math.floor(objectCount / eventKinds.length);
  return Math.floor(index / perLap) * objectCount + (index % perLap) * eventKinds.length;
}

/** Stores a body of the same size durably, twice in a row, and returns the time. */
async function committer(database: BenchDatabase): Promise<() => Promise<number>> {
  await database.query('create table public.commits (id bigserial primary key, body text not null)');
  const body = 'x'.repeat(2_048);
  const insert = 'insert into public.commits (body) values ($1)';
  return async () => {
    const startedAtMs = performance.now();
    await database.query(insert, [body]);
    await database.query(insert, [body]);
    return performance.now() - startedAtMs;
  };
}
