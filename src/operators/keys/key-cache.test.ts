import assert from 'node:assert/strict';
import { hash, randomBytes } from 'node:crypto';
import { test } from 'node:test';
import { Failure } from '#core/errors.ts';
import { secretBytes, writeKey } from '#core/model/api-key.ts';
import { newId } from '#core/platform/id.ts';
import { createLogger } from '#core/platform/logger.ts';
import { Database } from '#core/platform/postgres.ts';
import { KeyCache } from './key-cache.ts';
import type { ValidKey } from './key-store.ts';

const startMs = Date.parse('2026-11-15T10:00:30Z');

function createKey(values: Partial<ValidKey> = {}) {
  const id = newId(new Date(startMs));
  const key = writeKey(id, randomBytes(secretBytes));
  const digest = Buffer.from(hash('sha256', key, 'hex'), 'hex');
  return {
    key,
    row: { id, name: 'shop', scopes: ['write'], expiresAt: null, digest, ...values } as ValidKey,
  };
}

/** A cache over a table that the test changes and breaks, with the test's own time. */
function setUp(...rows: readonly ValidKey[]) {
  const table = {
    rows,
    reads: 0,
    isDown: false,
    uses: [] as [string, string][],
    firstUses: [] as [string, number | undefined][],
    beforeAnswer: async () => {},
  };
  const time = { ms: 0 };
  const cache = new KeyCache({
    // Never used: the store below does not pass it on.
    database: new Database({ url: 'postgres://unused', poolSize: 1, logger: createLogger('silent') }),
    store: {
      listValid: async () => {
        table.reads += 1;
        const read = table.rows;
        await table.beforeAnswer();
        if (table.isDown) throw new Failure('database_unavailable', 'The database is unavailable.');
        return read;
      },
    },
    recordUses: async (uses, firstUses) => {
      table.uses.push(...[...uses].map(([id, at]): [string, string] => [id, at.toISOString()]));
      for (const [id, { use }] of firstUses) if (uses.has(id)) table.firstUses.push([id, use.outcome()]);
    },
    clock: { now: () => new Date(startMs + time.ms) },
    elapsedMs: () => time.ms,
  });
  return { table, time, cache };
}

const use = { address: '192.0.2.7', requestId: 'request', outcome: () => 200 };

test('neither a known API key nor a wrong secret needs a query', async () => {
  const { key, row } = createKey();
  const { table, cache } = setUp(row);
  assert.equal((await cache.find(key, use))?.name, 'shop');
  for (let request = 0; request < 100; request += 1)
    assert.partialDeepStrictEqual(cache.find(key, use), {
      name: 'shop',
      application: 'shop',
      scopes: ['write'],
    });
  assert.equal(cache.find(writeKey(row.id, randomBytes(secretBytes)), use), undefined);
  assert.equal(cache.find('a key from the environment', use), undefined);
  assert.equal(table.reads, 1);
});

test('requests with unknown API keys share their queries, and a new key works at once', async () => {
  const { table, time, cache } = setUp();
  await cache.refresh();
  const { key, row } = createKey();
  table.rows = [row];
  time.ms += 1_000;
  const found = await Promise.all([
    cache.find(key, use),
    ...Array.from({ length: 99 }, () => cache.find(createKey().key, use)),
  ]);
  assert.deepEqual(
    found.map((caller) => caller?.name),
    ['shop', ...Array.from({ length: 99 }, () => undefined)],
  );
  assert.equal(table.reads, 2);
});

test('without the database, an API key is trusted for four seconds, and then requests fail', async () => {
  const { key, row } = createKey();
  const { table, time, cache } = setUp(row);
  await cache.refresh();
  table.isDown = true;
  time.ms += 3_999;
  assert.equal((await cache.find(key, use))?.name, 'shop');
  await assert.rejects(cache.refresh(), { code: 'database_unavailable' });
  time.ms += 1;
  await assert.rejects(async () => cache.find(key, use), { code: 'database_unavailable' });
  table.isDown = false;
  table.rows = [];
  time.ms += 1_000;
  assert.equal(await cache.find(key, use), undefined);
});

test('the result of a slow query is not trusted', async () => {
  const { key, row } = createKey();
  const { table, time, cache } = setUp(row);
  table.beforeAnswer = async () => {
    time.ms += 4_000;
  };
  await assert.rejects(async () => cache.find(key, use), { code: 'database_unavailable' });
});

test('a revoked API key is refused at once, even if a query that began before still returns it', async () => {
  const { key, row } = createKey();
  const { table, time, cache } = setUp(row);
  await cache.refresh();
  const caller = await cache.find(key, use);
  assert.equal(caller?.isValid(), true);
  const answered = Promise.withResolvers<void>();
  const asked = Promise.withResolvers<void>();
  table.beforeAnswer = () => {
    asked.resolve();
    return answered.promise;
  };
  time.ms += 1_000;
  const refreshed = cache.refresh();
  await asked.promise;
  time.ms += 1;
  cache.drop(row.id);
  assert.equal(caller.isValid(), false);
  table.rows = [];
  answered.resolve();
  await refreshed;
  time.ms += 1_000;
  assert.equal(await cache.find(key, use), undefined);
});

test('an API key expires at its time, without another query', async () => {
  const { key, row } = createKey({ expiresAt: new Date(startMs + 1_000) });
  const { table, time, cache } = setUp(row);
  await cache.refresh();
  time.ms = 999;
  const caller = await cache.find(key, use);
  assert.equal(caller?.isValid(), true);
  time.ms = 1_000;
  assert.equal(caller.isValid(), false);
  assert.equal(await cache.find(key, use), undefined);
  assert.equal(table.reads, 1);
});

test('uses are written to the minute, once for each', async () => {
  const { key, row } = createKey();
  const { table, time, cache } = setUp(row);
  for (const ms of [0, 1_000, 2_000, 30_000, 31_000]) {
    time.ms = ms;
    await cache.find(key, use);
    await cache.writeUses();
  }
  assert.deepEqual(table.uses, [
    [row.id, '2026-11-15T10:00:00.000Z'],
    [row.id, '2026-11-15T10:01:00.000Z'],
  ]);
});

test('only the first use of an API key is reported with its request, once it has its response', async () => {
  const { row, key } = createKey();
  const { table, cache } = setUp({ ...row, isUnused: true });
  let outcome: number | undefined;
  await cache.find(key, { ...use, outcome: () => outcome });
  await cache.find(key, { ...use, requestId: 'second' });
  await cache.writeUses();
  assert.deepEqual([table.uses, table.firstUses], [[], []]);
  outcome = 403;
  await cache.writeUses();
  await cache.writeUses();
  assert.deepEqual(table.firstUses, [[row.id, 403]]);
  assert.equal(table.uses.length, 1);
  const used = setUp({ ...row, isUnused: false });
  await used.cache.find(key, use);
  await used.cache.writeUses();
  assert.deepEqual(used.table.firstUses, []);
});
