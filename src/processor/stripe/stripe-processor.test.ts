import assert from 'node:assert/strict';
import { test } from 'node:test';
import { accountModeOf } from './stripe-processor.ts';

test('the secret key and the address determine the mode and the dashboard', () => {
  const real = new URL('https://api.stripe.com');
  const elsewhere = new URL('http://127.0.0.1:12111');
  const [live, test] = ['https://dashboard.stripe.com', 'https://dashboard.stripe.com/test'];
  for (const [key, apiBase, mode, dashboardUrl] of [
    ['sk_live_1', real, 'live', live],
    ['rk_live_1', real, 'live', live],
    // A proxy in front of the processor.
    ['sk_live_1', elsewhere, 'live', live],
    ['sk_test_1', real, 'test', test],
    ['rk_test_1', real, 'test', test],
    ['sk_test_1', elsewhere, 'sandbox', null],
    ['sk_test_1', new URL('https://api.stripe.com:8443'), 'sandbox', null],
  ] as const) {
    assert.deepEqual(accountModeOf(key, apiBase), { mode, dashboardUrl }, `${key} at ${apiBase}`);
  }
});
