import { createHash } from 'node:crypto';
import { accessSync, constants, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { mkdir, mkdtemp, readdir, rename, rm, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { createLogger } from '#core/platform/logger.ts';
import { migrate } from '#core/platform/migrate.ts';
import { findBinaries } from '#runtime/embedded-postgres/binaries.ts';
import { startEmbeddedPostgres } from '#runtime/embedded-postgres.ts';
import { copyCluster } from './cluster-template.ts';
import { runOnServer, templateDatabase } from './test-database.ts';

const root = fileURLToPath(new URL('../..', import.meta.url));
const migrationsFolder = join(root, 'migrations');
const keptFolder = join(root, 'node_modules/.cache/test-clusters');
/** A branch and its base, each before and after a change of a migration. Each takes 60 MB. */
const keptMax = 4;
/** What the clusters are made from, beside the migrations. */
const makers = [
  'test/support/prepared-clusters.ts',
  'src/core/platform/migrate.ts',
  'src/runtime/embedded-postgres/cluster.ts',
];
const logger = createLogger('error');

/** Data directories that `copyCluster` copies. Their servers were stopped in order. */
export interface PreparedClusters {
  /** Just initialised. */
  readonly empty: string;
  /** With the migrated template of the tests' databases, for the server that they share. */
  readonly shared: string;
}

/**
 * Making them takes two seconds, so they are kept until a migration, or what makes them, changes. `folder` has them if
 * they cannot be kept.
 */
export async function prepareClusters(folder: string): Promise<PreparedClusters> {
  const kept = join(keptFolder, keyOf());
  if (isReadable(kept)) return clustersIn(kept);
  const made = clustersIn(folder);
  await makeEmpty(made.empty);
  await makeShared(made);
  await keep(made, kept).catch(() => undefined);
  return made;
}

function clustersIn(folder: string): PreparedClusters {
  return { empty: join(folder, 'empty'), shared: join(folder, 'shared') };
}

function keyOf(): string {
  const files = [
    ...readdirSync(migrationsFolder).map((name) => join(migrationsFolder, name)),
    ...makers.map((name) => join(root, name)),
    join(findBinaries().nativeDir, '../package.json'),
  ];
  const hash = createHash('sha256');
  for (const file of files.sort()) hash.update(file).update('\0').update(readFileSync(file)).update('\0');
  return hash.digest('hex').slice(0, 16);
}

/** Another user may have made it: root gives the data to the user who runs the server. */
function isReadable(folder: string): boolean {
  try {
    accessSync(join(clustersIn(folder).shared, 'postgres/cluster/data'), constants.R_OK | constants.X_OK);
    return true;
  } catch {
    return false;
  }
}

async function makeEmpty(dataDir: string): Promise<void> {
  const server = await startEmbeddedPostgres({ dataDir, logger, settings: { fsync: 'off' } });
  await server.stop();
}

/** The database is migrated once, as a template, because cloning it takes milliseconds. */
async function makeShared({ empty, shared }: PreparedClusters): Promise<void> {
  copyCluster(shared, empty);
  takePlainPasswords(shared);
  const server = await startEmbeddedPostgres({ dataDir: shared, logger, settings: { fsync: 'off' } });
  try {
    await hashPasswordOnce(server.url);
    await runOnServer(server.url, `create database ${templateDatabase}`);
    const template = server.url.replace('/postgres?', `/${templateDatabase}?`);
    await migrate({ url: template, folder: migrationsFolder, logger });
    // PostgreSQL caches the catalogue in a file at the first connection; the copies get that file too.
    await runOnServer(template, 'select 1');
  } finally {
    await server.stop();
  }
}

/**
 * A wrong password is still refused. But proving to know it, without sending it, takes both sides as much CPU time as
 * the rest of a connection, and tests make thousands of connections to their own machine.
 */
function takePlainPasswords(dataDir: string): void {
  const file = join(dataDir, 'postgres/cluster/data/pg_hba.conf');
  writeFileSync(file, readFileSync(file, 'utf8').replaceAll('scram-sha-256', 'password'));
}

/** A password is hashed 4096 times at every connection. Tests make thousands of connections, and guard no secret. */
async function hashPasswordOnce(url: string): Promise<void> {
  const { username, password } = new URL(url.replace('@/', '@localhost/'));
  const set = `alter role ${username} password '${decodeURIComponent(password)}'`;
  await runOnServer(url, `set scram_iterations = 1; ${set}`);
}

/** Whole or not at all, because other runs may look meanwhile, or keep the same. */
async function keep(made: PreparedClusters, kept: string): Promise<void> {
  await mkdir(keptFolder, { recursive: true });
  const unfinished = await mkdtemp(join(keptFolder, 'unfinished-'));
  try {
    const copy = clustersIn(unfinished);
    copyCluster(copy.empty, made.empty);
    copyCluster(copy.shared, made.shared);
    await rename(unfinished, kept);
  } catch (error) {
    await rm(unfinished, { recursive: true, force: true });
    throw error;
  }
  await removeOldest();
}

async function removeOldest(): Promise<void> {
  const paths = (await readdir(keptFolder)).map((name) => join(keptFolder, name));
  const found = await Promise.all(paths.map(async (path) => ({ path, at: (await stat(path)).mtimeMs })));
  const oldest = found.toSorted((a, b) => b.at - a.at).slice(keptMax);
  for (const { path } of oldest) await rm(path, { recursive: true, force: true });
}
