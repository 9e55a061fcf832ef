/**
 * Shoppers who buy a plan of a group and place an order, each in two tabs at once, while Till is killed again and
 * again. No shopper pays twice for the group or for the order, all who paid have what they paid for, and every checkout
 * ends.
 */
import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { setTimeout } from 'node:timers/promises';
import { createRandom, type Random } from '#runtime/seed/random.ts';
import { type Backend, startBackend } from '../support/backend.ts';
import { pages } from '../support/checkouts.ts';
import { assertMirrored, listAll, readMirroredIds } from '../support/checks/mirrors.ts';
import { idOf } from '../support/checks/subscription-truth.ts';
import type { Answer, Method } from '../support/client.ts';
import { effort } from '../support/effort.ts';
import { confirmIntent, createPlan, intentOf, type PlanBody } from '../support/objects.ts';
import { RestartableTill } from '../support/restartable-till.ts';
import { seedOf } from '../support/seeds.ts';
import { startTill } from '../support/till.ts';
import { backendEnvironment } from '../support/till-in-child.ts';
import { inLanes } from '../webhooks/model/event-delivery.ts';

const shoppersCount = Number(process.env['SHOPPERS'] ?? effort({ short: 12, long: 1_000 }));
/** Shoppers for each kill. In the long form a request is in progress at almost every crash point once. */
const shoppersPerKill = effort({ short: 12, long: 8 });
const shoppersAtOnce = 12;
const stepsPerTab = effort({ short: 2, long: 4 });
/** A restart takes a second or two, longer on a busy machine. */
const attemptsMax = 1_200;
const retryDelayMs = 50;
/** The processor ends an open checkout after a day. */
const checkoutSecondsMax = 86_400 + 60;

/** Of the sweeper. */
const claimsPerSweep = 50;

/** Half of the attempts to pay succeed. */
const purchases = [
  { payment_method: 'pm_card_visa' },
  { payment_method: 'pm_card_visa' },
  { payment_method: 'pm_card_threeDSecure2Required' },
  { payment_method: 'pm_card_threeDSecure2Required', authenticate: false },
  { payment_method: 'pm_card_visa_chargeDeclined' },
];

interface Shop {
  readonly backend: Backend;
  readonly till: RestartableTill;
  readonly plans: readonly PlanBody[];
  /** How often each response came, by its status and code. */
  readonly responses: Map<string, number>;
}

test('shoppers in two tabs, with kills: no one pays twice, and no one who paid is refused', async (t) => {
  const seed = seedOf('FAULT');
  t.diagnostic(`FAULT_SEED=${seed}`);
  const shop = await openShop(t);
  let served = 0;
  const numbers = Array.from({ length: shoppersCount }, (_, number) => number);
  await inLanes(shoppersAtOnce, numbers, async (number) => {
    const tabs = [1, 2].map((tab) => browse(shop, number, tab, createRandom(seed + number * 2 + tab)));
    // Amid what the other shoppers do.
    if (number % shoppersPerKill === shoppersPerKill - 1) shop.till.kill();
    await Promise.all(tabs);
    served += 1;
  });
  assert.equal(served, shoppersCount);
  await shop.till.stop('SIGKILL');
  await shop.backend.control('clock', { advanceSeconds: checkoutSecondsMax });
  await assertSold(t, shop);
});

async function openShop(t: TestContext): Promise<Shop> {
  const backend = await startBackend(t, { delivery: 'running' });
  const till = await RestartableTill.start(backendEnvironment(backend));
  backend.atEnd(() => till.stop('SIGKILL'));
  backend.deliverTo(() => till.url);
  const create = () => createPlan(till.client, { group: 'base', features: { pro: true } });
  return { backend, till, plans: [await create(), await create()], responses: new Map() };
}

/** What a shopper does in one tab. */
async function browse(shop: Shop, number: number, tab: number, random: Random): Promise<void> {
  const { backend, plans } = shop;
  const customer = { externalId: `shopper-${number}`, email: `shopper-${number}@example.com` };
  const pick = <T>(items: readonly T[]) => items[Math.floor(random() * items.length)] as T;
  const pay = (checkout: Opened) => buy(backend, checkout, pick(purchases));
  for (let step = 0; step < stepsPerTab; step += 1) {
    const key = `${number}-${tab}-${step}`;
    const what = random();
    if (what < 0.45) {
      const opened = await open(shop, { customer, planId: pick(plans).id }, key);
      if (opened === undefined) continue;
      if (random() < 0.7) await pay(opened);
      if (random() < 0.5) await send(shop, 'GET', `/checkouts/${opened.id}`);
    } else if (what < 0.75) {
      const payment = { amount: 1_000 + number, currency: 'eur', description: `Order ${number}` };
      const opened = await open(shop, { customer, payment }, `order-${number}`);
      if (opened !== undefined) await pay(opened);
    } else if (what < 0.85) {
      const opened = await open(shop, { customer, planId: pick(plans).id }, key);
      if (opened !== undefined) await send(shop, 'POST', `/checkouts/${opened.id}/expire`);
    } else {
      const opened = await open(shop, { customer, saveCard: true }, `card-${number}`);
      if (opened === undefined) continue;
      const order = { customerId: opened.customerId, planId: pick(plans).id };
      const { status, body } = await send(shop, 'POST', '/subscriptions', order, key);
      const secret = body['clientSecret'];
      if (status !== 201 || typeof secret !== 'string' || random() < 0.5) continue;
      // The other tab may have ended it.
      await confirmIntent(backend, intentOf(secret)).catch(() => undefined);
    }
  }
}

interface Opened {
  readonly id: string;
  readonly customerId: string;
  readonly processorCheckoutSessionId: string;
}

