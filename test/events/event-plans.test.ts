/** How PostgreSQL reads the feed and the timelines: by an index, and only events that the reader gets. */
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import type { EventSelection, EventType } from '../../src/events/event.ts';
import { eventStatement } from '../../src/events/feed/event-store.ts';
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

interface PlanNode {
  readonly 'Node Type': string;
  readonly 'Relation Name'?: string;
  readonly 'Actual Rows': number;
  readonly 'Actual Loops': number;
  readonly 'Rows Removed by Filter'?: number;
  readonly Plans?: readonly PlanNode[];
}

function scansOf(node: PlanNode): readonly PlanNode[] {
  const own = node['Relation Name']?.startsWith('events') && node['Actual Loops'] > 0 ? [node] : [];
  return [...own, ...(node.Plans ?? []).flatMap(scansOf)];
}

/** How many events PostgreSQL looks at in the table for a page. */
async function readsOf(selection: EventSelection, position: number): Promise<number> {
  const range = { after: position, upTo: 3 * eventsPerWeek, limit };
  const { text, values } = eventStatement(range, selection);
  const { rows } = await pool.query<{ 'QUERY PLAN': readonly [{ Plan: PlanNode }] }>(
    `explain (analyze, format json) ${text}`,
    [...values],
  );
  const plan = rows[0]?.['QUERY PLAN'][0].Plan ?? assert.fail('there is no plan');
  return scansOf(plan).reduce(
    (sum, scan) => sum + (scan['Actual Rows'] + (scan['Rows Removed by Filter'] ?? 0)) * scan['Actual Loops'],
    0,
  );
}

/** A page, and the first event of each partition, among which PostgreSQL chooses the next one. */
const readsMax = limit + 20;

test('a page of the feed reads only its own events, at the beginning as at the end', async () => {
  for (const position of [0, eventsPerWeek, 3 * eventsPerWeek - 50])
    assert.ok((await readsOf({}, position)) <= readsMax, `after ${position}`);
});

test('a timeline reads only the events of its object or customer', async () => {
  for (const id of [early, frequent, absent])
    for (const selection of [{ objectId: id }, { customerId: id }])
      for (const position of [0, eventsPerWeek])
        assert.ok((await readsOf(selection, position)) <= readsMax, `${id} after ${position}`);
});

test('a timeline of some types reads the events of its object, and those that it returns once more', async () => {
  const types: ReadonlySet<EventType> = new Set(['payment.updated']);
  assert.ok((await readsOf({ objectId: early, types }, 0)) <= 2 * readsMax);
  assert.equal(await readsOf({ customerId: absent, types }, 0), 0);
});
