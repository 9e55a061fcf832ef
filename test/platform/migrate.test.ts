import assert from 'node:assert/strict';
import { mkdtemp, readdir, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { setImmediate } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import pg from 'pg';
import { migrate } from '#core/platform/migrate.ts';
import { captureLog } from '../support/log-capture.ts';
import { createTestDatabase } from '../support/test-database.ts';

const realFolder = fileURLToPath(new URL('../../migrations', import.meta.url));

async function setUp(t: TestContext) {
  const database = await createTestDatabase('empty');
  const folder = await mkdtemp(join(tmpdir(), 'till-migrations-'));
  const { logger, lines } = captureLog();
  const client = new pg.Client({ connectionString: database.url });
  await client.connect();
  t.after(async () => {
    await client.end();
    await database.drop();
    await rm(folder, { recursive: true });
  });
  const names = async () => {
    const { rows } = await client.query('select name from till.migrations order by name');
    return rows.map((row) => row.name);
  };
  return { url: database.url, folder, logger, lines, client, names };
}

test('ten processes that start at once apply each migration once', async (t) => {
  const { url, folder, logger, lines, names } = await setUp(t);
  await writeFile(join(folder, '0001_first.sql'), 'create table till.a (id int); select pg_sleep(0.2);');
  await writeFile(join(folder, '0002_second.sql'), 'alter table till.a add column b int;');
  await Promise.all(Array.from({ length: 10 }, () => migrate({ url, folder, logger })));
  assert.deepEqual(await names(), ['0001_first.sql', '0002_second.sql']);
  assert.equal(lines.filter((line) => line.msg === 'migration applied').length, 2);
});

test('a migration that fails leaves nothing behind and is retried at the next start', async (t) => {
  const { url, folder, logger, client, names } = await setUp(t);
  await writeFile(join(folder, '0001_first.sql'), 'create table till.a (id int);');
  await writeFile(join(folder, '0002_broken.sql'), 'create table till.b (id int); select 1 / 0;');
  await assert.rejects(migrate({ url, folder, logger }), /division by zero/);
  assert.deepEqual(await names(), ['0001_first.sql']);
  assert.equal((await client.query(`select to_regclass('till.b') as b`)).rows[0].b, null);
  await writeFile(join(folder, '0002_broken.sql'), 'create table till.b (id int);');
  await migrate({ url, folder, logger });
  assert.deepEqual(await names(), ['0001_first.sql', '0002_broken.sql']);
});

test('a migration that waits too long for a lock is retried', async (t) => {
  const { url, folder, logger, lines, client, names } = await setUp(t);
  await client.query('create schema till; create table till.a (id int)');
  await writeFile(
    join(folder, '0001_first.sql'),
    `set local lock_timeout = '20ms'; alter table till.a add column b int;`,
  );
  await client.query('begin');
  await client.query('lock table till.a in access share mode');
  const migrated = migrate({ url, folder, logger });
  const hasYielded = () => lines.some((line) => line.msg === 'migration blocked; retry scheduled');
  while (!hasYielded()) await Promise.race([setImmediate(), migrated]);
  await client.query('commit');
  await migrated;
  assert.deepEqual(await names(), ['0001_first.sql']);
});

test('a migration that was changed after it landed is refused', async (t) => {
  const { url, folder, logger } = await setUp(t);
  await writeFile(join(folder, '0001_first.sql'), 'create table till.a (id int);');
  await migrate({ url, folder, logger });
  await writeFile(join(folder, '0001_first.sql'), 'create table till.a (id bigint);');
  await assert.rejects(migrate({ url, folder, logger }), /0001_first\.sql changed after it was applied/);
});

test('a database that is newer than the code is warned about and left alone', async (t) => {
  const { url, folder, logger, lines, names } = await setUp(t);
  await writeFile(join(folder, '0001_first.sql'), 'create table till.a (id int);');
  await writeFile(join(folder, '0002_second.sql'), 'create table till.b (id int);');
  await migrate({ url, folder, logger });
  await rm(join(folder, '0002_second.sql'));
  await migrate({ url, folder, logger });
  assert.deepEqual(await names(), ['0001_first.sql', '0002_second.sql']);
  assert.ok(lines.some((line) => line.msg === 'database schema newer than this release'));
});

test('the migrations of this release are numbered without gaps and apply to an empty database', async (t) => {
  const { url, logger, names } = await setUp(t);
  await migrate({ url, folder: realFolder, logger });
  const files = (await readdir(realFolder)).sort();
  assert.deepEqual(await names(), files);
  assert.deepEqual(
    files.map((name) => Number(name.slice(0, 4))),
    files.map((_, index) => index + 1),
  );
});
