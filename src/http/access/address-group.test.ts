import assert from 'node:assert/strict';
import { test } from 'node:test';
import { addressGroup } from './address-group.ts';

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
