/**
 * What the feed promises to a reader that follows it: every committed event exactly once, those of each object in
 * order, whatever the transactions do that write them.
 */
import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { after, before, test } from 'node:test';
import pg from 'pg';
import { createRandom, type Random } from '#runtime/seed/random.ts';
import { effort } from '../support/effort.ts';
import { appendEvents, type EventBody, type EventPage, newEvent, openStream } from '../support/event-feed.ts';
import { seedOf } from '../support/seeds.ts';
import { createTestDatabase } from '../support/test-database.ts';
import { startTill } from '../support/till.ts';

const till = await startTill({ in: 'process', for: { after }, mustNotLogErrors: true });

/** Objects whose number of changes is what their last event shows. Writers lock them as the service locks its rows. */
before(() =>
  till.sql('create table public.objects (id uuid primary key, changes bigint not null default 0)'),
);

async function open(url = till.databaseUrl): Promise<pg.Client> {
  const client = new pg.Client({ connectionString: url });
  // A connection that is ended by another is an error event.
  client.on('error', () => {});
  await client.connect();
  return client;
}

const eventOfChange = (objectId: string, change: number) =>
  newEvent({ objectId, customerId: null, data: { id: objectId, change } });
const run = (client: pg.Client) => (text: string, values: unknown[]) => client.query(text, values);
/** The newest place of the feed. */
const end = async () => (await till.get<EventPage>('/events?objectId=none')).nextCursor;
const query = (cursor: string | null) => (cursor === null ? '' : `after=${cursor}`);
const follow = async (cursor: string | null) =>
  (await till.get<EventPage>(`/events?${query(cursor)}`)).data.map(({ objectId }) => objectId);

/** What a reader without the horizon reads: everything behind the highest position that it has seen. */
async function readNaively(
  after: number,
): Promise<readonly { position: number; objectId: string; change: number }[]> {
  return till.sql(
    `select position, object_id as "objectId", (data->>'change')::int as change from till.events
     where position > $1 order by position limit 100`,
    [after],
  );
}

test('a reader does not skip an event that a slower transaction commits later; without the horizon it would', async () => {
  const start = await end();
  const [slow, fast] = [await open(), await open()];
  const [first, second] = [randomUUID(), randomUUID()];
  const [newest] = await till.sql<{ position: number }>(
    'select last_value as position from till.event_positions',
  );
  await slow.query('begin');
  await appendEvents(run(slow), newEvent({ objectId: first }));
  await appendEvents(run(fast), newEvent({ objectId: second }));
  const naive = await readNaively(newest?.position ?? 0);
  assert.deepEqual(await follow(start), []);
  await slow.query('commit');
  assert.deepEqual(await follow(start), [first, second]);
  const later = await readNaively(naive.at(-1)?.position ?? 0);
  assert.deepEqual(
    [...naive, ...later].map(({ objectId }) => objectId),
    [second],
  );
  await Promise.all([slow.end(), fast.end()]);
});

test('transactions elsewhere hold nothing back, however long they run', async (t) => {
  const other = await createTestDatabase();
  t.after(() => other.drop());
  const [reading, writing, elsewhere] = [await open(), await open(), await open(other.url)];
  await reading.query('begin isolation level repeatable read');
  await reading.query('select count(*) from till.events');
  await writing.query('begin');
  await writing.query(`insert into public.objects values ($1)`, [randomUUID()]);
  await elsewhere.query('begin');
  // It has a transaction id and an event of its own.
  await appendEvents(run(elsewhere), newEvent());
  const start = await end();
  const event = newEvent();
  await appendEvents(till.sql, event);
  assert.deepEqual(await follow(start), [event.objectId]);
  await Promise.all([reading.end(), writing.end(), elsewhere.end()]);
});

test('a transaction that hangs after its event is ended by PostgreSQL, and the feed goes on', async () => {
  // The service sets this for all of its connections, so that it bounds the delay.
  const [setting] = await till.database.query<{ idle_in_transaction_session_timeout: string }>(
    'show idle_in_transaction_session_timeout',
  );
  assert.deepEqual(setting, { idle_in_transaction_session_timeout: '10s' });
  const start = await end();
  const hanging = await open();
  await hanging.query('begin');
  await appendEvents(run(hanging), newEvent());
  const event = newEvent();
  await appendEvents(till.sql, event);
  assert.deepEqual(await follow(start), [], 'the feed waits for the transaction');
  // Its time begins with the next pause of the transaction.
  await hanging.query(`set idle_in_transaction_session_timeout = '100ms'`);
  const { data } = await till.get<EventPage>(`/events?${query(start)}&waitSeconds=30`);
  assert.deepEqual(
    data.map(({ objectId }) => objectId),
    [event.objectId],
  );
});

const writersCount = 6;
const transactionsPerWriter = effort({ short: 60, long: 1_500 });
const pauseMsMax = 12;

