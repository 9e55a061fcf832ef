import { setTimeout as delay } from 'node:timers/promises';
import type { BenchDatabase } from '../lab/database.ts';
import type { Lab } from '../lab/lab.ts';
import { median, percentile, shown } from '../lab/numbers.ts';
import { takeTurns } from '../lab/rounds.ts';
import type { Scenario } from '../lab/scenario.ts';
import type { ServerProcess } from '../lab/server-process.ts';
import { Connection } from '../load/connection.ts';
import { EventStream, eventMark } from '../load/event-stream.ts';
import { createRequest, getRequest } from '../load/requests.ts';

const eventsFull = 200_000;
const eventsQuick = 30_000;
/** The largest page. */
const pageLimit = 1_000;
const streamCount = 100;
const appendedFull = 5_000;
const appendedQuick = 1_000;
/** As many as one batch of webhook events writes. */
const appendedTogether = 50;
const lagsFull = 500;
const lagsQuick = 50;
/** Commits are spread evenly over the time between two looks at the table. */
const lagPauseMsMax = 200;
const lagPauseStepMs = 61;
/** The limit that the API contract promises across processes. */
const lagGoalMs = 500;

/** How fast one follower and many streams read events, and how soon after their commit. */
export const events: Scenario = {
  names: ['events_feed', 'events_stream_fanout', 'events_lag'],
  async run(lab) {
    await using database = await lab.database('till');
    const count = lab.amount(eventsFull, eventsQuick);
    await seedEvents(database, count);
    await using till = await lab.startTill(database);
    await followPages(till, count);
    const read = await takeTurns(lab, {
      feed: () => lab.measure([till.pid], () => followPages(till, count)),
      plain: () => lab.measure([till.pid], () => readPlainly(database, count)),
    });
    const fanout = await takeTurns(lab, {
      streams: () => fanOut(lab, till, database),
    });
    const lags = await measureLags(lab, till, database);
    return [
      {
        name: 'events_feed',
        value: read.feed.ratePerSecond,
        unit: 'events/s',
        baseline: read.plain.ratePerSecond,
        cpu: read.feed,
        baselineCpu: read.plain,
        goal: { atLeast: 0.7 },
      },
      {
        name: 'events_stream_fanout',
        value: fanout.streams.ratePerSecond,
        unit: 'events/s',
        baseline: read.feed.ratePerSecond,
        cpu: fanout.streams,
        baselineCpu: read.feed,
        note: `events delivered to ${streamCount} streams together; the baseline is one follower`,
      },
      {
        name: 'events_lag',
        value: percentile(lags.across, 0.99),
        unit: 'ms p99',
        baseline: lagGoalMs,
        goal: { atMost: 1 },
        note:
          `from commit to reader; across processes p50 ${shown(median(lags.across))} ms, ` +
          `same process p50 ${shown(median(lags.same))} ms, p99 ${shown(percentile(lags.same, 0.99))} ms`,
      },
    ];
  },
};

/** Payments of about the size of real ones. */
const seededData = `json_build_object('id', gen_random_uuid(), 'mark', '${eventMark}', 'description', repeat('x', 900))`;
const seededCause = `'{"kind":"api","keyName":"bench","requestId":"r","processorEventId":null}'`;

async function seedEvents(database: BenchDatabase, count: number): Promise<void> {
  await database.query(
    `insert into till.events (position, created_at, type, object_type, object_id, data, previous, cause)
     select nextval('till.event_positions'), date_trunc('milliseconds', clock_timestamp()), 'payment.updated', 'payment',
       gen_random_uuid(), ${seededData}, '{"status":"processing"}', ${seededCause}
     from generate_series(1, $1)`,
    [count],
  );
  await database.query('analyze till.events');
}

