import assert from 'node:assert/strict';
import { test } from 'node:test';
import Stripe from 'stripe';
import { apiVersion } from './render-event.ts';

test('the sandbox speaks the version that the package pins', () => {
  assert.equal(apiVersion, Stripe.API_VERSION);
});
