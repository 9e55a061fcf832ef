import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import pg from 'pg';
import { listEvents } from '#engine/webhooks/webhook-event-list-store.ts';
import { effort } from '../support/effort.ts';
import { runTill } from '../support/run-till.ts';
import { startTill } from '../support/till.ts';
import type { TillInProcess } from '../support/till-in-process.ts';

const eventCount = effort({ short: 100_000, long: 5_000_000 });
/**
 * Pages of 8 kB that one statement may read. All events fill more than 7,000 in the short form, 350,000 in the long
 * one.
 */
const blocksMax = 2_000;
/** What the list promises at five million events. */
const requestMsMax = 50;

interface ListResponse {
  readonly data: readonly { readonly id: string }[];
  readonly total: number;
  readonly totalCapped: boolean;
}

interface Filter {
  readonly state?: 'pending' | 'processed' | 'ignored' | 'failed';
  readonly type?: string;
  readonly objectId?: string;
}

/** Alone and combined; many matches, few, none, and only very old ones. */
const filters: readonly Filter[] = [
  {},
  { state: 'processed' },
  { state: 'ignored' },
  { state: 'failed' },
  { state: 'pending' },
  { type: 'invoice.updated' },
  { type: 'old.type' },
  { type: 'made.up' },
  { type: 'invoice.updated', state: 'processed' },
  { type: 'invoice.updated', state: 'ignored' },
  { type: 'invoice.updated', state: 'pending' },
  { type: 'old.type', state: 'failed' },
  { objectId: 'in_7' },
  { objectId: 'in_made_up' },
  { objectId: 'in_7', state: 'failed' },
  { objectId: 'in_7', type: 'invoice.updated' },
  { objectId: 'in_7', type: 'old.type' },
  { objectId: 'in_7', type: 'invoice.updated', state: 'processed' },
];

let till: TillInProcess;
let client: pg.Client;
const closers: (() => Promise<unknown>)[] = [];

before(async () => {
  till = await startTill({ in: 'process', for: { after: (close) => void closers.push(close) } });
  client = new pg.Client({ connectionString: till.databaseUrl });
  await client.connect();
  await client.query(`select till.make_weeks('webhook_events', now() - interval '90 days', now())`);
  await client.query(
    `insert into till.webhook_events (id, type, object_id, created_at, payload, personal_data, state, next_try_at, received_at)
     select 'evt_' || number,
       case when number <= 50 then 'old.type' when number % 10 = 0 then 'ignored.type' else 'invoice.updated' end,
       'in_' || number % ($1::int / 20), now() - interval '90 days' * (1 - number::float8 / $1::int), repeat('x', 500), 'none',
       case when number <= 30 then 'failed' when number % 10 = 0 then 'ignored'
         when number > $1::int - 1000 then 'pending' else 'processed' end,
       now() + interval '1 day', now()
     from generate_series(1, $1::int) as number`,
    [eventCount],
  );
  await client.query('vacuum analyze till.webhook_events');
});

after(async () => {
  await client.end();
  for (const close of closers) await close();
});

describe('the list of events', () => {
  for (const filter of filters) {
    const query = new URLSearchParams({ ...filter }).toString();
    test(`?${query} shows the newest, counts up to 10,000, and reads little of the inbox`, async () => {
      const conditions = [
        ...(filter.state === undefined ? [] : [`state = '${filter.state}'`]),
        ...(filter.type === undefined ? [] : [`type = '${filter.type}'`]),
        ...(filter.objectId === undefined ? [] : [`object_id = '${filter.objectId}'`]),
        'true',
      ].join(' and ');
      const { rows } = await client.query<{ id: string; total: string }>(
        `select id, count(*) over () as total from till.webhook_events where ${conditions}
         order by created_at desc, id desc limit 25`,
      );
      const total = Number(rows[0]?.total ?? 0);
      const expected = { total: Math.min(total, 10_000), totalCapped: total > 10_000 };
      for (const page of [1, 2]) {
        const response = await till.get<ListResponse>(`/webhook-events?${query}&limit=10&page=${page}`);
        assert.deepEqual({ total: response.total, totalCapped: response.totalCapped }, expected);
        assert.deepEqual(
          response.data.map(({ id }) => id),
          rows.slice((page - 1) * 10, page * 10).map(({ id }) => id),
        );
      }
      assert.ok((await blocksRead(filter)) < blocksMax);
    });
  }

  if (eventCount >= 5_000_000)
    test(`responds within ${requestMsMax} ms whatever the filter`, async () => {
      for (const filter of filters) {
        const times: number[] = [];
        for (let round = 0; round < 5; round += 1) {
          const startedMs = performance.now();
          await till.get(`/webhook-events?${new URLSearchParams({ ...filter })}`);
          times.push(performance.now() - startedMs);
        }
        const median = times.toSorted((a, b) => a - b)[2] ?? 0;
        assert.ok(median < requestMsMax, `${JSON.stringify(filter)} took ${median} ms`);
      }
    });

  test('on the command line says that there are more than it counts', async () => {
    const environment = {
      DATABASE_URL: till.databaseUrl,
      PROCESSOR_SECRET_KEY: 'sk_test_list',
      PROCESSOR_API_BASE: 'http://127.0.0.1:1',
      PROCESSOR_WEBHOOK_SECRET: 'whsec_list',
    };
    const list = async (...args: readonly string[]) => (await runTill(environment, 'events', ...args)).stdout;
    assert.match(await list(), /^10000 or more in total$/m);
    assert.match(await list('--type', 'old.type'), /^50 in total$/m);
  });
});

/** The most that one statement of the list reads of tables and indexes. */
async function blocksRead({ state, type, objectId }: Filter): Promise<number> {
  let most = 0;
  await listEvents(
    {
      query: async <Row extends pg.QueryResultRow>(text: string, values: readonly unknown[] = []) => {
        const explained = await client.query(`explain (analyze, buffers, format json) ${text}`, [...values]);
        const plan = explained.rows[0]['QUERY PLAN'][0].Plan;
        most = Math.max(most, plan['Shared Hit Blocks'] + plan['Shared Read Blocks']);
        return (await client.query<Row>(text, [...values])).rows;
      },
    },
    { state, type, objectId },
    { page: 1, limit: 20 },
  );
  return most;
}
