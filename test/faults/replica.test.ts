/**
 * Lists, searches, exports and the overview from a streaming replica: callers see what they wrote and what they have
 * seen, at every process, whatever happens to the replica.
 */
import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { type TestContext, test } from 'node:test';
import { setTimeout } from 'node:timers/promises';
import { Till } from '@till/client';
import pg from 'pg';
import { startBackend } from '../support/backend.ts';
import { type Client, readSuccess, testKey } from '../support/client.ts';
import { callConsole, openSession } from '../support/console-session.ts';
import { parseCsv } from '../support/csv.ts';
import { effort } from '../support/effort.ts';
import { createCustomer, createPayment } from '../support/objects.ts';
import { startTill } from '../support/till.ts';
import { backendEnvironment, type TillInChild } from '../support/till-in-child.ts';
import { until } from '../support/until.ts';
import { promote, startStreamingPair } from './rig/postgres-copy.ts';
import type { PostgresServer } from './rig/postgres-server.ts';

const callers = effort({ short: 8, long: 24 });
const writesPerCaller = effort({ short: 5, long: 40 });
/** Between two changes of the replay, while callers write and read. */
const pauseMs = 150;
/** Long enough that a busy machine does not change the result. */
const patientLagSeconds = 600;

interface PageBody {
  readonly data: readonly { readonly id: string; readonly email: string }[];
  readonly total: number;
  readonly nextCursor: string | null;
}

/** A response of the API with its position. */
interface Positioned<Body> {
  readonly body: Body;
  readonly position: string;
}

async function readPositioned<Body>(response: Response): Promise<Positioned<Body>> {
  const position = response.headers.get('x-till-position') ?? '';
  const body = await readSuccess<Body>(response);
  assert.match(position, /^[0-9a-f]{14}-[0-9a-f]{16}$/);
  return { body, position };
}

function list(till: Pick<Client, 'call'>, path: string, position?: string): Promise<Response> {
  return till.call('GET', path, undefined, position === undefined ? {} : { 'x-till-position': position });
}

/** The sum of a counter over the labels that match. */
async function count(till: TillInChild, metric: string, labels = ''): Promise<number> {
  const text = await (await till.fetch('/metrics')).text();
  const lines = text.split('\n').filter((line) => line.startsWith(metric) && line.includes(labels));
  return lines.reduce((sum, line) => sum + Number(line.split(' ').at(-1)), 0);
}

const fromReplica = (till: TillInChild) => count(till, 'database_reads_total', 'target="replica"');
const fallbacks = (till: TillInChild, reason = '') => count(till, 'replica_fallbacks_total', reason);

/** How many reads the replica served meanwhile. */
async function servedByReplica(till: TillInChild, work: () => Promise<unknown>): Promise<number> {
  const before = await fromReplica(till);
  await work();
  return (await fromReplica(till)) - before;
}

async function startPair(t: TestContext) {
  const { primary, standby } = await startStreamingPair();
  t.after(() => primary.remove());
  t.after(() => standby.remove());
  const backend = await startBackend(t, { databaseUrl: primary.url });
  const startOne = (environment: Readonly<Record<string, string>> = {}) =>
    startTill({
      in: 'child',
      on: backend,
      environment: {
        ...backendEnvironment(backend),
        DATABASE_REPLICA_URL: standby.url,
        REPLICA_LAG_SECONDS_MAX: String(patientLagSeconds),
        ...environment,
      },
    });
  return { primary, standby, backend, startOne, replay: replayOf(t, standby) };
}

/** What a test does with the replay of the log on a standby. */
function replayOf(t: TestContext, standby: PostgresServer) {
  const pool = new pg.Pool({ connectionString: standby.url, max: 1 });
  pool.on('error', () => {});
  t.after(() => pool.end());
  const ask = async <Row extends pg.QueryResultRow>(text: string, values: readonly unknown[] = []) =>
    (await pool.query<Row>(text, [...values])).rows;
  return {
    /** Resolves once nothing more is replayed. */
    pause: async () => {
      await ask('select pg_wal_replay_pause()');
      await until(async () => {
        const [row] = await ask<{ state: string }>('select pg_get_wal_replay_pause_state() as state');
        return row?.state === 'paused';
      });
    },
    resume: () => ask('select pg_wal_replay_resume()'),
    /** Resolves once the standby has replayed a position of a response. */
    reached: async (position: string) => {
      const lsn = BigInt(`0x${position.split('-')[1]}`);
      await until(async () => {
        const [row] = await ask<{ lsn: string }>(
          `select (pg_last_wal_replay_lsn() - '0/0'::pg_lsn)::text as lsn`,
        );
        return BigInt(row?.lsn ?? 0) >= lsn;
      });
    },
  };
}

