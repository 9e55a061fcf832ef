import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import {
  appendFileSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { setTimeout } from 'node:timers/promises';
import pg from 'pg';
import { backUp } from '../../src/backup/backup.ts';
import { type RestoreOptions, restore } from '../../src/backup/restore.ts';
import { type EmbeddedPostgres, startEmbeddedPostgres } from '../../src/platform/embedded-postgres.ts';
import { listMigrations, migrate } from '../../src/platform/migrate.ts';
import { createRandom } from '../../src/seed/random.ts';
import { copyCluster } from '../support/cluster-template.ts';
import { effort } from '../support/effort.ts';
import { silentLogger } from '../support/log-capture.ts';
import { runTill } from '../support/run-till.ts';
import { seedOf } from '../support/seeds.ts';
import { projectFolder } from '../support/till-in-child.ts';

const logger = silentLogger;
const { signal } = new AbortController();
const migrationsFolder = join(projectFolder, 'migrations');
const scratch = mkdtempSync(join(tmpdir(), 'till-backup-'));
const dataDir = join(scratch, 'data');
const backup = join(scratch, 'backup');
/** Of a backup, and of a restore. */
const kills = effort({ short: 1, long: 30 });

/** Between two writes. Without it, the writer takes the time of the backup. */
const writeDelayMs = 2;

/** What the tests of this file share: a database with rows, and a backup that was taken while rows were written. */
let acknowledged = 0;

before(async () => {
  copyCluster(dataDir);
  mkdirSync(join(dataDir, 'sandbox'));
  writeFileSync(join(dataDir, 'sandbox/journal.jsonl'), '{"at":1}\n');
});
after(() => rmSync(scratch, { recursive: true, force: true, maxRetries: 10 }));

async function withServer<T>(dir: string, work: (server: EmbeddedPostgres) => Promise<T>): Promise<T> {
  const server = await startEmbeddedPostgres({ dataDir: dir, logger, settings: { fsync: 'off' } });
  try {
    return await work(server);
  } finally {
    await server.stop();
  }
}

async function query(url: string, sql: string): Promise<Record<string, unknown>[]> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  try {
    return (await client.query(sql)).rows;
  } finally {
    await client.end();
  }
}

/** Writes to two tables in each transaction, until it is stopped. */
async function startWriter(url: string) {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  let isStopped = false;
  const { rows } = await client.query('select coalesce(max(n), 0) as last from a');
  const state: { acknowledged: number } = { acknowledged: rows[0].last };
  const write = async () => {
    while (!isStopped) {
      const n = state.acknowledged + 1;
      await client.query(
        `with a as (insert into a values (${n}, repeat('x', 3000))) insert into b values (${n})`,
      );
      state.acknowledged = n;
      if (n % 200 === 0) await client.query('checkpoint');
      await setTimeout(writeDelayMs);
    }
  };
  const writing = write();
  return {
    state,
    stop: async () => {
      isStopped = true;
      await writing;
      await client.end();
    },
  };
}

const restoring = (dir: string, more: Partial<RestoreOptions> = {}) =>
  restore({
    dataDir: dir,
    backup,
    replace: false,
    sandbox: 'missing',
    logger,
    signal,
    ...more,
  });

const backingUp = (more: object = {}) =>
  backUp({ dataDir, target: backup, hasSandbox: true, logger, signal, ...more });

test('a backup during writes has everything that was acknowledged before it began, and is consistent', async () => {
  await withServer(dataDir, async ({ url }) => {
    await migrate({ url, folder: migrationsFolder, logger });
    await query(url, 'create table a (n int primary key, filler text); create table b (n int primary key)');
    const writer = await startWriter(url);
    while (writer.state.acknowledged < 100) await setTimeout(5);
    acknowledged = writer.state.acknowledged;
    const manifest = await backingUp();
    await writer.stop();
    assert.ok(writer.state.acknowledged > acknowledged, 'the writer wrote during the backup');
    assert.equal(manifest.hasSandbox, true);
    await assert.rejects(restoring(dataDir, { replace: true }), /is in use by another running service/);
  });
  const restored = join(scratch, 'restored');
  const { code, stdout } = await runTill({ DATA_DIR: restored }, 'restore', backup, '--json');
  const { isNew, aside, hasSandbox } = JSON.parse(stdout);
  assert.deepEqual([code, isNew, aside, hasSandbox], [0, true, [], true]);
  assert.equal(readFileSync(join(restored, 'sandbox/journal.jsonl'), 'utf8'), '{"at":1}\n');
  await withServer(restored, async ({ url }) => assertWhole(url));
});

async function assertWhole(url: string): Promise<void> {
  const [counts] = await query(
    url,
    `select (select count(*) from a)::int as a, (select count(*) from b)::int as b, (select max(n) from a) as last,
       (select count(*) from till.migrations)::int as migrations`,
  );
  assert.ok(
    counts !== undefined && Number(counts['last']) >= acknowledged,
    `${counts?.['last']} of ${acknowledged}`,
  );
  assert.deepEqual([counts['a'], counts['b']], [counts['last'], counts['last']]);
  assert.equal(counts['migrations'], (await listMigrations(migrationsFolder)).length);
}

test('only the owner can read a backup', () => {
  for (const path of ['', 'manifest.json', 'cluster/password', 'cluster/data', 'sandbox/journal.jsonl'])
    assert.equal(statSync(join(backup, path)).mode & 0o077, 0, path);
});

