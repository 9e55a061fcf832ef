import assert from 'node:assert/strict';
import { test } from 'node:test';
import pg from 'pg';
import { DatabaseAddressError, parseDatabaseAddress } from './database-address.ts';

/** What the driver makes of an address. */
function readByDriver(url: string) {
  const { host, port, user, database, password } = new pg.Client({ connectionString: url });
  return { host, port, user, database, password };
}

test('each host of an address becomes an address of its own, with the same credentials, database and parameters', () => {
  const { servers, requires } = parseDatabaseAddress(
    'postgres://u%40x:p%2Fw%2C%40%3F%23@one.example:5433,[2001:db8::1]:6432,three/till?target_session_attrs=primary',
  );
  assert.equal(requires, 'primary');
  assert.deepEqual(
    servers.map(({ name }) => name),
    ['one.example:5433', '[2001:db8::1]:6432', 'three'],
  );
  const same = { user: 'u@x', password: 'p/w,@?#', database: 'till' };
  assert.deepEqual(
    servers.map(({ url }) => readByDriver(url)),
    [
      { ...same, host: 'one.example', port: 5433 },
      { ...same, host: '2001:db8::1', port: 6432 },
      { ...same, host: 'three', port: 5432 },
    ],
  );
});

test('a password may contain commas, colons and an @', () => {
  const { servers } = parseDatabaseAddress('postgresql://till:a,b:c@d@one,two/till');
  assert.deepEqual(
    servers.map(({ url }) => [readByDriver(url).host, readByDriver(url).password]),
    [
      ['one', 'a,b:c@d'],
      ['two', 'a,b:c@d'],
    ],
  );
});

test('an address with one host is passed on unchanged, whatever its form', () => {
  for (const url of [
    'postgres://till@db/till',
    'postgresql://till:x@/till?host=%2Frun%2Fpostgres',
    'postgres://db',
  ])
    assert.deepEqual(
      parseDatabaseAddress(url).servers.map((server) => server.url),
      [url],
    );
});

test('an address of a replica requires a standby, with one host or several', () => {
  for (const url of ['postgres://one/till', 'postgres://one,two/till?target_session_attrs=standby'])
    assert.equal(parseDatabaseAddress(url, 'replica').requires, 'standby');
  assert.throws(
    () => parseDatabaseAddress('postgres://one/till?target_session_attrs=any', 'replica'),
    DatabaseAddressError,
  );
});

test('several hosts require a server that takes writes, and one host takes what is there', () => {
  const requiredBy = (url: string) => parseDatabaseAddress(url).requires;
  assert.equal(requiredBy('postgres://one,two/till'), 'read-write');
  assert.equal(requiredBy('postgres://one/till'), 'any');
  assert.equal(requiredBy('postgres://one/till?target_session_attrs=any'), 'any');
  assert.equal(requiredBy('postgres://one/till?target_session_attrs=read-write'), 'read-write');
});

test('what Till cannot use is refused, and no message contains a part of the credentials', () => {
  for (const [url, message] of [
    ['postgres://u:hunter2@one,two/till?target_session_attrs=standby', /"standby"; allowed: read-write/],
    ['postgres://u:hunter2@one,two/till?target_session_attrs=any', /"any"; allowed: read-write/],
    ['postgres://u:hunter2@one/till?target_session_attrs=prefer-standby', /"prefer-standby"/],
    ['postgres://u:hunter2@one,,two/till', /malformed host/],
    ['postgres://u:hunter2@one:70000,two/till', /malformed host/],
    ['postgres://u:hunter2@one:x,two/till', /malformed host/],
    ['postgres://u:hunter2@[::1,two/till', /malformed host/],
    ['postgres://u:hunter2@/till?host=one,two', /several hosts as a parameter/],
  ] as const) {
    assert.throws(
      () => parseDatabaseAddress(url),
      (error) =>
        error instanceof DatabaseAddressError &&
        message.test(error.message) &&
        !error.message.includes('hunter2'),
      url,
    );
  }
});
