import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import pg from 'pg';
import { createLogger } from '#core/platform/logger.ts';
import { isGone, OwnerLock } from '#core/platform/owner-lock.ts';
import { Database } from '#core/platform/postgres.ts';
import { silentLogger } from '../support/log-capture.ts';
import { createTestDatabase, type TestDatabase } from '../support/test-database.ts';

let server: TestDatabase;
let database: Database;
const silent = silentLogger;

before(async () => {
  server = await createTestDatabase();
  database = new Database({ url: server.url, poolSize: 2, logger: silent });
});

after(async () => {
  await database.close();
  await server.drop();
});

const isKnownToBeGone = (owner: number) => database.transaction((tx) => isGone(tx, owner));

test('a process counts as running while it holds its owner lock, and as gone once it has ended', async () => {
  const ownerLock = new OwnerLock({ url: server.url, logger: silent });
  assert.equal(await isKnownToBeGone(ownerLock.owner), true);
  await ownerLock.acquire();
  assert.equal(await isKnownToBeGone(ownerLock.owner), false);
  await ownerLock.close();
  assert.equal(await isKnownToBeGone(ownerLock.owner), true);
});

test('a process whose connection the server ends keeps running and reacquires its owner lock', async (t) => {
  const acquiredAgain = Promise.withResolvers<void>();
  const logger = createLogger('info', {
    write: (line) => {
      if (line.includes('owner lock reacquired')) acquiredAgain.resolve();
    },
  });
  const ownerLock = new OwnerLock({ url: server.url, logger });
  t.after(() => ownerLock.close());
  await ownerLock.acquire();
  await database.query(
    `select pg_terminate_backend(pid) from pg_stat_activity
     where application_name = 'till owner lock' and datname = current_database()`,
  );
  await acquiredAgain.promise;
  assert.equal(await isKnownToBeGone(ownerLock.owner), false);
});

test('a process that could not reacquire its owner lock keeps trying until it can', async (t) => {
  const logged = { failed: Promise.withResolvers<void>(), shown: Promise.withResolvers<void>() };
  const logger = createLogger('info', {
    write: (line) => {
      if (line.includes('owner lock not acquired')) logged.failed.resolve();
      if (line.includes('owner lock reacquired')) logged.shown.resolve();
    },
  });
  const ownerLock = new OwnerLock({ url: server.url, logger });
  t.after(() => ownerLock.close());
  await ownerLock.acquire();
  const other = new pg.Client({ connectionString: server.url });
  await other.connect();
  t.after(() => other.end());
  const { rows } = await other.query<{ name: string; class: number }>(
    `select current_database() as name, classid::int as class from pg_locks
     where locktype = 'advisory' and objid = $1`,
    [ownerLock.owner],
  );
  await other.query(`alter database ${rows[0]?.name} set lock_timeout = '10ms'`);
  // The other session waits for the lock before the connection is gone, so the first attempt connects but times out.
  await other.query(
    `select pg_terminate_backend(pid), pg_advisory_lock($1, $2) from pg_locks
     where locktype = 'advisory' and objid = $2`,
    [rows[0]?.class, ownerLock.owner],
  );
  await logged.failed.promise;
  await other.query('select pg_advisory_unlock_all()');
  await logged.shown.promise;
  assert.equal(await isKnownToBeGone(ownerLock.owner), false);
});
