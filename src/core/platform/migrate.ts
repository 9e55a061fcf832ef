import { createHash } from 'node:crypto';
import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout } from 'node:timers/promises';
import type pg from 'pg';
import type { Logger } from './logger.ts';
import { withPrimary } from './primary-connection.ts';
import { codeOf } from './unavailable.ts';

/** The advisory lock under which one process at a time migrates ("till" in ASCII). */
const advisoryLockId = 0x74696c6c;
/** Long enough for another process to finish a slow migration, short enough that a start never hangs. */
const lockTimeoutMs = 60_000;
/**
 * How a migration can collide with a running process: in a deadlock, or by waiting too long for a lock of that process.
 */
const collisionCodes = ['40P01', '55P03'];
/** With up to five seconds of waiting for a lock per attempt, less than a minute. */
const attemptsMax = 10;
const retryDelayMs = 200;
const fileNamePattern = /^\d{4}_[a-z0-9_]+\.sql$/;

interface MigrateOptions {
  readonly url: string;
  /** The folder of the migrations. */
  readonly folder: string;
  readonly logger: Logger;
}

interface Migration {
  readonly name: string;
  readonly sql: string;
  readonly checksum: string;
}

/**
 * Brings the database to the newest schema. Any number of processes may do so at once: each migration is one
 * transaction under a transaction-level advisory lock, which also works behind a pooler that shares sessions. A
 * database that is ahead of this code is left alone: during a rolling upgrade an older process continues to serve.
 */
export async function migrate({ url, folder, logger }: MigrateOptions): Promise<void> {
  const migrations = await readMigrations(folder);
  await withClient(url, async (client) => {
    const { missing, newer, changed } = compare(migrations, await readApplied(client));
    for (const name of changed) throw changedAfterwards(name);
    for (const migration of migrations)
      if (missing.includes(migration.name)) await applyWithRetries(client, migration, logger);
    if (newer.length > 0) logger.warn({ migrations: newer }, 'database schema newer than this release');
  });
}

/** Throws if the database lacks a migration of this release. A new database lacks all of them. Changes nothing. */
export async function requireSchema({ url, folder }: Omit<MigrateOptions, 'logger'>): Promise<void> {
  const { missing } = await withClient(url, (client) => inspectSchema(client, folder));
  if (missing.length === 0) return;
  throw new Error(
    `the database lacks ${missing.length} migrations of this release. Run "till migrate" with the DATABASE_URL of the ` +
      'role that owns the schema',
  );
}

/** The names of the migrations in the folder, in order. */
async function listMigrations(folder: string): Promise<readonly string[]> {
  return (await readdir(folder)).filter((name) => fileNamePattern.test(name)).sort();
}

/** The number of the newest migration in the folder: 18 for `0018_sandbox_resets.sql`. */
export async function schemaNumber(folder: string): Promise<number> {
  return Number.parseInt((await listMigrations(folder)).at(-1) ?? '0', 10);
}

export interface SchemaState {
  /** Migrations of this release that the database lacks. */
  readonly missing: readonly string[];
  /** Migrations of a newer release. */
  readonly newer: readonly string[];
  /** Migrations whose file changed after they were applied. */
  readonly changed: readonly string[];
}

/** Compares the database with the migrations of this release, and changes nothing. */
export async function inspectSchema(client: pg.Client, folder: string): Promise<SchemaState> {
  return compare(await readMigrations(folder), await readApplied(client));
}

function compare(migrations: readonly Migration[], applied: ReadonlyMap<string, string>): SchemaState {
  const names = migrations.map(({ name }) => name);
  return {
    missing: names.filter((name) => !applied.has(name)),
    newer: [...applied.keys()].filter((name) => !names.includes(name)),
    changed: migrations
      .filter(({ name, checksum }) => (applied.get(name) ?? checksum) !== checksum)
      .map(({ name }) => name),
  };
}

function withClient<T>(url: string, work: (client: pg.Client) => Promise<T>): Promise<T> {
  return withPrimary(url, { application_name: 'till migrate' }, work);
}

async function readMigrations(folder: string): Promise<readonly Migration[]> {
  const names = await listMigrations(folder);
  return Promise.all(
    names.map(async (name) => {
      const sql = await readFile(join(folder, name), 'utf8');
      return { name, sql, checksum: createHash('sha256').update(sql).digest('hex') };
    }),
  );
}

async function readApplied(client: pg.Client): Promise<ReadonlyMap<string, string>> {
  // Queries the catalogue directly, because `to_regclass` may use what this session cached before it waited.
  const exists = await client.query(
    `select from pg_catalog.pg_tables where schemaname = 'till' and tablename = 'migrations'`,
  );
  if (exists.rowCount === 0) return new Map();
  const { rows } = await client.query<{ name: string; checksum: string }>(
    'select name, checksum from till.migrations',
  );
  return new Map(rows.map((row) => [row.name, row.checksum]));
}

/** Retries a migration that collided. It is one transaction, so the failed attempt left nothing behind. */
async function applyWithRetries(client: pg.Client, migration: Migration, logger: Logger): Promise<void> {
  for (let attempts = 1; ; attempts += 1) {
    try {
      return await apply(client, migration, logger);
    } catch (error) {
      if (!isCollision(error) || attempts >= attemptsMax) throw error;
      logger.warn({ err: error, migration: migration.name, attempts }, 'migration blocked; retry scheduled');
      await setTimeout(retryDelayMs);
    }
  }
}

function isCollision(error: unknown): boolean {
  return collisionCodes.includes(codeOf(error) ?? '');
}

/**
 * Doesn't retry when another process holds the migration lock for too long: only this process's own migration is
 * retried.
 */
async function waitForTurn(client: pg.Client): Promise<void> {
  try {
    await client.query('select pg_advisory_xact_lock($1)', [advisoryLockId]);
  } catch (error) {
    if (!isCollision(error)) throw error;
    throw new Error('another process holds the migration lock; start again once it has finished', {
      cause: error,
    });
  }
}

async function apply(client: pg.Client, migration: Migration, logger: Logger): Promise<void> {
  await client.query('begin');
  try {
    await client.query(`set local lock_timeout = ${lockTimeoutMs}`);
    await waitForTurn(client);
    // Another process may have applied it while this one waited for the lock.
    const checksum = (await readApplied(client)).get(migration.name);
    if (checksum === undefined) {
      await client.query(`
        create schema if not exists till;
        create table if not exists till.migrations (
          name text primary key,
          checksum text not null,
          applied_at timestamptz not null default now()
        )`);
      await client.query(migration.sql);
      await client.query('insert into till.migrations (name, checksum) values ($1, $2)', [
        migration.name,
        migration.checksum,
      ]);
      logger.info({ migration: migration.name }, 'migration applied');
    } else if (checksum !== migration.checksum) {
      throw changedAfterwards(migration.name);
    }
    await client.query('commit');
  } catch (error) {
    await client.query('rollback');
    throw codeOf(error) === forbiddenCode ? notAllowed(migration.name, error) : error;
  }
}

/** PostgreSQL's code for a missing privilege. */
const forbiddenCode = '42501';

function notAllowed(name: string, cause: unknown): Error {
  return new Error(
    `Migration ${name} is missing, and the role of DATABASE_URL may not apply it. ` +
      'Run "till migrate" with the DATABASE_URL of the role that owns the schema.',
    { cause },
  );
}

function changedAfterwards(name: string): Error {
  return new Error(
    `Migration ${name} changed after it was applied. Restore the file, and add a new migration instead.`,
  );
}
