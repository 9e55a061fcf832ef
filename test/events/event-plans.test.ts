/** How PostgreSQL reads the feed and the timelines: by an index, and only events that the reader gets. */
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import type { EventSelection } from '#engine/events/event.ts';
import { eventStatement } from '#engine/events/feed/event-store.ts';
import { openPool } from '../support/test-database.ts';
import { startTill } from '../support/till.ts';

const till = await startTill({ in: 'process', for: { after } });
// The planner has its default settings: it must not choose another plan because the tables look small or large.
const pool = openPool({ connectionString: till.databaseUrl });
after(() => pool.end());

const eventsPerWeek = 10_000;
const limit = 100;
const objectOf = (number: number) => `0199c1f0-0000-7000-b000-${String(number).padStart(12, '0')}`;
/** One object has all of its events in the oldest week, one has every tenth event, and one has none. */
const [early, frequent, absent] = [1, 2, 3].map(objectOf);

before(async () => {
  await pool.query(`select till.make_weeks('events', now() - interval '3 weeks', now())`);
  await pool.query(
    `insert into till.events (position, created_at, type, object_type, object_id, customer_id, data, previous, cause)
     select nextval('till.event_positions'), now() - (2 - week) * interval '7 days' + number * interval '1 ms',
       'payment.updated', 'payment', object_id, object_id, '{}', '{}', '{}'
     from generate_series(0, 2) as week, generate_series(1, $1) as number, lateral (select case
       when week = 0 and number % 500 = 0 then $2::uuid when number % 10 = 0 then $3::uuid else gen_random_uuid() end
       as object_id) as one
     order by week, number`,
    [eventsPerWeek, early, frequent],
  );
  await pool.query('analyze till.events');
});

/** How many events PostgreSQL looks at in the table for a page. A function hides its plan, so the tables count. */
async function readsOf(selection: EventSelection, position: number): Promise<number> {
  const range = { after: position, upTo: 3 * eventsPerWeek, limit };
  const { text, values } = eventStatement(range, selection);
  const client = await pool.connect();
  const counted = async () => {
    const { rows } = await client.query<{ reads: number }>(
      `select coalesce(sum(seq_tup_read + coalesce(idx_tup_fetch, 0)), 0)::integer as reads
       from pg_stat_xact_all_tables where schemaname = 'till' and relname like 'events%'`,
    );
    return rows[0]?.reads ?? 0;
  };
  try {
    // The counters stay until PostgreSQL has added them to those of all connections, which it does between
    // transactions.
    await client.query('begin');
    const before = await counted();
    await client.query(text, [...values]);
    return (await counted()) - before;
  } finally {
    await client.query('rollback');
    client.release();
  }
}

/** A page, and the first event of each partition, among which PostgreSQL chooses the next one. */
const readsMax = limit + 20;
const within = (value: number, min: number, max: number) => value >= min && value <= max;

test('a page of the feed reads only its own events, at the beginning as at the end', async () => {
  for (const position of [0, eventsPerWeek, 3 * eventsPerWeek - 50])
    assert.ok(within(await readsOf({}, position), 1, readsMax), `after ${position}`);
});

test('a timeline reads only the events of its object or customer', async () => {
  for (const id of [early, frequent, absent])
    for (const selection of [{ objectId: id }, { customerId: id }])
      for (const position of [0, eventsPerWeek])
        assert.ok((await readsOf(selection, position)) <= readsMax, `${id} after ${position}`);
});

test('a timeline of some types reads the events of its object, and those that it returns once more', async () => {
  const types: ReadonlySet<string> = new Set(['payment.updated']);
  assert.ok((await readsOf({ objectId: early, types }, 0)) <= 2 * readsMax);
  // To estimate, PostgreSQL may read the first and the last event of a week.
  assert.ok((await readsOf({ customerId: absent, types }, 0)) <= 20);
});

test('a page of the feed is in the order of positions, whatever weeks the times of its events are in', async () => {
  const first = 4 * eventsPerWeek;
  // A server whose clock is behind writes the second event, and one whose clock is ahead the third.
  const weeks = [0, -2, 9, -1, 0];
  await pool.query(
    `insert into till.events (position, created_at, type, object_type, object_id, data, previous, cause)
     select $1::bigint + number, now() + week * interval '7 days', 'payment.updated', 'payment', gen_random_uuid(), '{}',
       '{}', '{}' from unnest($2::integer[]) with ordinality as v (week, number)`,
    [first, weeks],
  );
  const pages = async (size: number) => {
    const positions: number[] = [];
    for (let after = first; ; after = positions.at(-1) ?? after) {
      const { text, values } = eventStatement({ after, upTo: first + 10, limit: size }, {});
      const { rows } = await pool.query<{ position: string }>(text, [...values]);
      positions.push(...rows.map(({ position }) => Number(position)));
      if (rows.length < size) return positions;
    }
  };
  for (const size of [1, 2, 100])
    assert.deepEqual(
      await pages(size),
      weeks.map((_, index) => first + index + 1),
    );
});