test('many writers that pause, roll back and die: every reader sees each committed event exactly once, in order', async (t) => {
  const seed = seedOf('FAULT');
  t.diagnostic(`FAULT_SEED=${seed}`);
  const objects = Array.from({ length: 20 }, () => randomUUID());
  await till.sql('insert into public.objects (id) select unnest($1::uuid[])', [objects]);
  const start = await end();
  const [newest] = await till.sql<{ position: number }>(
    'select last_value as position from till.event_positions',
  );
  const last = newEvent();
  const readers = Promise.all([
    followPages(start, createRandom(seed + 100), last.objectId),
    followStream(start, createRandom(seed + 101), last.objectId),
    followStream(start, undefined, last.objectId),
  ]);
  const naive = followNaively(newest?.position ?? 0, last.objectId);
  await Promise.all(
    Array.from({ length: writersCount }, (_, index) => write(objects, createRandom(seed + index))),
  );
  // What the rows show is what was committed, even for commits whose response was lost.
  const rows = await till.sql<{ id: string; changes: number }>(
    'select id, changes from public.objects where id = any($1)',
    [objects],
  );
  const expected = rows.flatMap(({ id, changes }) =>
    Array.from({ length: changes }, (_, index) => `${id} ${index + 1}`),
  );
  await appendEvents(till.sql, last);
  for (const seen of await readers) {
    assert.equal(seen.length, expected.length);
    assert.deepEqual([...seen].sort(), [...expected].sort());
    for (const { id, changes } of rows) {
      const own = seen.filter((change) => change.startsWith(id));
      assert.deepEqual(
        own,
        Array.from({ length: changes }, (_, index) => `${id} ${index + 1}`),
      );
    }
  }
  assert.ok(expected.length > (writersCount * transactionsPerWriter) / 2, `${expected.length} events`);
  const missed = expected.length - (await naive).length;
  t.diagnostic(`${expected.length} events; a reader without the horizon missed ${missed}`);
  assert.ok(missed > 0, 'the test can fail');
});

/** Changes objects. After each event the transaction pauses, and then commits, rolls back, or loses its connection. */
async function write(objects: readonly string[], random: Random): Promise<void> {
  const killer = await open();
  let client = await open();
  for (let count = 0; count < transactionsPerWriter; count += 1) {
    const objectId = objects[Math.floor(random() * objects.length)] ?? '';
    const fate = random();
    await client.query('begin');
    const { rows } = await client.query<{ changes: string }>(
      'update public.objects set changes = changes + 1 where id = $1 returning changes',
      [objectId],
    );
    await appendEvents(run(client), eventOfChange(objectId, Number(rows[0]?.changes)));
    await client.query('select pg_sleep($1)', [(random() * pauseMsMax) / 1_000]);
    if (fate < 0.2) await client.query('rollback');
    else if (fate > 0.1 + 0.8) {
      const { rows: own } = await client.query<{ pid: number }>('select pg_backend_pid() as pid');
      // The commit may be faster than the signal.
      const commit = client.query('commit').catch(() => undefined);
      await killer.query('select pg_terminate_backend($1)', [own[0]?.pid]);
      await commit;
      await client.end().catch(() => undefined);
      client = await open();
    } else await client.query('commit');
  }
  await Promise.all([client.end(), killer.end()]);
}

const changeOf = ({ objectId, data }: EventBody) => `${objectId} ${data['change']}`;

/** Readers end with the event of the object that is written last. */
async function followPages(
  start: string | null,
  random: Random,
  lastObject: string,
): Promise<readonly string[]> {
  const seen: string[] = [];
  let cursor = start;
  for (;;) {
    const limit = 1 + Math.floor(random() * 30);
    const page = await till.get<EventPage>(`/events?${query(cursor)}&limit=${limit}&waitSeconds=1`);
    for (const event of page.data) {
      if (event.objectId === lastObject) return seen;
      seen.push(changeOf(event));
    }
    // Either of the two continues without a gap.
    cursor = (random() < 0.5 ? page.data.at(-1)?.id : page.nextCursor) ?? cursor;
  }
}

/** With random numbers, the reader disconnects now and then and resumes where it was. */
async function followStream(
  start: string | null,
  random: Random | undefined,
  lastObject: string,
): Promise<readonly string[]> {
  const seen: string[] = [];
  let lastId = start;
  for (;;) {
    const stream = await openStream(till, '', lastId === null ? {} : { 'last-event-id': lastId });
    do {
      const event = await stream.nextEvent();
      if (event.objectId === lastObject) {
        stream.close();
        return seen;
      }
      seen.push(changeOf(event));
      lastId = event.id;
    } while (random === undefined || random() > 0.02);
    stream.close();
  }
}

async function followNaively(start: number, lastObject: string): Promise<readonly string[]> {
  const seen: string[] = [];
  let position = start;
  for (;;) {
    for (const row of await readNaively(position)) {
      if (row.objectId === lastObject) return seen;
      seen.push(`${row.objectId} ${row.change}`);
      position = row.position;
    }
  }
}