/** Undefined if the request is refused. */
async function open(shop: Shop, body: object, key: string): Promise<Opened | undefined> {
  const response = await send(shop, 'POST', '/checkouts', { ...pages, ...body }, key);
  return response.status < 300 ? Object(response.body['checkout']) : undefined;
}

/** Attempts to pay on the page, which may be closed by now. */
async function buy({ control }: Backend, { processorCheckoutSessionId }: Opened, purchase: object) {
  await control(`checkout_sessions/${processorCheckoutSessionId}/complete`, purchase).catch((error) => {
    assert.match(String(error), /AssertionError.* 400: /);
  });
}

const refusals = [
  'already_subscribed',
  'checkout_in_progress',
  'checkout_completed',
  'idempotency_key_in_flight',
];

/** Sends a request until Till responds to it. A shopper is only refused for reasons that the contract names. */
async function send(
  { till, responses }: Shop,
  method: Method,
  path: string,
  body?: object,
  key?: string,
): Promise<Answer> {
  const headers: Record<string, string> = key === undefined ? {} : { 'idempotency-key': key };
  for (let attempts = 0; attempts < attemptsMax; attempts += 1) {
    await till.isUp();
    const response = await till.client.call(method, path, body, headers).then(
      async (received) => ({ status: received.status, body: Object(await received.json()), replayed: false }),
      // The process died.
      () => undefined,
    );
    if (response !== undefined && response.status < 500) {
      const { status, body: answer } = response;
      const name = `${method} ${path.split('/')[1]} ${status} ${answer.code ?? ''}`;
      responses.set(name, (responses.get(name) ?? 0) + 1);
      if (status >= 400) assert.ok(refusals.includes(answer.code), JSON.stringify(answer));
      return response;
    }
    await setTimeout(retryDelayMs);
  }
  return assert.fail(`${method} ${path}: no response in ${attemptsMax} attempts`);
}

/** After the last process has finished what the killed ones left, the rows and the processor agree. */
async function assertSold(t: TestContext, { backend, responses }: Shop): Promise<void> {
  const { stripe, sql } = backend;
  const till = await startTill({ in: 'process', on: backend, limits: { deadlineMs: 30_000 } });
  // The killed processes held these, and this one would wait for them.
  await sql('update till.jobs set leased_until = now() where run is not null');
  // Later than any call can be in flight. What a killed process has already looked up is due again.
  const abandoned = await sql(
    `update till.idempotency_claims set attempted_at = attempted_at - interval '11 minutes',
       leased_until = leased_until - interval '11 minutes', looked_at = null
     where completed_at is null returning resource_id`,
  );
  for (let swept = 0; swept <= abandoned.length; swept += claimsPerSweep) await till.services.sweeper.sweep();
  await till.services.recovery.run();
  await till.drainAll();
  await assertMirrored(stripe, sql, await readMirroredIds(stripe));

  const open = await sql(`select id from till.checkouts where status = 'open'`);
  assert.deepEqual(open, [], 'every checkout is completed or expired');
  const limit = 100;
  const sessions = await listAll(stripe.checkout.sessions.list({ limit }));
  const paidInvoices = await listAll(stripe.invoices.list({ limit, status: 'paid' }));
  const paidOrders = (await listAll(stripe.paymentIntents.list({ limit })))
    .filter(({ status, description }) => status === 'succeeded' && description?.startsWith('Order'))
    .map(({ description }) => description);
  const subscribers = new Set(paidInvoices.map(({ customer_email }) => customer_email));
  assert.equal(subscribers.size, paidInvoices.length, 'no one pays twice for the group');
  assert.equal(new Set(paidOrders).size, paidOrders.length, 'no one pays twice for an order');
  const entitled = await sql<{ customer: string }>(
    `select processor_customer_id as customer from till.subscriptions
       join till.customers on customers.id = customer_id where status = 'active'`,
  );
  assert.deepEqual(
    entitled.map(({ customer }) => customer).toSorted(),
    paidInvoices.map(({ customer }) => idOf(customer)).toSorted(),
    'exactly those who paid have a subscription',
  );
  const orders = await sql(
    `select from till.checkouts join till.payments on payments.id = payment_id
     where checkouts.status = 'completed' and payment_status = 'paid' and payments.status = 'succeeded'`,
  );
  assert.equal(orders.length, paidOrders.length, 'every paid order has a completed checkout');
  for (const { customer } of entitled.slice(0, effort({ short: 5, long: 100 }))) {
    const [row] = await sql<{ id: string }>(
      'select id from till.customers where processor_customer_id = $1',
      [customer],
    );
    const { features } = await till.get<{ features: object }>(`/customers/${row?.id}/entitlements`);
    assert.deepEqual(features, { pro: true });
  }
  assert.deepEqual(till.deadlocks, []);
  const reserved = await sql(
    `select held.claim_id, operation, key, claims.completed_at, looked_at, leased_until, attempt, status
     from till.group_reservations held left join till.idempotency_claims claims on resource_id = held.claim_id
       left join till.checkouts on checkouts.id = held.claim_id`,
  );
  assert.deepEqual(reserved, [], 'nothing stays reserved');
  const completed = sessions.filter(({ status }) => status === 'complete').length;
  t.diagnostic(
    `${shoppersCount} shoppers, ${Math.floor(shoppersCount / shoppersPerKill)} kills: ${sessions.length} checkouts, ` +
      `${completed} completed, ${paidInvoices.length} paid subscriptions, ${paidOrders.length} paid orders`,
  );
  t.diagnostic(
    [...responses]
      .map(([name, count]) => `${name}: ${count}`)
      .toSorted()
      .join(', '),
  );
}
