import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { assertTold, readTold } from '../support/checks/told.ts';
import { type CustomerBody, confirmPayment, createPayment, createPlan } from '../support/objects.ts';
import { startTill } from '../support/till.ts';

const till = await startTill({ in: 'process', for: { after }, mustNotLogErrors: true });
const { sql } = till;

const typesOf = async (id: string) => (await readTold(sql, id)).map(({ type }) => type);

test('a customer: created, updated, deleted', async () => {
  const customer = await till.post<CustomerBody>('/customers', { email: 'ada@example.com', name: 'Ada' });
  await till.call('PATCH', `/customers/${customer.id}`, { name: 'Ada King' });
  await till.settle();
  const [created, updated] = await readTold(sql, customer.id);
  assert.deepEqual(created?.data, customer);
  assert.deepEqual(updated?.previous, { name: 'Ada', updatedAt: customer.updatedAt });
  await till.fetch(`/api/v1/customers/${customer.id}`, { method: 'DELETE' });
  await till.settle();
  assert.deepEqual(await typesOf(customer.id), ['customer.created', 'customer.updated', 'customer.deleted']);
  await assertTold(till, sql);
});

test('a plan: created, updated, archived', async () => {
  const plan = await createPlan(till);
  await till.call('PATCH', `/plans/${plan.id}`, { name: 'Other' });
  await till.post(`/plans/${plan.id}/archive`);
  await till.settle();
  assert.deepEqual(await typesOf(plan.id), ['plan.created', 'plan.updated', 'plan.archived']);
  await assertTold(till, sql);
});

test('a payment: created, succeeded, refunded, with its refund', async () => {
  const payment = await createPayment(till);
  await confirmPayment(till, payment);
  await till.settle();
  const { refund } = await till.post<{ readonly refund: { readonly id: string } }>(
    `/payments/${payment.id}/refund`,
    { amount: 500 },
  );
  await till.settle();
  await till.post(`/payments/${payment.id}/refund`);
  await till.settle();
  assert.deepEqual(await typesOf(payment.id), [
    'payment.created',
    'payment.succeeded',
    'payment.refunded',
    'payment.refunded',
  ]);
  assert.deepEqual(await typesOf(refund.id), ['refund.created']);
  await assertTold(till, sql);
});