/** Resolves once the process serves a list from the replica. Every response on the way is right too. */
async function untilUsed(till: TillInChild, position: string): Promise<void> {
  const before = await fromReplica(till);
  await until(async () => {
    await readPositioned(await list(till, '/customers?limit=1', position));
    return (await fromReplica(till)) > before;
  });
}

async function write(till: TillInChild, email = `${randomUUID()}@example.com`) {
  const response = await till.call('POST', '/customers', { email });
  const { body, position } = await readPositioned<{ readonly id: string }>(response);
  return { email, position, id: body.id };
}

const sees = async (till: TillInChild, email: string, position?: string): Promise<boolean> => {
  const response = await list(till, `/customers?email=${encodeURIComponent(email)}`, position);
  return (await readPositioned<PageBody>(response)).body.data.length === 1;
};

test('a replica serves reads, and callers see what they wrote and what they have seen', async (t) => {
  const { startOne, replay, backend } = await startPair(t);
  const tills = [await startOne(), await startOne()] as const;
  const [till] = tills;
  const customer = await createCustomer(till);
  await createPayment(till, { customerId: customer.id });
  const { position } = await write(till);
  for (const one of tills) await untilUsed(one, position);
  await replay.reached(position);

  await t.test('lists, searches, exports and the overview, if the request has a position', async () => {
    for (const path of [
      '/customers',
      '/payments?include=customer',
      '/refunds',
      '/subscriptions',
      '/invoices',
      '/checkouts',
      '/plans',
      '/search?q=ada@example.com',
      '/overview',
      '/webhook-events',
    ]) {
      const served = await servedByReplica(till, async () => {
        const response = await list(till, path, position);
        const { position: next } = await readPositioned(response);
        assert.ok(next >= position, 'positions do not go back');
      });
      assert.ok(served > 0, path);
      const plain = () => list(till, path).then(readPositioned);
      assert.equal(await servedByReplica(till, plain), 0, `${path} without a position`);
    }
  });

  await t.test('not an object by its id, entitlements, events and other lists', async () => {
    for (const path of [
      `/customers/${customer.id}`,
      `/customers/${customer.id}/entitlements`,
      '/events',
      '/attention',
      '/audit-log',
      '/api-keys',
      '/event-endpoints',
    ]) {
      const read = async () => readPositioned(await list(till, path, position));
      assert.equal(await servedByReplica(till, read), 0, path);
    }
    assert.equal(await fallbacks(till, 'reason="failed"'), 0);
  });

  await t.test('a malformed position is refused, and an unknown or lost one reads the primary', async () => {
    for (const malformed of ['', 'a b', 'ä'.repeat(3), 'x'.repeat(65), `${position}, ${position}`]) {
      const response = await list(till, '/customers', encodeURI(malformed).replace('%20', ' '));
      assert.equal(response.status, 400, malformed);
      const problem = (await response.json()) as { code: string; errors: { path: string }[] };
      assert.deepEqual(
        [problem.code, problem.errors[0]?.path],
        ['invalid_request', 'headers.x-till-position'],
      );
      assert.equal(response.headers.get('x-till-position'), null);
    }
    const before = await fallbacks(till, 'reason="history"');
    const otherHistory = `${'0'.repeat(14)}${position.slice(14)}`;
    for (const unknown of ['v2_position-of-a-later-release', otherHistory]) {
      const read = async () => readPositioned(await list(till, '/customers', unknown));
      assert.equal(await servedByReplica(till, read), 0, unknown);
    }
    assert.equal((await fallbacks(till, 'reason="history"')) - before, 1);
  });

  await t.test('the console, through its own path', async () => {
    const cookie = await openSession(till.url);
    const served = await servedByReplica(till, async () => {
      const headers = { 'x-till-position': position };
      await readPositioned(await callConsole(till.url, '/api/v1/customers', cookie, { headers }));
    });
    assert.equal(served, 1);
  });

  const plain = await startTill({ in: 'process', on: backend });

  await t.test('a Till without a replica sends no position, and takes one', async () => {
    const headers = { 'x-till-position': position };
    for (const response of [
      await plain.call('GET', '/customers', undefined, headers),
      await plain.call('POST', '/customers', { email: 'plain@example.com' }),
    ])
      assert.deepEqual([response.ok, response.headers.get('x-till-position')], [true, null]);
    assert.equal(await plain.count('database_reads_total'), 0);
  });

  await t.test('the next page needs no header to be served by the replica', async () => {
    const written = [];
    for (let index = 0; index < 5; index += 1) written.push(await write(till));
    const ids = written.map(({ id }) => id).toReversed();
    const seen: string[] = [];
    let cursor: string | null = null;
    for (let page = 0; page < 2; page += 1) {
      const path: string = `/customers?limit=2${cursor === null ? '' : `&cursor=${cursor}`}`;
      const served = await servedByReplica(till, async () => {
        const { body, position: shown } = await readPositioned<PageBody>(await list(till, path));
        seen.push(...body.data.map(({ id }) => id));
        cursor = body.nextCursor;
        if (page === 0) {
          assert.equal(cursor?.split('.')[1], shown);
          await replay.reached(shown);
        }
      });
      assert.equal(served, page === 0 ? 0 : 1, `page ${page}`);
    }
    assert.deepEqual(seen, ids.slice(0, 4));
  });

  await t.test('a page whose position the replica has not reached comes from the primary', async () => {
    await replay.pause();
    const [before, newest] = [await write(till), await write(till)];
    const first = await readPositioned<PageBody>(await list(till, '/customers?limit=1'));
    assert.equal(first.body.data[0]?.id, newest.id);
    // The header alone would let the replica serve it.
    const path = `/customers?limit=1&cursor=${first.body.nextCursor}`;
    const fallbacksBefore = await fallbacks(till, 'reason="position"');
    const next = await readPositioned<PageBody>(await list(till, path, position));
    assert.equal(next.body.data[0]?.id, before.id);
    assert.equal((await fallbacks(till, 'reason="position"')) - fallbacksBefore, 1);
    await replay.resume();
  });

  await t.test('it is valid at a Till without a replica, and refused if it was changed', async () => {
    const { body } = await readPositioned<PageBody>(await list(till, '/customers?limit=1'));
    const [bare, mark] = body.nextCursor?.split('.') ?? [];
    for (const cursor of [body.nextCursor, bare])
      assert.equal((await list(plain, `/customers?limit=1&cursor=${cursor}`)).status, 200);
    for (const process of [plain, till])
      for (const cursor of [
        `${bare}.`,
        `${bare}.x`,
        `${bare}.${mark}0`,
        `.${mark}`,
        `${bare}.${mark}.${mark}`,
      ])
        assert.equal((await list(process, `/customers?cursor=${cursor}`)).status, 400, cursor);
  });

  await t.test('the pages of an export follow its first one', async () => {
    const added = 1_100;
    const { total } = (await readPositioned<PageBody>(await list(till, '/customers?limit=1'))).body;
    await backend.sql(
      `insert into till.customers (id, processor_customer_id, email, processor_as_of, processor_as_of_latest,
         created_at, updated_at)
       select gen_random_uuid(), 'cus_' || n, n || '@example.com', now(), now(), now(), now()
       from generate_series(1, $1) n`,
      [added],
    );
    const response = await till.fetch('/api/v1/customers', { headers: { accept: 'text/csv' } });
    assert.match(response.headers.get('x-till-position') ?? '', /-/);
    const rows = parseCsv(await response.text());
    assert.equal(new Set(rows.map(([id]) => id)).size, rows.length);
    assert.equal(rows.length, 1 + total + added);
  });

  await t.test('the client sends the newest position by itself', async () => {
    const positions: string[] = [];
    const client = new Till({
      url: till.url,
      apiKey: testKey,
      fetch: async (input, init) => {
        const response = await fetch(input, init);
        positions.push(response.headers.get('x-till-position') ?? '');
        return response;
      },
    });
    const { id } = await client.customers.create({ email: 'client@example.com' });
    await replay.reached(positions.at(-1) ?? '');
    const read = async () => {
      const { data } = await client.customers.list({ email: 'client@example.com' }).page();
      assert.deepEqual(
        data.map((customer) => customer.id),
        [id],
      );
    };
    assert.equal(await servedByReplica(till, read), 1);
    // The response to the update has a position that the replica does not reach.
    await replay.pause();
    await client.customers.update(id, { name: 'Ada' });
    const { data } = await client.customers.list({ email: 'client@example.com' }).page();
    assert.equal(data[0]?.name, 'Ada');
    await replay.resume();
  });

  await t.test('callers at both processes, while the replay pauses and resumes', async (step) => {
    let isDone = false;
    const toggling = (async () => {
      while (!isDone) {
        await replay.pause();
        await setTimeout(pauseMs);
        await replay.resume();
        await setTimeout(pauseMs);
      }
    })();
    const before = (await fromReplica(tills[0])) + (await fromReplica(tills[1]));
    await Promise.all(
      Array.from({ length: callers }, async (_, caller) => {
        for (let round = 0; round < writesPerCaller; round += 1) {
          const [one, other] = (caller + round) % 2 === 0 ? tills : ([tills[1], tills[0]] as const);
          const { email, position } = await write(one);
          assert.ok(await sees(other, email, position), 'with its position, at the other process');
          assert.ok(await sees(other, email), 'without a position');
        }
      }),
    );
    isDone = true;
    await toggling;
    const after = (await fromReplica(tills[0])) + (await fromReplica(tills[1]));
    step.diagnostic(`${after - before} of ${callers * writesPerCaller} reads with a position by the replica`);
    assert.ok(after > before);
  });
});

