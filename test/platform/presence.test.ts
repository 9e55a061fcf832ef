import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { createLogger } from '../../src/platform/logger.ts';
import { Database } from '../../src/platform/postgres.ts';
import { isGone, Presence } from '../../src/platform/presence.ts';
import { createTestDatabase, type TestDatabase } from '../support/test-database.ts';

let server: TestDatabase;
let database: Database;
const silent = createLogger('silent');

before(async () => {
  server = await createTestDatabase();
  database = new Database({ url: server.url, poolSize: 2, logger: silent });
});

after(async () => {
  await database.close();
  await server.drop();
});

const isKnownToBeGone = (owner: number) => database.transaction((tx) => isGone(tx, owner));

test('a process is present while it shows itself, and gone once it has ended', async () => {
  const presence = new Presence({ url: server.url, logger: silent });
  assert.equal(await isKnownToBeGone(presence.owner), true);
  await presence.show();
  assert.equal(await isKnownToBeGone(presence.owner), false);
  await presence.close();
  assert.equal(await isKnownToBeGone(presence.owner), true);
});

test('a process whose connection the server ends lives on and shows itself again', async (t) => {
  const shownAgain = Promise.withResolvers<void>();
  const logger = createLogger('info', {
    write: (line) => {
      if (line.includes('presence is shown again')) shownAgain.resolve();
    },
  });
  const presence = new Presence({ url: server.url, logger });
  t.after(() => presence.close());
  await presence.show();
  await database.query(
    `select pg_terminate_backend(pid) from pg_stat_activity
     where application_name = 'till presence' and datname = current_database()`,
  );
  await shownAgain.promise;
  assert.equal(await isKnownToBeGone(presence.owner), false);
});
