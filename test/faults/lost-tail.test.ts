/**
 * A failover or a restored backup loses the newest claims and rows. Callers that repeat their requests get what was
 * acknowledged, and nothing happens twice.
 */
import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { type Backend, startBackend } from '../support/backend.ts';
import { subscribed } from '../support/changes.ts';
import { assertEventsComplete } from '../support/checks/outbox.ts';
import { type Client, createClient } from '../support/client.ts';
import { crashPoints } from '../support/crash-points.ts';
import { killAmid } from '../support/doomed-tills.ts';
import { effort } from '../support/effort.ts';
import { inTurn } from '../support/in-turn.ts';
import {
  type Acknowledged,
  assertSame,
  createBasicCases,
  createLostCases,
  inventory,
  type LostCase,
  sendLost,
} from '../support/lost-cases.ts';
import { confirmIntent, createCustomer, createPayment, createPlan, saveCard } from '../support/objects.ts';
import { chargesOf, createPastDue } from '../support/past-due.ts';
import { startProcessorProxy } from '../support/processor-proxy.ts';
import { takeSnapshot } from '../support/snapshots.ts';
import { startTill } from '../support/till.ts';

/** How many callers repeat each request at once, at two processes. */
const callers = effort({ short: 2, long: 6 });

/** Requests that were acknowledged and lost: the database is as it was before them, and no Till runs. */
async function loseTail(
  t: TestContext,
  create: (backend: Backend, till: Client) => Promise<readonly LostCase[]>,
) {
  const backend = await startBackend(t);
  const before = await startTill({ in: 'process', on: backend });
  const cases = await create(backend, before);
  await before.stop();
  const snapshot = await takeSnapshot(backend);
  const till = await startTill({ in: 'process', on: backend });
  const lost = await inTurn(cases, async (one): Promise<Acknowledged> => {
    const response = await sendLost(till, one);
    assert.equal(response.status, one.status, `${one.name}: ${JSON.stringify(response.body)}`);
    return { one, response };
  });
  await till.stop();
  await snapshot.restore();
  return { backend, lost, snapshot };
}

test('requests that are repeated after a restore get what was acknowledged, and create and charge nothing', async (t) => {
  const { backend, lost, snapshot } = await loseTail(t, createLostCases);
  const existing = await inventory(backend);

  await t.test(
    'one after the other, and a different one with the same idempotency key is refused',
    async () => {
      const till = await startTill({ in: 'process', on: backend });
      for (const one of lost) {
        // A different request with the same idempotency key is refused, and does not take the key.
        if (one.one.otherBody !== undefined) {
          const other = await sendLost(till, one.one, one.one.otherBody);
          assert.deepEqual([other.status, other.body['code']], [422, 'idempotency_key_reused'], one.one.name);
        }
        assertSame(one, await sendLost(till, one.one));
      }
      assert.deepEqual(await inventory(backend), existing);
      // The claims are there again.
      for (const { one, response } of lost) {
        const replayed = await sendLost(till, one);
        assert.deepEqual([replayed.status, replayed.replayed], [response.status, true], one.name);
      }
      await till.stop();
    },
  );

  await t.test('by many callers at two processes', async () => {
    await snapshot.restore();
    const tills = [
      await startTill({ in: 'process', on: backend }),
      await startTill({ in: 'process', on: backend }),
    ];
    for (const one of lost) {
      const repeated = await Promise.all(
        Array.from({ length: callers }, (_, index) =>
          sendLost(tills[index % tills.length] ?? assert.fail(), one.one),
        ),
      );
      for (const response of repeated) assertSame(one, response);
    }
    assert.deepEqual(await inventory(backend), existing);
    for (const till of tills) await till.stop();
  });

  await t.test(
    'after recovery has brought the rows back, which alone would refuse some of them',
    async () => {
      await snapshot.restore();
      const till = await startTill({ in: 'process', on: backend });
      await till.settle();
      for (const one of lost) assertSame(one, await sendLost(till, one.one));
      assert.deepEqual(await inventory(backend), existing);
      await assertEventsComplete(till, backend.sql);
      await till.stop();
    },
  );
});

test('customers and plans that the search of the processor does not show yet are found by listing', async (t) => {
  const { backend, lost } = await loseTail(t, async ({ control }) => {
    await control('search', { lagSeconds: 3_600 });
    const plan = { name: 'Young', amount: 500, currency: 'eur', interval: 'month' };
    const created = { method: 'POST', status: 201 } as const;
    return [
      { ...created, name: 'customer', path: '/customers', body: { email: 'young@example.com' } },
      { ...created, name: 'plan', path: '/plans', body: plan },
    ];
  });
  const { data } = await backend.stripe.customers.search({ query: `email:'young@example.com'` });
  assert.deepEqual(data, [], 'the search lags behind');
  const existing = await inventory(backend);
  const till = await startTill({ in: 'process', on: backend });
  for (const one of lost) assertSame(one, await sendLost(till, one.one));
  assert.deepEqual(await inventory(backend), existing);
});

