import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type Scope, scopes } from '#core/model/api-key.ts';
import { addressGroup, grants } from './api-guard.ts';

/** What each scope allows, as the contract says it. */
const implied: Readonly<Record<Scope, readonly Scope[]>> = {
  read: ['read'],
  write: ['write', 'usage', 'read'],
  usage: ['usage'],
  refund: ['refund', 'read'],
  operate: ['operate', 'read'],
  admin: scopes,
};

test('every combination of scopes grants what its scopes imply, and nothing else', () => {
  for (let bits = 0; bits < 2 ** scopes.length; bits += 1) {
    const held = scopes.filter((_, index) => (bits & (2 ** index)) !== 0);
    const allowed = new Set(held.flatMap((scope) => implied[scope]));
    for (const needed of scopes)
      assert.equal(grants(held, needed), allowed.has(needed), `${held} for ${needed}`);
  }
});

test('each IPv4 address counts alone, in both notations', () => {
  for (const address of ['192.0.2.7', '::ffff:192.0.2.7', '::FFFF:c000:207', '0:0:0:0:0:ffff:c000:207']) {
    assert.equal(addressGroup(address), '192.0.2.7', address);
  }
  assert.notEqual(addressGroup('192.0.2.7'), addressGroup('192.0.2.8'));
});

test('IPv6 addresses count together by their /64 network', () => {
  for (const address of ['2001:db8:1:2::', '2001:DB8:1:2::1', '2001:0db8:1:2:ffff:ffff:ffff:ffff']) {
    assert.equal(addressGroup(address), '2001:db8:1:2::/64', address);
  }
  assert.notEqual(addressGroup('2001:db8:1:2::1'), addressGroup('2001:db8:1:3::1'));
  assert.equal(addressGroup('::1'), '0:0:0:0::/64');
  assert.equal(addressGroup('fe80::1%eth0'), 'fe80:0:0:0::/64');
  assert.equal(addressGroup('1::8'), '1:0:0:0::/64');
  assert.equal(addressGroup('1:2:3:4:5:6:7:8'), '1:2:3:4::/64');
});

test('all texts that are not addresses share one count', () => {
  for (const text of ['', 'unknown', '_hidden', '1.2.3', 'x'.repeat(10_000)]) {
    assert.equal(addressGroup(text), 'unknown');
  }
});
