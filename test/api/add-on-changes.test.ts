import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { after, beforeEach, describe, test } from 'node:test';
import { newestInvoice, type Subscribed, subscribed, useCard, waitingItems } from '../support/changes.ts';
import { readJson } from '../support/client.ts';
import { assertMistake } from '../support/invalid.ts';
import {
  type AddOnBody,
  createCustomer,
  createMeteredPrice,
  createPlan,
  type PlanBody,
  type SubscriptionBody,
} from '../support/objects.ts';
import { endSubscriptions } from '../support/past-due.ts';
import { readProblem } from '../support/problem.ts';
import { startTill } from '../support/till.ts';

const till = await startTill({ in: 'process', for: { after }, mustNotLogErrors: true });
const { call, stripe } = till;
beforeEach(() => endSubscriptions(till));

const [gold, silver] = [await createPlan(till), await createPlan(till, { name: 'Silver', amount: 400 })];
const addOnPlan = (name: string, amount: number) => createPlan(till, { name, amount, addOn: true });
const [seats, support] = [await addOnPlan('Seats', 500), await addOnPlan('Support', 2_000)];
const daySeconds = 86_400;

const of = ({ id: planId }: PlanBody, quantity = 1): AddOnBody => ({ planId, quantity });

function sorted(...addOns: readonly AddOnBody[]): readonly AddOnBody[] {
  return addOns.toSorted((a, b) => (a.planId < b.planId ? -1 : 1));
}

function termsOf({ planId, quantity, addOns }: SubscriptionBody) {
  return [planId, quantity, addOns];
}

async function pricesOf({ processorSubscriptionId }: SubscriptionBody) {
  const { items } = await stripe.subscriptions.retrieve(processorSubscriptionId);
  return new Map(items.data.map(({ price, quantity, id }) => [price.id, { quantity, id }]));
}

/** The number of updates that billed something or changed items. */
async function countUpdates({ processorSubscriptionId }: SubscriptionBody): Promise<number> {
  const { data } = await stripe.events.list({ type: 'customer.subscription.updated', limit: 100 });
  return data.filter(
    ({ data: { object, previous_attributes: before } }) =>
      'id' in object && object.id === processorSubscriptionId && before !== undefined && 'items' in before,
  ).length;
}

async function moveClock(advanceSeconds: number): Promise<void> {
  await till.control('clock', { advanceSeconds });
}

async function renew({ subscription, read }: Subscribed): Promise<SubscriptionBody> {
  const { currentPeriodEnd } = await read();
  const { now } = Object(await till.control('clock', { advanceSeconds: 0 }));
  await moveClock(Date.parse(String(currentPeriodEnd)) / 1_000 - Number(now) + 2 * 3_600);
  await till.settle();
  assert.equal((await newestInvoice(till, subscription)).status, 'paid');
  return read();
}