/** What recovery has brought back, or what uses up its promotion code, is found without a call. */
const passedPoints = crashPoints.filter((point) => point !== 'call.before');

test('a process that is killed while it serves the repeated requests leaves what the next repetition finishes', async (t) => {
  const pointsCount = passedPoints.length;
  // In the long form each group meets each crash point. In the short form the groups are spread over the crash points.
  const isOfPoint = effort({
    short: (group: number, point: number) => group % pointsCount === point,
    long: () => true,
  });
  const walks = await inTurn([...passedPoints.entries()], async ([point, crashAt]) => {
    const groups: (readonly LostCase[])[] = [];
    const tail = await loseTail(t, async (backend, till) => {
      const all = await createBasicCases(backend, till);
      groups.push(...all.filter((_, group) => isOfPoint(group, point)));
      return groups.flat();
    });
    return { crashAt, groups, existing: await inventory(tail.backend), ...tail };
  });
  const deaths = Math.max(...walks.map(({ groups }) => groups.length));
  for (let death = 0; death < deaths; death += 1)
    await killAmid(
      walks.flatMap(({ backend, crashAt, groups }) => {
        const requests = groups[death]?.map((one) => ({ send: (till: Client) => sendLost(till, one) }));
        return requests === undefined ? [] : [{ on: backend, crashAt, requests }];
      }),
    );
  for (const { crashAt, backend, lost, existing } of walks)
    await t.test(`killed at ${crashAt}`, async () => {
      const till = await startTill({ in: 'process', on: backend });
      for (const one of lost) assertSame(one, await sendLost(till, one.one));
      assert.deepEqual(await inventory(backend), existing);
    });
});

/** Loses the claims of an idempotency key, as a failover does. The rows may be there again. */
async function loseClaims({ sql }: Backend, key: string): Promise<void> {
  await sql('delete from till.idempotency_claims where key = $1', [key]);
}

test('a refusal frees the idempotency key: the processor repeats it, and the request continues with the next idempotency key at the processor', async (t) => {
  const backend = await startBackend(t);
  const proxy = await startProcessorProxy(backend);
  const till = await startTill({ in: 'process', on: backend, processorUrl: proxy.url });
  const payment = await createPayment(till, { captureMethod: 'manual' });
  const capture = () => till.tryPost(`/payments/${payment.id}/capture`, {}, 'early');
  // The parameters are the same each time, so that the processor repeats its refusals.
  for (let refusals = 0; refusals < 3; refusals += 1) assert.equal((await capture()).status, 409);
  await confirmIntent(backend, payment.processorPaymentIntentId);
  const captured = await capture();
  assert.deepEqual([captured.status, captured.body['amountReceived']], [200, payment.amount]);
  const suffixes = proxy.seen.flatMap(({ path, idempotencyKey }) =>
    path.endsWith('/capture') ? [idempotencyKey?.split('-').at(-1)] : [],
  );
  assert.deepEqual(suffixes.slice(-4), ['1', '2', '3', '4']);
  await loseClaims(backend, 'early');
  assert.deepEqual((await capture()).body, captured.body);
});

test('a creation with a later idempotency key at the processor is found after its claim is lost', async (t) => {
  const backend = await startBackend(t);
  const till = await startTill({ in: 'process', on: backend });
  const customer = await createCustomer(till);
  const { id: paymentMethodId } = await backend.stripe.paymentMethods.attach('pm_card_visa', {
    customer: customer.processorCustomerId,
  });
  const order = {
    customerId: customer.id,
    amount: 1_900,
    currency: 'eur',
    offSession: true,
    paymentMethodId,
  };
  const pay = () => till.tryPost('/payments', order, 'failed-first');
  // The processor remembers this failure, so that the payment is created with the next idempotency key.
  await backend.setFault({ operation: 'payment_intents.create', kind: 'error', status: 500 });
  const paid = await pay();
  assert.equal(paid.status, 201);
  await till.services.idempotency.stop();
  await loseClaims(backend, 'failed-first');
  assert.deepEqual((await pay()).body['payment'], paid.body['payment']);
  assert.equal((await backend.stripe.charges.list()).data.length, 1);
});