/** Follows the feed from its beginning to its end. */
async function followPages(till: ServerProcess, expected: number) {
  const connection = await Connection.open(till.url);
  const startedAtMs = performance.now();
  let seen = 0;
  let after = '';
  while (seen < expected) {
    const { status, body } = await connection.send(getRequest(`/api/v1/events?limit=${pageLimit}${after}`));
    if (status !== 200) throw new Error(`the feed responded with ${status}: ${body.slice(0, 200)}`);
    // The number of marks is the number of events. The cursor is at the end of the body.
    seen += body.split(eventMark).length - 1;
    after = `&after=${/"nextCursor":"([^"]+)"\}$/.exec(body)?.[1]}`;
  }
  const elapsedMs = performance.now() - startedAtMs;
  connection.close();
  if (seen !== expected) throw new Error(`${seen} of ${expected} events were read`);
  return { operations: seen, elapsedMs };
}

/** The same rows in the same pages, read with the driver alone. */
async function readPlainly(database: BenchDatabase, expected: number) {
  const startedAtMs = performance.now();
  let [seen, position] = [0, 0];
  while (seen < expected) {
    const rows = await database.query<{ position: string }>(
      'select * from till.events where position > $1 order by position limit $2',
      [position, pageLimit],
    );
    seen += rows.length;
    position = Number(rows.at(-1)?.position);
  }
  return { operations: seen, elapsedMs: performance.now() - startedAtMs };
}

/** The end of the feed: a filter that selects nothing skips all events. */
async function newestEvent(till: ServerProcess): Promise<string> {
  const connection = await Connection.open(till.url);
  const { body } = await connection.send(getRequest('/api/v1/events?objectId=none'));
  connection.close();
  return /"nextCursor":"([^"]+)"/.exec(body)?.[1] ?? '';
}

function appendEvents(database: BenchDatabase, count: number) {
  return database.query(
    `select till.append_events(array_agg('payment.updated'::text), array_agg('payment'::text),
       array_agg(gen_random_uuid()::text), array_agg(gen_random_uuid()::text), array_agg(${seededData}::text),
       array_agg('{}'::text), array_agg(${seededCause}::text), array_agg(null::text))
     from generate_series(1, $1)`,
    [count],
  );
}

async function fanOut(lab: Lab, till: ServerProcess, database: BenchDatabase) {
  const after = await newestEvent(till);
  const streams = await Promise.all(
    Array.from({ length: streamCount }, () => EventStream.open(till.url, after)),
  );
  const appended = lab.amount(appendedFull, appendedQuick);
  const run = await lab.measure([till.pid], async () => {
    const startedAtMs = performance.now();
    for (let count = 0; count < appended; count += appendedTogether)
      await appendEvents(database, appendedTogether);
    await Promise.all(streams.map((stream) => stream.has(appended)));
    return { operations: appended * streamCount, elapsedMs: performance.now() - startedAtMs };
  });
  for (const stream of streams) {
    if (stream.count !== appended) throw new Error(`a stream got ${stream.count} of ${appended} events`);
    stream.close();
  }
  return run;
}

/** The time from a commit until a stream has the event, when another process or the stream's own process wrote it. */
async function measureLags(lab: Lab, till: ServerProcess, database: BenchDatabase) {
  const stream = await EventStream.open(till.url, await newestEvent(till));
  const writer = await Connection.open(till.url);
  const customer = createRequest(
    JSON.stringify({ email: 'ada@example.com', metadata: { mark: eventMark } }),
    '/api/v1/customers',
  );
  const count = lab.amount(lagsFull, lagsQuick);
  const observe = async (index: number, write: () => Promise<unknown>) => {
    await delay((index * lagPauseStepMs) % lagPauseMsMax);
    const expected = stream.count + 1;
    let arrivedAtMs = 0;
    const arrived = stream.has(expected).then(() => {
      arrivedAtMs = performance.now();
    });
    await write();
    const committedAtMs = performance.now();
    await arrived;
    // The event may arrive before the response to the request that wrote it.
    return Math.max(0, arrivedAtMs - committedAtMs);
  };
  const across: number[] = [];
  const same: number[] = [];
  for (let index = 0; index < count; index += 1) {
    across.push(await observe(index, () => appendEvents(database, 1)));
    same.push(await observe(index, () => writer.send(customer)));
  }
  stream.close();
  writer.close();
  return { across, same };
}