describe('a change of add-ons now', () => {
  test('200: the list replaces the add-ons in one call and one bill, and an empty one removes all', async () => {
    const { subscription, changed, previewed, read } = await subscribed(till, {
      planId: gold.id,
      addOns: [of(seats, 2)],
    });
    await moveClock(10 * daySeconds);
    const body = {
      planId: silver.id,
      quantity: 3,
      addOns: [of(support), of(seats, 5)],
      proration: 'invoice',
    };
    const { amountDue, prorationDate } = await previewed(body);
    const { subscription: after } = await changed({ ...body, prorationDate });
    assert.deepEqual(termsOf(after), [silver.id, 3, sorted(of(support), of(seats, 5))]);
    assert.equal(await countUpdates(subscription), 1);
    const invoice = await newestInvoice(till, subscription);
    assert.deepEqual([invoice.status, invoice.amount_due], ['paid', amountDue]);
    await till.settle();
    assert.deepEqual(termsOf(await read()), termsOf(after));
    const none = await changed({ addOns: [] });
    assert.deepEqual(termsOf(none.subscription), [silver.id, 3, []]);
    assert.deepEqual([...(await pricesOf(subscription)).keys()], [silver.processorPriceId]);
  });

  test('200: without the list the add-ons stay, and the current list changes nothing', async () => {
    const { subscription, changed } = await subscribed(till, { planId: gold.id, addOns: [of(seats, 2)] });
    const before = await pricesOf(subscription);
    await changed({ addOns: [of(seats, 2)], proration: 'invoice' });
    assert.deepEqual(await pricesOf(subscription), before);
    assert.equal((await newestInvoice(till, subscription)).billing_reason, 'subscription_create');
    const { subscription: after } = await changed({ quantity: 2 });
    assert.deepEqual(termsOf(after), [gold.id, 2, [of(seats, 2)]]);
    const item = before.get(seats.processorPriceId);
    assert.deepEqual((await pricesOf(subscription)).get(seats.processorPriceId), item);
  });

  test('200: an add-on that is removed again keeps its proration for the next invoice', async () => {
    const { subscription, changed } = await subscribed(till, { planId: gold.id });
    await moveClock(10 * daySeconds);
    await changed({ addOns: [of(support)] });
    const added = await waitingItems(till, subscription);
    assert.equal(added.length, 1);
    await changed({ addOns: [] });
    const removed = await waitingItems(till, subscription);
    assert.deepEqual([removed.length, removed.reduce((sum, { amount }) => sum + amount, 0)], [2, 0]);
  });

  test('200: two plans exchange their roles without a bill, and the mark survives events', async () => {
    const { subscription, changed, read } = await subscribed(till, { planId: gold.id });
    const { processorSubscriptionId: id } = subscription;
    await stripe.subscriptions.update(id, { items: [{ price: silver.processorPriceId, quantity: 2 }] });
    await till.settle();
    assert.deepEqual(termsOf(await read()), [gold.id, 1, [of(silver, 2)]]);
    const waiting = (await waitingItems(till, subscription)).length;
    const { subscription: after } = await changed({ planId: silver.id, quantity: 2, addOns: [of(gold)] });
    assert.deepEqual(termsOf(after), [silver.id, 2, [of(gold)]]);
    assert.equal((await waitingItems(till, subscription)).length, waiting);
    await stripe.subscriptions.update(id, { metadata: { touched: 'yes' } });
    await till.settle();
    assert.deepEqual(termsOf(await read()), [silver.id, 2, [of(gold)]]);
    const { subscription: back } = await changed({ planId: gold.id, quantity: 1, addOns: [of(silver, 2)] });
    assert.deepEqual(termsOf(back), [gold.id, 1, [of(silver, 2)]]);
  });

  test('200: a former main plan that is added again elsewhere is an add-on', async () => {
    const { subscription, changed, read } = await subscribed(till, { planId: gold.id });
    await changed({ planId: silver.id, addOns: [of(gold)] });
    const bronze = await createPlan(till, { name: 'Bronze', amount: 300 });
    await changed({ planId: bronze.id, addOns: [] });
    await stripe.subscriptions.update(subscription.processorSubscriptionId, {
      items: [{ price: silver.processorPriceId }],
    });
    await till.settle();
    assert.deepEqual(termsOf(await read()), [bronze.id, 1, [of(silver)]]);
  });

  test('200: an add-on becomes the main plan, and the old one goes', async () => {
    const { subscription, changed } = await subscribed(till, { planId: gold.id, addOns: [of(seats)] });
    const { processorSubscriptionId: id } = subscription;
    await stripe.subscriptions.update(id, { items: [{ price: silver.processorPriceId, quantity: 2 }] });
    await till.settle();
    const { subscription: after } = await changed({ planId: silver.id });
    assert.deepEqual(termsOf(after), [silver.id, 1, [of(seats)]]);
  });

  test('200: what the subscription has may stay, archived or not an add-on, with any quantity', async () => {
    const { subscription, changed } = await subscribed(till, { planId: gold.id });
    const archived = await addOnPlan('Old', 100);
    await changed({ addOns: [of(archived)] });
    await readJson(await call('POST', `/plans/${archived.id}/archive`), 200);
    await stripe.subscriptions.update(subscription.processorSubscriptionId, {
      items: [{ price: silver.processorPriceId }],
    });
    await till.settle();
    const { subscription: after } = await changed({ addOns: [of(archived, 4), of(silver, 2)] });
    assert.deepEqual(termsOf(after), [gold.id, 1, sorted(of(archived, 4), of(silver, 2))]);
  });

  test('200: a change that needs authentication waits with its add-ons, and applies them once it is paid', async () => {
    const { changed, read, subscription } = await subscribed(till, {
      planId: gold.id,
      addOns: [of(seats)],
      card: 'pm_card_authenticationRequired',
    });
    const body = { addOns: [of(support), of(seats, 3)], proration: 'invoice' };
    const { subscription: waiting, clientSecret } = await changed(body);
    assert.deepEqual(termsOf(waiting), [gold.id, 1, [of(seats)]]);
    const addOns = sorted(of(support), of(seats, 3));
    assert.deepEqual(waiting.pendingChange, { planId: gold.id, quantity: 1, addOns, at: null });
    assert.equal(typeof clientSecret, 'string');
    await till.settle();
    assert.deepEqual((await read()).pendingChange, waiting.pendingChange);
    await stripe.invoices.pay((await newestInvoice(till, subscription)).id ?? '', {
      payment_method: 'pm_card_visa',
    });
    await till.settle();
    assert.deepEqual(termsOf(await read()), [gold.id, 1, addOns]);
  });

  test('200: without any plan at the processor, a new main plan is added, and the other items stay', async () => {
    const { subscription, change, changed, read } = await subscribed(till, { planId: gold.id });
    const { processorSubscriptionId: id } = subscription;
    const product = (await stripe.products.create({ name: 'Boxes' })).id;
    const boxes = await stripe.prices.create({
      ...{ product, currency: gold.currency, unit_amount: 100, recurring: { interval: 'month' } },
      transform_quantity: { divide_by: 10, round: 'up' },
    });
    const main = (await pricesOf(subscription)).get(gold.processorPriceId)?.id ?? '';
    await stripe.subscriptions.update(id, {
      items: [
        { price: boxes.id, quantity: 7 },
        { id: main, deleted: true },
      ],
    });
    await till.settle();
    const other = { processorPriceId: boxes.id, quantity: 7, description: null };
    assert.deepEqual((await read()).otherItems, [other]);
    for (const body of [{ quantity: 5 }, { addOns: [of(seats)] }])
      await assertMistake(await change(body), 'body.planId');
    const { subscription: after } = await changed({ planId: silver.id });
    assert.deepEqual([...termsOf(after), after.otherItems], [silver.id, 1, [], [other]]);
    assert.equal((await pricesOf(subscription)).get(boxes.id)?.quantity, 7);
  });

  test('200: a repeated request changes once', async () => {
    const { subscription, changed } = await subscribed(till, { planId: gold.id });
    const body = { addOns: [of(seats, 2)], proration: 'invoice', idempotencyKey: randomUUID() };
    const first = await changed(body);
    assert.deepEqual(await changed(body), first);
    assert.equal(await countUpdates(subscription), 1);
  });
});

