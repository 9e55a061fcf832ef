import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { test } from 'node:test';
import { Stripe } from 'stripe';
import { useContract } from './support.ts';

test('a webhook endpoint shows its secret only when it is created, and again with the same idempotency key', async (t) => {
  const { stripe, cleanups } = await useContract(t);
  const params: Stripe.WebhookEndpointCreateParams = {
    url: 'https://example.com/webhooks/processor',
    enabled_events: ['invoice.paid', 'charge.failed'],
    api_version: Stripe.API_VERSION as Stripe.WebhookEndpointCreateParams.ApiVersion,
    metadata: { till_setup_key: 'contract' },
  };
  const idempotencyKey = `contract-${randomUUID()}`;
  const created = await stripe.webhookEndpoints.create(params, { idempotencyKey });
  cleanups.push(() => stripe.webhookEndpoints.del(created.id).catch(() => {}));
  assert.match(String(created.secret), /^whsec_/);
  assert.deepEqual(
    [created.status, created.api_version, created.application, created.enabled_events],
    ['enabled', Stripe.API_VERSION, null, ['invoice.paid', 'charge.failed']],
  );
  const repeated = await stripe.webhookEndpoints.create(params, { idempotencyKey });
  assert.deepEqual([repeated.id, repeated.secret], [created.id, created.secret]);
  await assert.rejects(
    stripe.webhookEndpoints.create({ ...params, description: 'other' }, { idempotencyKey }),
    { type: 'StripeIdempotencyError' },
  );
  assert.equal((await stripe.webhookEndpoints.retrieve(created.id)).secret, undefined);
  const listed = (await stripe.webhookEndpoints.list()).data.find(({ id }) => id === created.id);
  assert.deepEqual([listed?.secret, listed?.metadata], [undefined, { till_setup_key: 'contract' }]);
});

test('an update enables, disables and sets the events of an endpoint, but not its version', async (t) => {
  const { stripe, cleanups } = await useContract(t);
  const { id } = await stripe.webhookEndpoints.create({
    url: 'https://example.com/webhooks/processor',
    enabled_events: ['*'],
  });
  cleanups.push(() => stripe.webhookEndpoints.del(id).catch(() => {}));
  assert.equal((await stripe.webhookEndpoints.update(id, { disabled: true })).status, 'disabled');
  const updated = await stripe.webhookEndpoints.update(id, {
    disabled: false,
    enabled_events: ['invoice.paid'],
    metadata: { a: 'b' },
  });
  assert.deepEqual(
    [updated.status, updated.enabled_events, updated.api_version, updated.metadata, updated.secret],
    ['enabled', ['invoice.paid'], null, { a: 'b' }, undefined],
  );
  const version: object = { api_version: Stripe.API_VERSION };
  await assert.rejects(stripe.webhookEndpoints.update(id, version), {
    statusCode: 400,
    code: 'parameter_unknown',
  });
  assert.equal((await stripe.webhookEndpoints.del(id)).deleted, true);
  await assert.rejects(stripe.webhookEndpoints.del(id), { statusCode: 404, code: 'resource_missing' });
});
