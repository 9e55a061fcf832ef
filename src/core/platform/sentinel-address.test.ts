import assert from 'node:assert/strict';
import { test } from 'node:test';
import { parseSentinelAddress } from './sentinel-address.ts';

test('an address names the sentinels, the primary, the database and the credentials', () => {
  assert.deepEqual(
    parseSentinelAddress(
      'rediss+sentinel://till:p%2Fw,%40:x@one:5000,[::1],three/main/2?sentinelPassword=s%26t',
    ),
    {
      sentinels: [
        { host: 'one', port: 5000 },
        { host: '::1', port: 26379 },
        { host: 'three', port: 26379 },
      ],
      name: 'main',
      database: 2,
      hasTls: true,
      username: 'till',
      password: 'p/w,@:x',
      sentinelPassword: 's&t',
    },
  );
});

test('a password alone, and no credentials', () => {
  const read = (url: string) => {
    const { username, password, database } = parseSentinelAddress(url) ?? assert.fail();
    return [username, password, database];
  };
  assert.deepEqual(read('redis+sentinel://:secret@one/main'), [undefined, 'secret', 0]);
  assert.deepEqual(read('redis+sentinel://one/main'), [undefined, undefined, 0]);
});

test('a malformed address is not read', () => {
  for (const url of [
    'redis+sentinel://one',
    'redis+sentinel:///main',
    'redis+sentinel://one,,two/main',
    'redis://one/main',
  ])
    assert.equal(parseSentinelAddress(url), undefined, url);
});