describe('a change at the end of the period', () => {
  test('200: restates all items, waits with its add-ons, and applies with the renewal', async () => {
    const one = await subscribed(till, { planId: gold.id, addOns: [of(seats, 2)] });
    const { subscription, changed, previewed, read } = one;
    const meter = await createMeteredPrice(till);
    await stripe.subscriptions.update(subscription.processorSubscriptionId, { items: [{ price: meter }] });
    await till.settle();
    const body = { planId: silver.id, addOns: [of(support, 2)], when: 'periodEnd' };
    const preview = await previewed(body);
    const { subscription: planned } = await changed(body);
    assert.deepEqual(termsOf(planned), [gold.id, 1, [of(seats, 2)]]);
    const { pendingChange, currentPeriodEnd: at } = planned;
    assert.deepEqual(pendingChange, { planId: silver.id, quantity: 1, addOns: [of(support, 2)], at });
    await till.settle();
    assert.deepEqual((await read()).pendingChange, pendingChange);
    const renewed = await renew(one);
    assert.deepEqual(termsOf(renewed), [silver.id, 1, [of(support, 2)]]);
    assert.deepEqual(renewed.otherItems, [
      { processorPriceId: meter, quantity: null, description: 'Traffic' },
    ]);
    assert.equal((await newestInvoice(till, subscription)).amount_due, preview.amountDue);
  });

  test('200: the main plan stays the main plan among several plans', async () => {
    const one = await subscribed(till, { planId: gold.id });
    const { subscription, changed } = one;
    const { processorSubscriptionId: id } = subscription;
    await stripe.subscriptions.update(id, { items: [{ price: silver.processorPriceId }] });
    await till.settle();
    const bronze = await createPlan(till, { name: 'Bronze', amount: 200 });
    const { subscription: planned } = await changed({ planId: bronze.id, when: 'periodEnd' });
    assert.deepEqual(
      [planned.pendingChange?.planId, planned.pendingChange?.addOns],
      [bronze.id, [of(silver)]],
    );
    assert.deepEqual(termsOf(await renew(one)), [bronze.id, 1, [of(silver)]]);
    const { subscription: swapped } = await changed({
      ...{ planId: silver.id, addOns: [of(bronze)], when: 'periodEnd' },
    });
    assert.deepEqual(
      [swapped.pendingChange?.planId, swapped.pendingChange?.addOns],
      [silver.id, [of(bronze)]],
    );
    assert.deepEqual(termsOf(await renew(one)), [silver.id, 1, [of(bronze)]]);
  });

  test('200: a change to the current plans drops the pending one', async () => {
    const { changed } = await subscribed(till, { planId: gold.id, addOns: [of(seats)] });
    await changed({ addOns: [], when: 'periodEnd' });
    const { subscription } = await changed({ addOns: [of(seats)], when: 'periodEnd' });
    assert.deepEqual([subscription.pendingChange, subscription.addOns], [null, [of(seats)]]);
  });

  test('200: another interval needs add-ons of that interval', async () => {
    const one = await subscribed(till, { planId: gold.id, addOns: [of(seats)] });
    const yearly = await createPlan(till, { interval: 'year', amount: 9_000 });
    const yearlySeats = await createPlan(till, { interval: 'year', amount: 5_000, addOn: true });
    for (const when of ['now', 'periodEnd']) {
      await readProblem(await one.change({ planId: yearly.id, when }), 409, 'interval_mismatch');
      const kept = { planId: yearly.id, addOns: [of(seats)], when };
      await readProblem(await one.change(kept), 409, 'interval_mismatch');
      await readProblem(await call('POST', `${one.path}/preview`, kept), 409, 'interval_mismatch');
    }
    await one.changed({ planId: yearly.id, addOns: [of(yearlySeats, 2)], when: 'periodEnd' });
    assert.deepEqual(termsOf(await renew(one)), [yearly.id, 1, [of(yearlySeats, 2)]]);
    const back = { planId: gold.id, addOns: [of(seats, 3)] };
    assert.deepEqual(termsOf((await one.changed(back)).subscription), [gold.id, 1, [of(seats, 3)]]);
  });
});

