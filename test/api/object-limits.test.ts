import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { startBackend } from '../support/backend.ts';
import { createPayment, createPlan, type PaymentBody, type SubscriptionBody } from '../support/objects.ts';
import { readProblem } from '../support/problem.ts';
import { startProcessorProxy } from '../support/processor-proxy.ts';
import { changed, patch, subscribe } from '../support/subscribed.ts';
import { startTill } from '../support/till.ts';

const backend = await startBackend({ after });
const { control, stripe } = backend;
const proxy = await startProcessorProxy(backend);
const till = await startTill({ in: 'process', on: backend, processorUrl: proxy.url, mustNotLogErrors: true });
const other = await createPlan(till, { interval: 'day', amount: 4_000 });

const like = () => control('manners', { like: 'stripe', seed: 7 });
const none = () => control('manners', { like: null });
const readAgain = ({ id }: SubscriptionBody): Promise<SubscriptionBody> => till.get(`/subscriptions/${id}`);

test('409: a change that the processor does not bill any more today, until it does', async () => {
  const subscription = await subscribe(till);
  const { processorSubscriptionId: id } = subscription;
  // The first invoice counts, too.
  for (let quantity = 2; quantity <= 10; quantity += 1)
    await changed(till, subscription, { quantity, proration: 'invoice' });
  await like();
  const body = { quantity: 11, proration: 'invoice' };
  const problem = await readProblem(
    await patch(till, subscription, body, 'limited'),
    409,
    'subscription_limit_reached',
  );
  assert.match(String(problem.detail), /10 new invoices a minute.*20 a day.*`nextInvoice`/);
  assert.equal((await readAgain(subscription)).quantity, 10);
  assert.equal((await stripe.subscriptions.retrieve(id)).items.data[0]?.quantity, 10);
  assert.equal((await stripe.invoices.list({ subscription: id, limit: 100 })).data.length, 10);

  // What the answer suggests works at once, and the same request works when the minute is over.
  assert.equal((await changed(till, subscription, { quantity: 12, proration: 'nextInvoice' })).quantity, 12);
  await none();
  await control('clock', { advanceSeconds: 61 });
  assert.equal((await changed(till, subscription, body, 'limited')).quantity, 11);
});

test('409: a change at the end of the period leaves no schedule behind', async () => {
  const subscription = await subscribe(till);
  const { processorSubscriptionId: id } = subscription;
  proxy.refuse({
    path: /^\/v1\/subscription_schedules\/[^/]+$/,
    status: 429,
    headers: { 'stripe-rate-limited-reason': 'resource-specific' },
    body: { error: { type: 'invalid_request_error', code: 'rate_limit', message: 'Too often.' } },
  });
  const body = { planId: other.id, when: 'periodEnd' };
  await readProblem(await patch(till, subscription, body, 'planned'), 409, 'subscription_limit_reached');
  assert.equal((await stripe.subscriptions.retrieve(id)).schedule, null);
  assert.equal((await readAgain(subscription)).pendingChange, null);
  proxy.refuse(undefined);
  assert.equal((await changed(till, subscription, body, 'planned')).pendingChange?.planId, other.id);
});

test('200: a write of an object that another request is writing at the processor', async () => {
  const limits = { retryDelayMs: 400, deadlineMs: 10_000 };
  const { get, call, stop } = await startTill({ in: 'process', on: backend, limits, mustNotLogErrors: true });
  const payment = await createPayment(till);
  const { processorPaymentIntentId: id } = payment;
  await like();
  const writes = ['1', '2'].map((order) => stripe.paymentIntents.update(id, { metadata: { order } }));
  const outcomes = writes.map((write) =>
    write.then(
      () => 'written',
      ({ code }) => code,
    ),
  );
  // The other one is in progress, and holds the lock.
  assert.equal(await Promise.race(outcomes), 'lock_timeout');
  const response = await call('PATCH', `/payments/${payment.id}`, { metadata: { order: '3' } });
  assert.equal(response.status, 200, await response.text());
  assert.deepEqual((await Promise.all(outcomes)).toSorted(), ['lock_timeout', 'written']);
  await none();
  assert.equal((await stripe.paymentIntents.retrieve(id)).metadata['order'], '3');
  assert.deepEqual((await get<PaymentBody>(`/payments/${payment.id}`)).metadata, { order: '3' });
  await stop();
});
