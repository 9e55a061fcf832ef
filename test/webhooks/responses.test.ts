/**
 * What Till reads from the processor, or gets in response to a change, is newer than any event from before the request,
 * and stays when such an event arrives late.
 */
import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import type { Stripe } from 'stripe';
import {
  type CustomerBody,
  confirmSecret,
  createCustomer,
  createPlan,
  readSubscription,
  type SubscriptionBody,
} from '../support/objects.ts';
import { startTill } from '../support/till.ts';

const till = await startTill({ in: 'process', for: { after } });

function rename(id: string, change: object): Promise<Response> {
  return till.fetch(`/api/v1/customers/${id}`, {
    method: 'PATCH',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(change),
  });
}

const readName = async (id: string) => (await till.get<CustomerBody>(`/customers/${id}`)).name;

/** The processor's events about an object, oldest first. */
async function eventsOf(objectId: string): Promise<readonly Stripe.Event[]> {
  const events = await till.stripe.events.list({ limit: 100 });
  return events.data.filter(({ data: { object } }) => 'id' in object && object.id === objectId).toReversed();
}

const moveClock = (advanceSeconds: number) => till.control('clock', { advanceSeconds });

test('a late event about the first of two changes does not undo the second', async () => {
  const customer = await createCustomer(till);
  await moveClock(5);
  assert.equal((await rename(customer.id, { name: 'First' })).status, 200);
  await moveClock(5);
  assert.equal((await rename(customer.id, { name: 'Second' })).status, 200);
  const [first] = (await eventsOf(customer.processorCustomerId)).filter(
    ({ type }) => type === 'customer.updated',
  );
  assert(first !== undefined);
  await till.take(JSON.stringify(first));
  assert.equal(await readName(customer.id), 'Second');
});

test('a repeated request reads the current state, which a late event does not overwrite', async () => {
  const [{ id: customerId }, { id: planId }] = [await createCustomer(till), await createPlan(till)];
  const order = { customerId, planId, idempotencyKey: 'replayed' };
  const created = await till.post<{ subscription: SubscriptionBody; clientSecret: string }>(
    '/subscriptions',
    order,
  );
  const { subscription, clientSecret } = created;
  await confirmSecret(till, clientSecret);
  await moveClock(60);
  const [paid] = (await eventsOf(subscription.processorSubscriptionId)).slice(-1);
  assert(paid !== undefined);
  // A payment failed in between and was paid later. Of this only the failure reaches Till, after the repeated request.
  const late = { ...paid, id: 'evt_late', created: paid.created + 30 };
  Object.assign(late.data.object, { status: 'past_due' });
  const repeated = await till.post<{ subscription: SubscriptionBody }>('/subscriptions', order);
  assert.equal(repeated.subscription.status, 'active');
  await till.take(JSON.stringify(late));
  assert.equal((await readSubscription(till, subscription)).status, 'active');
});

test('an event dated between a request and its response is settled by reading the processor', async () => {
  const customer = await createCustomer(till);
  await moveClock(5);
  await till.control('faults', { operation: 'customers.update', kind: 'latency', latencyMs: 500, times: 1 });
  const renaming = rename(customer.id, { phone: '+15550100' });
  await till.faultsTaken();
  // While the request waits at the processor, the dashboard changes the customer; then the request is carried out.
  await moveClock(10);
  await till.stripe.customers.update(customer.processorCustomerId, { name: 'Dashboard' });
  assert.equal((await renaming).status, 200);
  const events = await eventsOf(customer.processorCustomerId);
  const updates = events.filter(({ type }) => type === 'customer.updated');
  assert.equal(updates.length, 2);
  await till.take(JSON.stringify(updates[0]));
  const { name, phone } = await till.get<CustomerBody & { phone: string }>(`/customers/${customer.id}`);
  assert.deepEqual([name, phone], ['Dashboard', '+15550100']);
});

test('an event dated after the response is taken without a read', async () => {
  const customer = await createCustomer(till);
  assert.equal((await rename(customer.id, { name: 'Ours' })).status, 200);
  await moveClock(2);
  await till.stripe.customers.update(customer.processorCustomerId, { name: 'Theirs' });
  const [latest] = (await eventsOf(customer.processorCustomerId)).slice(-1);
  const reads = await till.count('processor_request_duration_seconds', { operation: 'customers.read' });
  await till.take(JSON.stringify(latest));
  assert.equal(await readName(customer.id), 'Theirs');
  assert.equal(
    await till.count('processor_request_duration_seconds', { operation: 'customers.read' }),
    reads,
  );
});

test('a row that a resync found equal is not overwritten by a late event from before it', async () => {
  const customer = await createCustomer(till);
  const { processorCustomerId } = customer;
  await moveClock(5);
  await till.stripe.customers.update(processorCustomerId, { name: 'Other' });
  await moveClock(5);
  await till.stripe.customers.update(processorCustomerId, { name: customer.name ?? '' });
  await moveClock(5);
  assert.deepEqual(await till.services.resync.all(), []);
  const events = await eventsOf(processorCustomerId);
  const [late] = events.filter(({ type }) => type === 'customer.updated');
  assert(late !== undefined);
  await till.take(JSON.stringify(late));
  assert.equal(await readName(customer.id), customer.name);
});
