import assert from 'node:assert/strict';
import { test } from 'node:test';
import { startLab, startLabTill } from '../support/fault-lab.ts';
import { testKey } from '../support/frame.ts';
import { startIdleProcessor } from '../support/idle-processor.ts';
import { readProblem } from '../support/problem.ts';

test('502: a write that the processor accepts and does not carry out is no success, and changes nothing', async (t) => {
  const lab = await startLab(t);
  const processor = await startIdleProcessor(lab.processorUrl);
  lab.atEnd(() => processor.close());
  const { url, post } = await startLabTill(t, lab, { processorUrl: processor.url });
  const call = (method: string, path: string, body?: object) =>
    fetch(`${url}/api/v1${path}`, {
      method,
      headers: {
        'x-api-key': testKey,
        ...(body === undefined ? {} : { 'content-type': 'application/json' }),
      },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    });
  const make = async (path: string, body: object): Promise<Readonly<Record<string, unknown>>> => {
    const { status, body: made } = await post(`/api/v1${path}`, body);
    assert.equal(status, 201, JSON.stringify(made));
    return made;
  };
  const idOf = (made: unknown) => String(Object(made).id);

  const customerId = idOf(await make('/customers', { email: 'ada@example.com', name: 'Ada' }));
  const plan = { name: 'Gold', amount: 900, currency: 'eur', interval: 'month' };
  const planId = idOf(await make('/plans', plan));
  const order = { customerId, amount: 2_000, currency: 'eur' };
  const paymentId = idOf((await make('/payments', order))['payment']);
  const { subscription } = await make('/subscriptions', { customerId, planId, trialPeriodDays: 7 });
  const paths = {
    customer: `/customers/${customerId}`,
    plan: `/plans/${planId}`,
    payment: `/payments/${paymentId}`,
    subscription: `/subscriptions/${idOf(subscription)}`,
  };
  const read = () => Promise.all(Object.values(paths).map(async (path) => (await call('GET', path)).json()));
  const before = await read();

  processor.stopWorking();
  for (const [method, path, body] of [
    ['PATCH', paths.customer, { name: 'Grace' }],
    ['POST', `${paths.plan}/archive`, undefined],
    ['POST', `${paths.payment}/cancel`, undefined],
    ['DELETE', paths.subscription, undefined],
    ['DELETE', paths.customer, undefined],
  ] as const)
    await readProblem(await call(method, path, body), 502, 'processor_bad_answer');
  assert.deepEqual(await read(), before);
  const same = await call('PATCH', paths.customer, { name: 'Ada' });
  assert.equal(same.status, 200, 'nothing was to change');
});