test('a backup never overwrites anything, and lies outside the data directory', async () => {
  await assert.rejects(backingUp(), /exists already/);
  await assert.rejects(backingUp({ target: join(dataDir, 'backup') }), /outside the data directory/);
  await assert.rejects(backingUp({ target: join(scratch, 'missing/backup') }), /does not exist/);
  await assert.rejects(backingUp({ target: join(backup, 'manifest.json/b') }), /is not a folder/);
  await assert.rejects(backingUp({ dataDir: scratch, target: join(scratch, 'b') }), /no embedded database/);
  assert.deepEqual(readdirSync(scratch).sort(), ['backup', 'data', 'restored']);
});

test('the commands refuse a database of the operator, and name the documentation', async () => {
  for (const command of ['backup', 'restore']) {
    const environment = { DATABASE_URL: 'postgresql://127.0.0.1:1/none' };
    const { code, stdout, stderr } = await runTill(environment, command, join(scratch, 'other'));
    assert.deepEqual([code, stdout], [1, '']);
    assert.match(stderr, /^till: DATABASE_URL is set.*docs\/backup-and-restore\.md\.\n$/);
  }
});

test('an existing database and the data of the sandbox move aside, and only on request', async () => {
  const refused = await runTill({ DATA_DIR: dataDir }, 'restore', backup);
  assert.match(refused.stderr, /^till: .* has a database already\. With --replace/);
  assert.deepEqual((await restoring(dataDir, { replace: true })).aside.length, 1);
  assert.equal((await restoring(dataDir, { replace: true })).isNew, false);
  // It has the database of this backup, but not the sandbox.
  const { aside } = await restoring(dataDir, { replace: true, sandbox: 'replace' });
  assert.deepEqual(
    aside.map((path) => existsSync(path)),
    [true, true],
  );
  assert.equal((await restoring(dataDir, { replace: true, sandbox: 'replace' })).isNew, false);
});

test('a backup that is damaged, or of another version, changes nothing', async () => {
  const dir = join(scratch, 'untouched');
  const manifestPath = join(backup, 'manifest.json');
  const manifest = readFileSync(manifestPath, 'utf8');
  const change = (field: string, value: string) =>
    writeFileSync(manifestPath, JSON.stringify({ ...JSON.parse(manifest), [field]: value }));
  change('postgresMajorVersion', '17');
  await assert.rejects(restoring(dir), /is of PostgreSQL 17, and this is PostgreSQL 18/);
  change('schemaVersion', '9999_later.sql');
  await assert.rejects(restoring(dir), /schema 9999_later\.sql of a newer release/);
  writeFileSync(manifestPath, manifest);
  const file = join(backup, 'cluster/data/postgresql.conf');
  const text = readFileSync(file);
  appendFileSync(file, '#');
  await assert.rejects(restoring(dir), /cluster\/data\/postgresql\.conf has changed since/);
  writeFileSync(file, text);
  for (const other of [scratch, manifestPath])
    await assert.rejects(restoring(dir, { backup: other }), /is not a backup of till/);
  assert.deepEqual(
    readdirSync(join(dir, 'postgres')).filter((name) => name.startsWith('cluster')),
    [],
  );
});

/** Runs a backup or a restore in a process of its own. Kills it after this time, counted from when it begins. */
async function runAndKill(
  command: 'backup' | 'restore',
  args: readonly string[],
  killAfterMs: number,
): Promise<void> {
  const script = join(projectFolder, 'test/support/backup-process.ts');
  const child = spawn(process.execPath, [script, command, ...args], { stdio: ['ignore', 'pipe', 'inherit'] });
  const exited = once(child, 'exit');
  await once(child.stdout, 'data');
  await Promise.race([setTimeout(killAfterMs), exited]);
  child.kill('SIGKILL');
  await exited;
}

async function measureMs(work: () => Promise<unknown>): Promise<number> {
  const begunMs = performance.now();
  await work();
  return performance.now() - begunMs;
}

test('a backup and a restore that are killed at any moment can be repeated', async () => {
  const random = createRandom(seedOf('FAULT'));
  const another = join(scratch, 'another');
  const target = join(scratch, 'killed');
  await withServer(dataDir, async ({ url }) => {
    const writer = await startWriter(url);
    const takesMs = await measureMs(() => backingUp({ target: join(scratch, 'measured') }));
    for (let kill = 0; kill < kills; kill += 1) {
      await runAndKill('backup', [dataDir, another], takesMs * random());
      // It was killed after its end, or has no name yet.
      if (existsSync(another)) rmSync(another, { recursive: true });
    }
    await backingUp({ target: another });
    await writer.stop();
  });
  const replaceAll = { replace: true, sandbox: 'replace' } as const;
  const takesMs = await measureMs(() => restoring(target, replaceAll));
  for (let kill = 0; kill < kills; kill += 1)
    await runAndKill('restore', [target, another], takesMs * random());
  await restoring(target, { ...replaceAll, backup: another });
  const aside = readdirSync(join(target, 'postgres')).filter((name) => name.includes('replaced'));
  assert.equal(aside.length, 1, 'the database that was there is there once');
  await withServer(target, async ({ url }) => {
    await assertWhole(url);
    const leftovers = readdirSync(join(target, 'postgres')).filter((name) => /unfinished|pending/.test(name));
    assert.deepEqual(leftovers, []);
  });
});
