import assert from 'node:assert/strict';
import { test } from 'node:test';
import { refuseRoot, serverUserCandidates } from './server-user.ts';

type Arguments = Parameters<typeof serverUserCandidates>;
const waysFor = (user: Arguments[0], dataOwner: Arguments[1], platform = 'linux') =>
  serverUserCandidates(user, dataOwner, platform).map(({ prefix, uid }) => [prefix[0] ?? 'directly', uid]);

test('a normal user runs the server directly', () => {
  assert.deepEqual(waysFor({ uid: 1_000, gid: 1_000, isNamed: true }, undefined), [['directly', 1_000]]);
});

test('a user without a name runs the server in a namespace that has one, and still owns the data', () => {
  const ways = waysFor({ uid: 1_000, gid: 0, isNamed: false }, undefined);
  assert.deepEqual(ways, [
    ['unshare', 1_000],
    ['directly', 1_000],
  ]);
});

test('root never runs the server directly: as nobody, or else in a namespace', () => {
  const root = { uid: 0, gid: 0, isNamed: true };
  assert.deepEqual(waysFor(root, undefined), [
    ['setpriv', 65_534],
    ['unshare', 0],
  ]);
  assert.deepEqual(waysFor(root, { uid: 0, gid: 0 }), [
    ['setpriv', 65_534],
    ['unshare', 0],
  ]);
});

test('root runs the server as the owner of the data, who can later start it without root', () => {
  const [first] = serverUserCandidates(
    { uid: 0, gid: 0, isNamed: true },
    { uid: 1_000, gid: 1_001 },
    'linux',
  );
  assert.deepEqual([first?.uid, first?.gid], [1_000, 1_001]);
  assert.ok(first?.prefix.includes('--reuid=1000') && first.prefix.includes('--regid=1001'));
});

test('on macOS a user runs the server directly, and root is told to be another user', () => {
  const user = { uid: 501, gid: 20, isNamed: true };
  assert.deepEqual(waysFor(user, undefined, 'darwin'), [['directly', 501]]);
  refuseRoot(501, 'darwin');
  refuseRoot(0, 'linux');
  assert.throws(() => refuseRoot(0, 'darwin'), {
    name: 'EmbeddedPostgresError',
    message: /does not run as root on macOS: start the service as another user/,
  });
});
