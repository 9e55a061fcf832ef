import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { after, test } from 'node:test';
import { readJson } from '../support/client.ts';
import { assertMistake } from '../support/invalid.ts';
import {
  type AddOnBody,
  type CreatedSubscriptionBody,
  confirmSecret,
  createCustomer,
  createMeteredPrice,
  createPlan,
  createSubscription,
  readSubscription,
  type SubscriptionBody,
} from '../support/objects.ts';
import { readProblem } from '../support/problem.ts';
import { startTill } from '../support/till.ts';

const till = await startTill({ in: 'process', for: { after }, mustNotLogErrors: true });
const { call, stripe } = till;

const plan = await createPlan(till);
const seats = await createPlan(till, { name: 'Seats', amount: 500, addOn: true });
const support = await createPlan(till, { name: 'Support', amount: 2_000, addOn: true });

const many: readonly AddOnBody[] = await Promise.all(
  Array.from({ length: 100 }, async (_, index) => {
    const { id: planId } = await createPlan(till, { amount: 100 + index, addOn: true });
    return { planId, quantity: 1 };
  }),
);

function sorted(addOns: readonly AddOnBody[]): readonly AddOnBody[] {
  return addOns.toSorted((a, b) => (a.planId < b.planId ? -1 : 1));
}

async function create(values: object): Promise<Response> {
  const { id: customerId } = await createCustomer(till);
  return call('POST', '/subscriptions', { customerId, planId: plan.id, ...values });
}

async function itemsOf({ processorSubscriptionId }: SubscriptionBody) {
  const { items } = await stripe.subscriptions.retrieve(processorSubscriptionId);
  return items.data;
}

test('201: add-ons are billed with the main plan, by one invoice', async () => {
  const addOns = [
    { planId: support.id, quantity: 1 },
    { planId: seats.id, quantity: 3 },
  ];
  const { subscription } = await readJson<CreatedSubscriptionBody>(
    await create({ addOns, quantity: 2 }),
    201,
  );
  assert.deepEqual([subscription.planId, subscription.quantity], [plan.id, 2]);
  assert.deepEqual([subscription.addOns, subscription.otherItems], [sorted(addOns), []]);
  const { data } = await stripe.invoices.list({ subscription: subscription.processorSubscriptionId });
  assert.deepEqual(
    data.map((invoice) => invoice.amount_due),
    [2 * 900 + 3 * 500 + 2_000],
  );
  await till.settle();
  assert.deepEqual((await readSubscription(till, subscription)).addOns, sorted(addOns));
});

test('201: a repeated request creates one subscription, whatever the order of the list', async () => {
  const { id: customerId } = await createCustomer(till);
  const addOns = [
    { planId: seats.id, quantity: 1 },
    { planId: support.id, quantity: 1 },
  ];
  const body = { customerId, planId: plan.id, idempotencyKey: randomUUID() };
  const first = await readJson<CreatedSubscriptionBody>(
    await call('POST', '/subscriptions', { ...body, addOns }),
    201,
  );
  const again = { ...body, addOns: [{ planId: support.id }, { planId: seats.id.toUpperCase() }] };
  assert.deepEqual(await readJson(await call('POST', '/subscriptions', again), 201), first);
  const other = await call('POST', '/subscriptions', { ...body, addOns: [] });
  await readProblem(other, 422, 'idempotency_key_reused');
});

test('201: an empty list makes no other request', async () => {
  const { id: customerId } = await createCustomer(till);
  const body = { customerId, planId: plan.id, idempotencyKey: randomUUID() };
  const first = await readJson(await call('POST', '/subscriptions', body), 201);
  assert.deepEqual(await readJson(await call('POST', '/subscriptions', { ...body, addOns: [] }), 201), first);
});

test('201: 99 add-ons are possible, although the processor shows ten items at a time', async () => {
  const addOns = many.slice(0, 99).map(({ planId }, index) => ({ planId, quantity: index + 1 }));
  const { subscription } = await readJson<CreatedSubscriptionBody>(await create({ addOns }), 201);
  assert.deepEqual(subscription.addOns, sorted(addOns));
  await till.settle();
  assert.deepEqual((await readSubscription(till, subscription)).addOns, sorted(addOns));
});

test('400: a plan is listed once, and is not the main plan', async () => {
  const mistakes: readonly [object, string][] = [
    [[{ planId: seats.id }, { planId: seats.id, quantity: 2 }], 'body.addOns.1.planId'],
    [[{ planId: plan.id, quantity: 1 }], 'body.addOns.0.planId'],
  ];
  for (const [addOns, path] of mistakes) await assertMistake(await create({ addOns }), path);
});

test('409: the processor decides how many items are too many, and a refused request leaves nothing', async () => {
  const { id: planId } = await createPlan(till, { group: 'crowded' });
  const { id: customerId, processorCustomerId: customer } = await createCustomer(till);
  const url = 'https://example.com';
  const post = (path: string, addOns: readonly AddOnBody[], more: object = {}) =>
    call('POST', path, { customerId, planId, addOns, idempotencyKey: 'one', ...more });
  const page = { successUrl: url, cancelUrl: url, idempotencyKey: 'page' };
  await readProblem(await post('/subscriptions', many), 409, 'too_many_items');
  // The page allows fewer lines.
  await readProblem(await post('/checkouts', many.slice(0, 20), page), 409, 'too_many_items');
  assert.deepEqual((await stripe.subscriptions.list({ customer, status: 'all' })).data, []);
  assert.deepEqual((await stripe.checkout.sessions.list({ customer })).data, []);
  // Neither the group nor the idempotency keys are held.
  const opened = await post('/checkouts', many.slice(0, 19), page);
  const { checkout } = await readJson<{ readonly checkout: { readonly id: string } }>(opened, 201);
  await readJson(await call('POST', `/checkouts/${checkout.id}/expire`), 200);
  await readJson(await post('/subscriptions', many.slice(0, 20)), 201);
});

