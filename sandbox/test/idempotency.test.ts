import assert from 'node:assert/strict';
import { test } from 'node:test';
import { useSandbox } from './support.ts';

test('the same idempotency key returns the first response again and creates one object', async (t) => {
  const { stripe } = await useSandbox(t);
  const params = { amount: 700, currency: 'usd', metadata: { a: '1', b: '2' } };
  const first = await stripe.paymentIntents.create(params, { idempotencyKey: 'k' });
  await stripe.paymentIntents.cancel(first.id);
  const again = await stripe.paymentIntents.create(
    { currency: 'usd', metadata: { b: '2', a: '1' }, amount: 700 },
    { idempotencyKey: 'k' },
  );
  assert.equal(again.lastResponse.headers['idempotent-replayed'], 'true');
  assert.deepEqual([again.id, again.status], [first.id, 'requires_payment_method']);
  assert.equal((await stripe.paymentIntents.list()).data.length, 1);
  const events = await stripe.events.list({ type: 'payment_intent.created' });
  assert.equal(events.data[0]?.request?.idempotency_key, 'k');
});

test('the same idempotency key with other parameters or on another endpoint is an error', async (t) => {
  const { stripe } = await useSandbox(t);
  await stripe.paymentIntents.create({ amount: 700, currency: 'usd' }, { idempotencyKey: 'k' });
  const isConflict = { statusCode: 400, type: 'StripeIdempotencyError' };
  await assert.rejects(
    stripe.paymentIntents.create({ amount: 800, currency: 'usd' }, { idempotencyKey: 'k' }),
    isConflict,
  );
  await assert.rejects(stripe.customers.create({}, { idempotencyKey: 'k' }), isConflict);
});

test('a refused request is not remembered; a declined card is', async (t) => {
  const { stripe } = await useSandbox(t);
  await assert.rejects(
    stripe.paymentIntents.create({ amount: 1, currency: 'usd' }, { idempotencyKey: 'k' }),
    {
      code: 'amount_too_small',
    },
  );
  await stripe.paymentIntents.create({ amount: 700, currency: 'usd' }, { idempotencyKey: 'k' });

  const declined = () =>
    stripe.paymentIntents.create(
      {
        amount: 700,
        currency: 'usd',
        confirm: true,
        payment_method: 'pm_card_chargeDeclined',
        return_url: 'https://example.com',
      },
      { idempotencyKey: 'declined' },
    );
  await assert.rejects(declined(), { statusCode: 402, decline_code: 'generic_decline' });
  await assert.rejects(declined(), (error: { headers?: Record<string, string> }) => {
    assert.equal(error.headers?.['idempotent-replayed'], 'true');
    return true;
  });
  assert.equal((await stripe.charges.list()).data.length, 1);
});

test('an idempotency key may have at most 255 characters', async (t) => {
  const { stripe } = await useSandbox(t);
  await stripe.customers.create({}, { idempotencyKey: 'k'.repeat(255) });
  await assert.rejects(stripe.customers.create({}, { idempotencyKey: 'k'.repeat(256) }), { statusCode: 400 });
});
