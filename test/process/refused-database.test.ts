import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { after, before, test } from 'node:test';
import { createTestDatabase, runOnServer, type TestDatabase } from '../support/test-database.ts';
import { runTillUntilExit } from '../support/till-in-child.ts';

/** Percent-encoded in an address, as a password with these characters must be. */
const password = 'pa:ss/w@rd%';
const role = `test_${randomUUID().replaceAll('-', '')}`;
let database: TestDatabase;
before(async () => {
  database = await createTestDatabase('empty');
  await runOnServer(database.url, `create role ${role} login password '${password}'`);
});
after(async () => {
  await runOnServer(database.url, `drop role ${role}`);
  await database.drop();
});

/** The address of the test's database, for another role or another name. The server listens on a socket. */
function addressWith(user: string, name?: string): string {
  const [, own = '', parameters = ''] = /@\/?([^?]*)(\?.*)$/.exec(database.url) ?? assert.fail(database.url);
  return `postgres://${user}:${encodeURIComponent(password)}@/${name ?? own}${parameters}`;
}

const wrong: Readonly<Record<string, { readonly url: () => string; readonly reason: RegExp }>> = {
  'an unknown database': {
    url: () => addressWith(role, 'no_such_database'),
    reason: /database "no_such_database" does not exist/,
  },
  'an unknown role': { url: () => addressWith('no_such_role'), reason: /user "no_such_role"/ },
  'a wrong password': {
    url: () =>
      addressWith(role).replace(encodeURIComponent(password), `wrong${encodeURIComponent(password)}`),
    reason: /password authentication failed/,
  },
  'a role that may not create anything': { url: () => addressWith(role), reason: /may not apply it/ },
};

for (const [what, { url, reason }] of Object.entries(wrong))
  test(`${what}: the start fails with one line that names DATABASE_URL and not the password`, async () => {
    const { code, stderr } = await runTillUntilExit({ DATABASE_URL: url() });
    assert.equal(code, 1);
    assert.match(stderr, /^till failed to start: [^\n]*DATABASE_URL[^\n]*\n$/);
    assert.match(stderr, reason);
    assert.ok(!stderr.includes(password) && !stderr.includes(encodeURIComponent(password)), stderr);
  });
