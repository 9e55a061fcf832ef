import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createPaymentIntent } from '../payments/payment-intent.ts';
import { World } from './world.ts';

test('a removed world sends nothing, even for a request that was still running', async () => {
  const world = new World({
    accountId: 'acct_x',
    url: () => '',
    basePath: '',
    webhook: { url: 'http://127.0.0.1:9/', secret: 'whsec_x' },
    log: () => {},
  });
  await world.start();
  await world.remove();
  const { store, deliverer } = world;
  store.transact(null, () =>
    createPaymentIntent(store, {
      amount: 500,
      currency: 'usd',
      customer: null,
      metadata: {},
    }),
  );
  assert.equal([...store.deliveries.waiting()].length, 1);
  assert.deepEqual(deliverer.waiting(), []);
});
