import assert from 'node:assert/strict';
import { test } from 'node:test';
import { startBackend } from '../support/backend.ts';
import {
  createCustomer,
  createPayment,
  createPlan,
  createSubscription,
  saveCard,
} from '../support/objects.ts';
import { readProblem } from '../support/problem.ts';
import { startProcessorProxy } from '../support/processor-proxy.ts';
import { changed, subscribe } from '../support/subscribed.ts';
import { startTill } from '../support/till.ts';

test('502: a write that the processor accepts but does not carry out is not a success, and changes nothing', async (t) => {
  const backend = await startBackend(t);
  const proxy = await startProcessorProxy(backend);
  const till = await startTill({ in: 'process', on: backend, processorUrl: proxy.url });
  const { call } = till;
  const customer = await createCustomer(till);
  const plan = await createPlan(till);
  const payment = await createPayment(till, { customerId: customer.id });
  const { subscription } = await createSubscription(till, {
    customerId: customer.id,
    planId: plan.id,
    trialPeriodDays: 7,
  });
  const { subscription: unpaid } = await createSubscription(till, { customerId: customer.id });
  const { paymentMethodId: newDefault } = await saveCard(till, customer);
  const { paymentMethodId: removable } = await saveCard(till, customer);
  // Under a schedule, which a change uses or ends.
  const planned = await subscribe(till, { customerId: customer.id });
  await changed(till, planned, { quantity: 2, when: 'periodEnd' });
  const paths = {
    planned: `/subscriptions/${planned.id}`,
    customer: `/customers/${customer.id}`,
    plan: `/plans/${plan.id}`,
    payment: `/payments/${payment.id}`,
    subscription: `/subscriptions/${subscription.id}`,
    unpaid: `/subscriptions/${unpaid.id}`,
    paymentMethods: `/customers/${customer.id}/payment-methods`,
  };
  const read = () => Promise.all(Object.values(paths).map(async (path) => (await call('GET', path)).json()));
  const before = await read();

  proxy.ignoreChanges();
  for (const [method, path, body] of [
    ['PATCH', paths.customer, { name: 'Grace' }],
    ['POST', `${paths.plan}/archive`, undefined],
    ['PATCH', paths.payment, { metadata: { a: '1' } }],
    ['POST', `${paths.payment}/cancel`, undefined],
    ['PATCH', paths.subscription, { metadata: { a: '1' } }],
    ['PATCH', paths.subscription, { cancelAtPeriodEnd: true }],
    ['PATCH', paths.subscription, { paymentMethodId: newDefault }],
    ['PATCH', paths.subscription, { quantity: 3 }],
    ['PATCH', paths.planned, { quantity: 3 }],
    ['PATCH', paths.planned, { quantity: 3, when: 'periodEnd' }],
    ['PATCH', paths.planned, { quantity: 1, when: 'periodEnd' }],
    ['PATCH', paths.planned, { cancelAtPeriodEnd: true }],
    ['PATCH', paths.planned, { paymentMethodId: newDefault }],
    ['DELETE', paths.subscription, undefined],
    ['POST', `${paths.unpaid}/pay`, { paymentMethodId: newDefault }],
    ['PUT', `${paths.customer}/default-payment-method`, { paymentMethodId: newDefault }],
    ['DELETE', `${paths.customer}/payment-methods/${removable}`, undefined],
    ['DELETE', paths.customer, undefined],
  ] as const)
    await readProblem(await call(method, path, body), 502, 'processor_bad_answer');
  assert.deepEqual(await read(), before);
  const same = await call('PATCH', paths.customer, { name: 'Ada' });
  assert.equal(same.status, 200, 'nothing was to change');
});