test('the primary serves what a replica cannot: behind, stopped, promoted', async (t) => {
  const { primary, standby, startOne, replay } = await startPair(t);
  const till = await startOne({ REPLICA_LAG_SECONDS_MAX: '1' });
  const old = await write(till);
  await untilUsed(till, old.position);

  await t.test('a replica that lags more than the limit is not used, even for an old position', async () => {
    await replay.pause();
    const newer = await write(till);
    const before = await fallbacks(till, 'reason="lag"');
    // From some time on, the primary serves it. An unknown lag is a reason too, but not for long.
    const isServed = () => sees(till, newer.email, old.position);
    await until(async () => (await isServed()) && (await count(till, 'replica_lag_seconds')) > 1);
    assert.ok(await isServed());
    assert.ok((await fallbacks(till, 'reason="lag"')) > before);
    await replay.resume();
    await untilUsed(till, newer.position);
  });

  await t.test('a stopped replica costs nothing, and is used again after its start', async () => {
    await standby.stop('fast');
    const before = await fallbacks(till, 'reason="unavailable"');
    for (let round = 0; round < 5; round += 1) {
      const { email, position } = await write(till);
      assert.ok(await sees(till, email, position));
    }
    assert.ok((await fallbacks(till, 'reason="unavailable"')) > before);
    await standby.start();
    await untilUsed(till, (await write(till)).position);
  });

  await t.test('a replica that hangs delays requests by a bounded time', async () => {
    standby.freeze();
    const { email, position } = await write(till);
    assert.ok(await sees(till, email, position));
    standby.thaw();
    await untilUsed(till, position);
  });

  await t.test('a promoted replica is not read: it no longer follows the primary', async () => {
    await promote(standby);
    const { email, position } = await write(till);
    const served = await servedByReplica(till, async () => {
      assert.ok(await sees(till, email, position));
      assert.ok(await sees(till, email, old.position));
    });
    assert.equal(served, 0);
  });

  await t.test('after a restart of the primary, older positions read the primary', async () => {
    await primary.stop('fast');
    await primary.start();
    const { email, position } = await write(till);
    assert.notEqual(position.split('-')[0], old.position.split('-')[0], 'another history');
    assert.ok(await sees(till, email, old.position));
  });
});