describe('concurrent changes', () => {
  test('two lists at the same time are applied one after the other, and each is billed once', async () => {
    const { subscription, change, read } = await subscribed(till, { planId: gold.id });
    const lists = [[of(seats, 2)], [of(support), of(seats)]];
    const responses = await Promise.all(lists.map((addOns) => change({ addOns, proration: 'invoice' })));
    for (const response of responses) await readJson(response, 200);
    await till.settle();
    const { addOns } = await read();
    assert.ok(lists.some((one) => JSON.stringify(sorted(...one)) === JSON.stringify(addOns)));
    assert.equal(await countUpdates(subscription), 2);
  });

  test('a list beside a change elsewhere ends as the processor has it', async () => {
    const one = await subscribed(till, { planId: gold.id, addOns: [of(seats)] });
    const { subscription, change, read } = one;
    const { processorSubscriptionId: id } = subscription;
    const item = (await pricesOf(subscription)).get(seats.processorPriceId)?.id ?? '';
    const [response] = await Promise.all([
      change({ addOns: [of(seats, 4), of(support)] }),
      stripe.subscriptions.update(id, { items: [{ id: item, deleted: true }] }),
    ]);
    assert.ok([200, 409].includes(response.status), String(response.status));
    await till.settle();
    const prices = await pricesOf(subscription);
    const expected = [seats, support].flatMap((plan) => {
      const quantity = prices.get(plan.processorPriceId)?.quantity;
      return quantity === undefined ? [] : [of(plan, quantity)];
    });
    assert.deepEqual((await read()).addOns, sorted(...expected));
  });
});

