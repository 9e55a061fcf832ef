import assert from 'node:assert/strict';
import { test } from 'node:test';
import Stripe from 'stripe';
import { apiVersion, checkVersion, mayUseOld, sees } from './api-version.ts';

test('the sandbox uses the version that the package pins', () => {
  assert.equal(apiVersion, Stripe.API_VERSION);
});

test('released versions are accepted, others are not', () => {
  for (const version of [apiVersion, '2023-10-16', '2025-03-31.basil'])
    assert.equal(checkVersion(version), version);
  for (const version of ['', '2023-10-17', '2025-03-31', '2025-03-31.acacia', '2027-01-01.fennel'])
    assert.throws(() => checkVersion(version), { message: `Invalid Stripe API version: ${version}` });
});

test('a version sees the changes up to its date, and may use features that later versions removed', () => {
  assert.deepEqual(
    ['2025-02-24.acacia', '2025-03-31.basil', null].map((version) => [
      sees(version, 'invoicePayments'),
      mayUseOld(version, 'invoicePayments'),
    ]),
    [
      [false, true],
      [true, false],
      [true, true],
    ],
  );
});