test('409: only add-ons are add-ons, and an add-on is not sold alone', async () => {
  await readProblem(await create({ planId: seats.id }), 409, 'plan_is_add_on');
  const other = await createPlan(till);
  await readProblem(await create({ addOns: [{ planId: other.id, quantity: 1 }] }), 409, 'plan_is_no_add_on');
});

test('409: an add-on has the currency and the interval of the main plan, and is not archived', async () => {
  const refused = async (values: object, code: string) => {
    const { id: planId } = await createPlan(till, { addOn: true, ...values });
    await readProblem(await create({ addOns: [{ planId, quantity: 1 }] }), 409, code);
    return planId;
  };
  await refused({ currency: 'usd' }, 'currency_mismatch');
  await refused({ interval: 'year' }, 'interval_mismatch');
  await refused({ intervalCount: 2 }, 'interval_mismatch');
  const archived = await createPlan(till, { addOn: true });
  await readJson(await call('POST', `/plans/${archived.id}/archive`), 200);
  const addOns = [{ planId: archived.id, quantity: 1 }];
  await readProblem(await create({ addOns }), 409, 'plan_archived');
  await readProblem(await create({ addOns: [{ planId: randomUUID(), quantity: 1 }] }), 404, 'not_found');
});

test('add-ons reserve no group, and block no other subscription', async () => {
  const group = randomUUID();
  const grouped = await createPlan(till, { group });
  const { id: customerId } = await createCustomer(till);
  const addOns = [{ planId: seats.id, quantity: 1 }];
  await createSubscription(till, { customerId, planId: grouped.id, addOns });
  await createSubscription(till, { customerId, planId: plan.id, addOns });
  const again = await call('POST', '/subscriptions', { customerId, planId: grouped.id, addOns });
  await readProblem(again, 409, 'already_subscribed');
});

test('items that are added, changed and removed elsewhere are shown, and never change the main plan', async () => {
  const addOns = [{ planId: seats.id, quantity: 1 }];
  const { subscription, clientSecret } = await createSubscription(till, { planId: plan.id, addOns });
  await confirmSecret(till, String(clientSecret));
  const [, seatsItem] = await itemsOf(subscription);
  const other = await createPlan(till, { name: 'Silver' });
  const meter = await createMeteredPrice(till);
  const shown = async () => {
    await till.settle();
    const { planId, addOns: shownAddOns, otherItems } = await readSubscription(till, subscription);
    assert.equal(planId, plan.id);
    return [shownAddOns, otherItems];
  };
  const { processorSubscriptionId: id } = subscription;
  await stripe.subscriptions.update(id, { items: [{ price: meter }, { price: other.processorPriceId }] });
  const traffic = { processorPriceId: meter, quantity: null, description: 'Traffic' };
  const silver = { planId: other.id, quantity: 1 };
  assert.deepEqual(await shown(), [sorted([...addOns, silver]), [traffic]]);
  await stripe.subscriptions.update(id, { items: [{ id: seatsItem?.id ?? '', quantity: 5 }] });
  assert.deepEqual(await shown(), [sorted([{ planId: seats.id, quantity: 5 }, silver]), [traffic]]);
  await stripe.subscriptions.update(id, { items: [{ id: seatsItem?.id ?? '', deleted: true }] });
  assert.deepEqual(await shown(), [[silver], [traffic]]);
});

test('two items with the same plan, which the processor does not create, stop no event', async () => {
  const addOns = [{ planId: seats.id, quantity: 1 }];
  const { subscription, clientSecret } = await createSubscription(till, { planId: plan.id, addOns });
  await confirmSecret(till, String(clientSecret));
  await till.settle();
  const { data } = await stripe.events.list({ type: 'customer.subscription.updated', limit: 1 });
  const event = structuredClone(data[0]);
  assert(event?.type === 'customer.subscription.updated');
  const { items } = event.data.object;
  const [twice] = items.data.filter(({ price }) => price.id === seats.processorPriceId);
  assert(twice !== undefined && event.data.object.id === subscription.processorSubscriptionId);
  items.data.push({ ...twice, id: 'si_second' });
  await till.take(JSON.stringify({ ...event, id: 'evt_twice', created: event.created + 60 }));
  assert.deepEqual((await readSubscription(till, subscription)).addOns, [...addOns, ...addOns]);
});

test('a subscription that was created elsewhere with several plans is recorded', async () => {
  const customer = await createCustomer(till);
  const { id } = await stripe.subscriptions.create({
    customer: customer.processorCustomerId,
    items: [{ price: seats.processorPriceId, quantity: 4 }, { price: plan.processorPriceId }],
    payment_behavior: 'default_incomplete',
  });
  await till.settle();
  const { data } = await till.get<{ data: readonly SubscriptionBody[] }>(
    `/subscriptions?customerId=${customer.id}`,
  );
  assert.deepEqual(
    data.map((one) => [one.processorSubscriptionId, one.planId, one.addOns]),
    [[id, plan.id, [{ planId: seats.id, quantity: 4 }]]],
  );
});