describe('refusals', () => {
  test('400: a plan is listed once, and is not the main plan', async () => {
    const { change } = await subscribed(till, { planId: gold.id });
    await assertMistake(await change({ addOns: [of(seats), of(seats)] }), 'body.addOns.1.planId');
    await assertMistake(await change({ planId: silver.id, addOns: [of(silver)] }), 'body.addOns.0.planId');
    await assertMistake(await change({ addOns: [of(gold)] }), 'body.addOns');
    await assertMistake(await change({ addOns: [], cancelAtPeriodEnd: true }), 'body.cancelAtPeriodEnd');
  });

  test('409: what is new must be an active add-on with the currency and interval of the main plan', async () => {
    const { change, read } = await subscribed(till, { planId: gold.id });
    await till.settle();
    const before = await read();
    const refused = async (body: object, code: string) => {
      for (const when of ['now', 'periodEnd'])
        await readProblem(await change({ ...body, when }), code === 'not_found' ? 404 : 409, code);
    };
    await refused({ addOns: [of(silver)] }, 'plan_is_no_add_on');
    await refused({ planId: seats.id }, 'plan_is_add_on');
    await refused({ addOns: [{ planId: randomUUID(), quantity: 1 }] }, 'not_found');
    const usd = await createPlan(till, { currency: 'usd', addOn: true });
    await refused({ addOns: [of(usd)] }, 'currency_mismatch');
    const yearly = await createPlan(till, { interval: 'year', addOn: true });
    await refused({ addOns: [of(yearly)] }, 'interval_mismatch');
    await readJson(await call('POST', `/plans/${yearly.id}/archive`), 200);
    await refused({ addOns: [of(yearly)] }, 'plan_archived');
    assert.deepEqual(await read(), before);
  });

  test('409: other items keep their interval, so the main plan must', async () => {
    const { subscription, change } = await subscribed(till, { planId: gold.id });
    const items = [{ price: await createMeteredPrice(till) }];
    await stripe.subscriptions.update(subscription.processorSubscriptionId, { items });
    const yearly = await createPlan(till, { interval: 'year' });
    await readProblem(await change({ planId: yearly.id, addOns: [] }), 409, 'interval_mismatch');
  });

  /** In classic billing mode, the processor allows 20 items. */
  async function classic() {
    const { id: customerId, processorCustomerId: customer } = await createCustomer(till);
    const { id } = await stripe.paymentMethods.attach('pm_card_visa', { customer });
    const { id: processorId } = await stripe.subscriptions.create({
      ...{ customer, default_payment_method: id, billing_mode: { type: 'classic' } },
      items: [{ price: gold.processorPriceId }, { price: await createMeteredPrice(till) }],
    });
    await till.settle();
    const { data } = await till.get<{ data: SubscriptionBody[] }>(`/subscriptions?customerId=${customerId}`);
    const path = `/subscriptions/${String(data[0]?.id)}`;
    const change = (body: object) => call('PATCH', path, body);
    const previewed = (body: object) => call('POST', `${path}/preview`, body);
    const read = () => till.get<SubscriptionBody>(path);
    const stateOf = () =>
      stripe.subscriptions.retrieve(processorId, { expand: ['schedule', 'latest_invoice'] });
    return { change, previewed, read, stateOf, processorId };
  }

  test('409: the processor decides how many items are too many, and nothing changes, nor what is pending', async () => {
    const plans = await Promise.all(Array.from({ length: 19 }, (_, index) => addOnPlan(`A${index}`, 100)));
    const addOns = plans.map((one) => of(one));
    const { change, previewed, read, stateOf, processorId } = await classic();
    const refused = async () => {
      const before = [await read(), await stateOf()];
      for (const more of [{}, { proration: 'invoice' }, { when: 'periodEnd' }]) {
        await readProblem(await previewed({ addOns, ...more }), 409, 'too_many_items');
        await readProblem(await change({ addOns, ...more }), 409, 'too_many_items');
        assert.deepEqual([await read(), await stateOf()], before);
      }
    };
    await refused();
    await readJson(await change({ quantity: 4, when: 'periodEnd' }), 200);
    await refused();
    await useCard(till, { processorSubscriptionId: processorId }, 'pm_card_authenticationRequired');
    await readJson(await change({ quantity: 5, proration: 'invoice' }), 200);
    await refused();
    await useCard(till, { processorSubscriptionId: processorId }, 'pm_card_visa');
    const changed = await change({ addOns: addOns.slice(1) });
    const { subscription } = await readJson<{ subscription: SubscriptionBody }>(changed, 200);
    assert.deepEqual([subscription.addOns.length, subscription.otherItems.length], [18, 1]);
  });
});
