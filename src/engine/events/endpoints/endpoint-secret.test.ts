import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Webhook } from 'standardwebhooks';
import { newSecret, SecretBox, signatureOf } from './endpoint-secret.ts';

test('a signature passes the official verification, for each of two secrets and no other', () => {
  const [current, previous, other] = [newSecret(), newSecret(), newSecret()];
  const message = { id: 'evt_1', timestamp: Math.floor(Date.now() / 1_000), body: '{"name":"Ada ✓"}' };
  const headers = {
    'webhook-id': message.id,
    'webhook-timestamp': String(message.timestamp),
    'webhook-signature': signatureOf(message, [current, previous]),
  };
  for (const secret of [current, previous])
    assert.deepEqual(new Webhook(secret).verify(message.body, headers), { name: 'Ada ✓' });
  assert.throws(() => new Webhook(other).verify(message.body, headers));
  assert.throws(() => new Webhook(current).verify(`${message.body} `, headers));
});

test('a stored secret is encrypted if there is an encryption key, and only for its own endpoint', () => {
  const secret = newSecret();
  const plain = new SecretBox([]).seal(secret, 'a');
  assert.ok(plain.includes(secret));
  const box = new SecretBox(['first key']);
  const sealed = box.seal(secret, 'a');
  assert.ok(!sealed.includes(secret));
  assert.notEqual(box.seal(secret, 'a'), sealed);
  assert.equal(box.open(sealed, 'a'), secret);
  assert.equal(box.open(plain, 'a'), secret, 'a secret that was stored before encryption was set up');
  assert.equal(new SecretBox(['second key', 'first key']).open(sealed, 'a'), secret);
  assert.equal(box.open(sealed, 'b'), undefined);
  assert.equal(new SecretBox(['second key']).open(sealed, 'a'), undefined);
  assert.equal(new SecretBox([]).open(sealed, 'a'), undefined);
  assert.equal(box.open('aes:AAAA', 'a'), undefined);
});

test('a stored secret is current only if the first encryption key encrypted it, or if it is plain and there are no encryption keys', () => {
  const [none, first, both] = [[], ['first key'], ['second key', 'first key']].map(
    (keys) => new SecretBox(keys),
  );
  assert(none !== undefined && first !== undefined && both !== undefined);
  const secret = newSecret();
  const boxes = [none, first, both];
  const isCurrent = (sealed: string) => boxes.map((box) => box.isCurrent(sealed, 'a'));
  assert.deepEqual(isCurrent(none.seal(secret, 'a')), [true, false, false]);
  assert.deepEqual(isCurrent(first.seal(secret, 'a')), [false, true, false]);
  assert.deepEqual(isCurrent(both.seal(secret, 'a')), [false, false, true]);
  assert.deepEqual(isCurrent(both.seal(secret, 'b')), [false, false, false]);
});