test('two databases on one account never meet, nor do two applications', async (t) => {
  const backend = await startBackend(t);
  const other = await startBackend(t);
  await other.sql('update till.installation set id = gen_random_uuid()');
  const till = await startTill({ in: 'process', on: backend });
  const elsewhere = await startTill({ in: 'process', on: other, processorUrl: backend.processorUrl });
  const applications = await inTurn(['shop', 'office'], async (name) => {
    const { key } = await till.post<{ readonly key: string }>('/api-keys', { name, scopes: ['write'] });
    return createClient(till, key);
  });
  const callersOfKey = [till, elsewhere, ...applications];
  const signUp = () =>
    inTurn(callersOfKey, async (caller) => {
      const { status, body } = await caller.tryPost('/customers', { email: 'same@example.com' }, 'same');
      assert.equal(status, 201, JSON.stringify(body));
      return body['id'];
    });
  const ids = await signUp();
  assert.equal(new Set(ids).size, callersOfKey.length);
  // Each finds its own again.
  for (const { sql } of [backend, other]) await sql('delete from till.idempotency_claims');
  assert.deepEqual(await signUp(), ids);
  assert.equal((await backend.stripe.customers.list()).data.length, callersOfKey.length);
});

test('a payment of a subscription whose claim is lost pays no other invoice', async (t) => {
  const backend = await startBackend(t);
  const till = await startTill({ in: 'process', on: backend });
  const { customer, subscription, goodCard, invoiceId } = await createPastDue(till);
  const settle = () =>
    till.tryPost(`/subscriptions/${subscription.id}/pay`, { paymentMethodId: goodCard }, 'paid-once');
  assert.equal((await settle()).status, 200);
  const before = await chargesOf(backend, invoiceId);
  // Another invoice is open by now.
  const of = { customer: customer.processorCustomerId, subscription: subscription.processorSubscriptionId };
  await backend.stripe.invoiceItems.create({ ...of, amount: 700, currency: 'eur' });
  const draft = await backend.stripe.invoices.create({ ...of, auto_advance: false });
  const { id: openId } = await backend.stripe.invoices.finalizeInvoice(String(draft.id));
  await loseClaims(backend, 'paid-once');
  assert.equal((await settle()).status, 200);
  assert.deepEqual(await chargesOf(backend, invoiceId), before);
  assert.equal((await backend.stripe.invoices.retrieve(String(openId))).status, 'open');
});

test('payments of several invoices whose claims are lost charge nothing, in any order', async (t) => {
  const backend = await startBackend(t);
  const first = await startTill({ in: 'process', on: backend });
  const plan = await createPlan(first, { interval: 'day', amount: 900 });
  const { subscription, path } = await subscribed(first, {
    planId: plan.id,
    card: 'pm_card_chargeCustomerFail',
  });
  await backend.control('clock', { advanceSeconds: 3 * 86_400 + 7_200 });
  await first.settle();
  // What has ended keeps its open invoices, and each payment takes the newest of them.
  await first.call('DELETE', path);
  await first.settle();
  const { paymentMethodId } = await saveCard(first, { id: subscription.customerId });
  await first.stop();
  const snapshot = await takeSnapshot(backend);
  const before = await startTill({ in: 'process', on: backend });
  const send = (till: Client, key: string) => till.tryPost(`${path}/pay`, { paymentMethodId }, key);
  for (const key of ['pays-1', 'pays-2']) assert.equal((await send(before, key)).status, 200);
  const paid = async () => {
    const { data } = await backend.stripe.invoices.list({
      subscription: subscription.processorSubscriptionId,
      limit: 100,
    });
    return data.map(({ status }) => status);
  };
  const acknowledged = await paid();
  assert.equal(acknowledged.filter((status) => status === 'open').length, 1);
  await before.stop();
  await snapshot.restore();
  const after = await startTill({ in: 'process', on: backend });
  for (const key of ['pays-2', 'pays-1', 'pays-2']) assert.equal((await send(after, key)).status, 200, key);
  assert.deepEqual(await paid(), acknowledged);
});

test('a payment that finds nothing to pay is refused however often its idempotency key is used', async (t) => {
  const till = await startTill({ in: 'process', for: t });
  const { path } = await subscribed(till, { customerCard: 'pm_card_visa' });
  for (let sent = 0; sent < 12; sent += 1)
    assert.equal((await till.tryPost(`${path}/pay`, {}, 'nothing')).body['code'], 'nothing_to_pay');
});

test('a change whose claim is lost is not repeated after other changes', async (t) => {
  const backend = await startBackend(t);
  const till = await startTill({ in: 'process', on: backend });
  const { path } = await subscribed(till);
  const change = (quantity: number, key: string) =>
    till.tryPatch(path, { quantity, proration: 'invoice' }, key);
  assert.equal((await change(3, 'first')).status, 200);
  assert.equal((await change(5, 'second')).status, 200);
  const existing = await inventory(backend);
  await loseClaims(backend, 'first');
  const repeated = await change(3, 'first');
  assert.deepEqual([repeated.status, Object(repeated.body['subscription']).quantity], [200, 5]);
  await loseClaims(backend, 'first');
  assert.equal((await change(4, 'first')).body['code'], 'idempotency_key_reused');
  assert.deepEqual(await inventory(backend), existing);
});
