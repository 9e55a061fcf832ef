/**
 * A row that is created from a response shows the object as it was when Till asked for it. An event that arrives in
 * between finds no row. Whatever the event is about, the row ends equal to the object.
 */
import assert from 'node:assert/strict';
import { after, afterEach, describe, test } from 'node:test';
import type { Stripe } from 'stripe';
import { createRandom } from '#runtime/seed/random.ts';
import { startBackend } from '../support/backend.ts';
import { subscribed } from '../support/changes.ts';
import { listAll } from '../support/checks/mirrors.ts';
import { effort } from '../support/effort.ts';
import { runImport } from '../support/imports.ts';
import {
  confirmIntent,
  createCustomer,
  createPlan,
  createSubscription,
  intentOf,
  type PageBody,
  type PaymentBody,
  type PlanBody,
  readPayment,
  readRefunds,
  type SubscriptionBody,
  saveCard,
} from '../support/objects.ts';
import { startProcessorProxy } from '../support/processor-proxy.ts';
import { seedOf } from '../support/seeds.ts';
import { startTill } from '../support/till.ts';
import { holdRows } from './row-lock.ts';

const backend = await startBackend({ after });
const { stripe } = backend;
const proxy = await startProcessorProxy(backend);
const till = await startTill({ in: 'process', on: backend, processorUrl: proxy.url, mustNotLogErrors: true });

afterEach(() => proxy.releaseAll());

/** The processor's events about what happens here, oldest first. The processor does not deliver them by itself. */
async function eventsDuring(act: () => Promise<unknown>): Promise<readonly Stripe.Event[]> {
  const [last] = (await stripe.events.list({ limit: 1 })).data;
  await act();
  const events = await listAll(stripe.events.list({ limit: 100, ...(last && { ending_before: last.id }) }));
  return events.toReversed();
}

const textOf = (event: Stripe.Event) => JSON.stringify(event);
const ofTypes = (events: readonly Stripe.Event[], ...types: readonly string[]) =>
  events.filter(({ type }) => types.some((prefix) => type.startsWith(prefix)));

interface Meanwhile {
  /** Makes Till read. */
  readonly begin: () => Promise<unknown>;
  /** The read that is slow. */
  readonly read: string;
  readonly method?: 'GET' | 'POST';
  /** What happens at the processor after it has responded, and before Till has the response. */
  readonly meanwhile: () => Promise<unknown>;
  /** The types of the events that arrive meanwhile. All by default. */
  readonly types?: readonly string[];
}

/** Lets something happen, and its events arrive, while a response is on its way to Till. */
async function overtake({ begin, read, method = 'GET', meanwhile, types = [''] }: Meanwhile) {
  proxy.holdOne(read, method);
  const reading = begin();
  const held = await Promise.race([
    proxy.nextHeld(),
    reading.then(() => assert.fail(`${read} was not read`)),
  ]);
  await held.holdResponse();
  const events = ofTypes(await eventsDuring(meanwhile), ...types);
  assert.ok(events.length > 0, 'something happened');
  await till.take(...events.map(textOf));
  proxy.releaseAll();
  await reading;
  await till.drain();
  return events;
}

async function onlyPaymentOf({ id }: Pick<SubscriptionBody, 'id'>, intentId: string): Promise<PaymentBody> {
  const { data } = await till.get<PageBody<PaymentBody>>(`/payments?subscriptionId=${id}`);
  const payment = data.find((one) => one.processorPaymentIntentId === intentId);
  assert.ok(payment !== undefined, 'it has a payment');
  return payment;
}

/** A change that waits for its customer, its event that makes Till read, and how it is dropped. */
async function waitingChange() {
  const { plan, subscription, changed } = await subscribed(till, { card: 'pm_card_authenticationRequired' });
  const { id: planId } = await createPlan(till, { amount: 4_000 });
  await till.settle();
  let intentId = '';
  const events = await eventsDuring(async () => {
    intentId = intentOf((await changed({ planId, proration: 'invoice' })).clientSecret);
  });
  return {
    begin: () => till.take(...ofTypes(events, 'payment_intent.requires_action').map(textOf)),
    drop: () => changed({ planId: plan.id }),
    status: async () => (await onlyPaymentOf(subscription, intentId)).status,
  };
}

const links = '/v1/invoice_payments';

describe('a dropped change leaves no payment that waits for its customer', () => {
  test('if the event about its end finds no row, because the payment is still being read', async () => {
    const { begin, drop, status } = await waitingChange();
    await overtake({ begin, read: links, meanwhile: drop });
    assert.equal(await status(), 'canceled');
  });

  test('if a worker ignores that event while the row is created', async () => {
    const { begin, drop, status } = await waitingChange();
    proxy.holdOne(links, 'GET');
    const reading = begin();
    const pass = await (await proxy.nextHeld()).holdResponse();
    const [canceled] = ofTypes(await eventsDuring(drop), 'payment_intent.canceled');
    assert(canceled);
    await till.send(textOf(canceled));
    // The transaction of the worker has found no row, and has not ended yet.
    const ignoring = await holdRows(
      till,
      `update till.webhook_events set state = 'ignored', processed_at = now() where id = '${canceled.id}'`,
    );
    pass();
    await ignoring.awaited(1);
    await ignoring.release();
    await reading;
    await till.drain();
    assert.equal(await status(), 'canceled');
  });

  test('if the process dies right after it has created the row', async (t) => {
    const { begin, drop, status } = await waitingChange();
    const died = Promise.withResolvers<void>();
    const { inbox } = till.services;
    t.after(() => till.database.setAfterLateRows((rows) => inbox.bringBack(rows)));
    till.database.setAfterLateRows(() => {
      died.resolve();
      return new Promise(() => {});
    });
    proxy.holdOne(links, 'GET');
    void begin();
    const pass = await (await proxy.nextHeld()).holdResponse();
    await till.take(...(await eventsDuring(drop)).map(textOf));
    pass();
    await died.promise;
    assert.equal(await status(), 'requires_action');
    // The lease of its event ends.
    await till.drainAll();
    assert.equal(await status(), 'canceled');
  });
});

describe('what a subscription charged, while it is read for the first time', () => {
  /** A paid first invoice, and its events, which have not arrived yet. */
  async function charged(card?: string) {
    const { subscription, clientSecret } = await createSubscription(till);
    await till.settle();
    const intentId = intentOf(clientSecret);
    const events = await eventsDuring(() => confirmIntent(till, intentId, card));
    return { subscription, intentId, events };
  }

  test('and refunded meanwhile', async () => {
    const { subscription, intentId, events } = await charged();
    await overtake({
      begin: () => till.take(...ofTypes(events, 'invoice_payment.paid').map(textOf)),
      read: `/v1/payment_intents/${intentId}`,
      meanwhile: () => stripe.refunds.create({ payment_intent: intentId, amount: 300 }),
    });
    const payment = await onlyPaymentOf(subscription, intentId);
    assert.deepEqual([payment.status, payment.amountRefunded], ['succeeded', 300]);
    assert.equal((await readRefunds(till, payment)).length, 1);
  });

  test('after a failed attempt, and paid meanwhile with another card', async () => {
    const { subscription, clientSecret } = await createSubscription(till);
    await till.settle();
    const intentId = intentOf(clientSecret);
    const failed = await eventsDuring(() =>
      assert.rejects(confirmIntent(till, intentId, 'pm_card_visa_chargeDeclined')),
    );
    await overtake({
      begin: () => till.take(...ofTypes(failed, 'payment_intent.payment_failed').map(textOf)),
      read: '/v1/invoice_payments',
      meanwhile: () => confirmIntent(till, intentId, 'pm_card_mastercard'),
      // The event about the invoice payment comes later.
      types: ['payment_intent', 'charge'],
    });
    const { status, failure, paymentMethod } = await onlyPaymentOf(subscription, intentId);
    assert.deepEqual([status, failure, paymentMethod?.brand], ['succeeded', null, 'mastercard']);
  });

  test('after a failed attempt, and paid and disputed meanwhile', async () => {
    const { subscription, clientSecret } = await createSubscription(till);
    await till.settle();
    const intentId = intentOf(clientSecret);
    const failed = await eventsDuring(() =>
      assert.rejects(confirmIntent(till, intentId, 'pm_card_visa_chargeDeclined')),
    );
    await overtake({
      begin: () => till.take(...ofTypes(failed, 'payment_intent.payment_failed').map(textOf)),
      read: '/v1/invoice_payments',
      meanwhile: async () => {
        await confirmIntent(till, intentId, 'pm_card_createDispute');
        await backend.control('clock', { advanceSeconds: 0 });
      },
      types: ['charge.dispute'],
    });
    const { status, dispute } = await onlyPaymentOf(subscription, intentId);
    assert.deepEqual([status, dispute?.status], ['succeeded', 'needs_response']);
  });
});

test('a payment that is refunded before the response to its creation arrives shows the refund', async () => {
  const customer = await createCustomer(till);
  const { paymentMethodId } = await saveCard(till, customer);
  await till.settle();
  const order = { customerId: customer.id, amount: 900, currency: 'eur', paymentMethodId, offSession: true };
  let created: PaymentBody | undefined;
  await overtake({
    begin: async () => {
      ({ payment: created } = await till.post<{ payment: PaymentBody }>('/payments', order));
    },
    read: '/v1/payment_intents',
    method: 'POST',
    meanwhile: async () => {
      const [intent] = (await stripe.paymentIntents.list({ customer: customer.processorCustomerId })).data;
      await stripe.refunds.create({ payment_intent: String(intent?.id), amount: 300 });
    },
    types: ['refund', 'charge.refund'],
  });
  assert.ok(created !== undefined);
  await till.settle();
  const payment = await readPayment(till, created);
  assert.deepEqual([payment.status, payment.amountRefunded], ['succeeded', 300]);
});

test('a lost plan that two events recover has the newer name, whichever read ends first', async () => {
  for (const isOlderFirst of [true, false]) {
    const { id, processorProductId } = await createPlan(till, { name: 'Old' });
    await till.settle();
    await till.sql('delete from till.plans where id = $1', [id]);
    const reads = [];
    for (const change of [{ metadata: { tier: 'gold' } }, { name: 'New' }]) {
      const events = await eventsDuring(() => stripe.products.update(processorProductId, change));
      proxy.holdOne('/v1/prices', 'GET');
      const reading = till.take(...ofTypes(events, 'product.updated').map(textOf));
      reads.push({ reading, pass: await (await proxy.nextHeld()).holdResponse() });
    }
    for (const { pass, reading } of isOlderFirst ? reads : reads.toReversed()) {
      pass();
      await reading;
    }
    await till.drain();
    assert.equal((await till.get<PlanBody>(`/plans/${id}`)).name, 'New', `older first: ${isOlderFirst}`);
  }
});

describe('what an import adopts', () => {
  test('a payment that is canceled while its page is on the way', async () => {
    const { id: customer } = await stripe.customers.create({ email: 'grace@example.com' });
    const { id } = await stripe.paymentIntents.create({ customer, amount: 700, currency: 'eur' });
    await till.settle();
    await overtake({
      begin: () => runImport(till),
      read: '/v1/payment_intents',
      meanwhile: () => stripe.paymentIntents.cancel(id),
    });
    const sql = 'select status from till.payments where processor_payment_intent_id = $1';
    assert.deepEqual(await till.sql(sql, [id]), [{ status: 'canceled' }]);
  });

  test('a customer that is deleted while its page is on the way', async () => {
    const { id } = await stripe.customers.create({ email: 'gone@example.com' });
    await till.settle();
    await overtake({
      begin: () => runImport(till),
      read: '/v1/customers',
      meanwhile: () => stripe.customers.del(id),
    });
    const sql = 'select email from till.customers where processor_customer_id = $1';
    assert.deepEqual(await till.sql(sql, [id]), [{ email: null }]);
  });

  test('a price whose product is renamed while its page is on the way', async () => {
    const price = await stripe.prices.create({
      ...{
        currency: 'eur',
        unit_amount: 900,
        recurring: { interval: 'month' },
        product_data: { name: 'Old' },
      },
    });
    await till.settle();
    await overtake({
      begin: () => runImport(till),
      read: '/v1/prices',
      meanwhile: () => stripe.products.update(String(price.product), { name: 'New' }),
    });
    const sql = 'select name from till.plans where processor_price_id = $1';
    assert.deepEqual(await till.sql(sql, [price.id]), [{ name: 'New' }]);
  });
});

const pay = (card?: string) => (intentId: string) => confirmIntent(till, intentId, card);
const decline = (intentId: string) =>
  assert.rejects(confirmIntent(till, intentId, 'pm_card_visa_chargeDeclined'));
const authenticate = (result: 'succeeded' | 'failed') => (intentId: string) =>
  backend.control(`payment_intents/${intentId}/authenticate`, { result });
const refund = (intentId: string) => stripe.refunds.create({ payment_intent: intentId, amount: 300 });
const voidInvoice = async (intentId: string) => {
  const { data } = await stripe.invoicePayments.list({
    payment: { type: 'payment_intent', payment_intent: intentId },
  });
  await stripe.invoices.voidInvoice(String(data[0]?.invoice));
};
const needsAuthentication = 'pm_card_authenticationRequired';

/** What happens to the first invoice of a subscription. */
const lives: readonly (readonly ((intentId: string) => Promise<unknown>)[])[] = [
  [decline, pay(), refund],
  [decline, voidInvoice],
  [pay(needsAuthentication), voidInvoice],
  [pay(needsAuthentication), authenticate('succeeded'), refund],
  [pay(needsAuthentication), authenticate('failed'), pay(), refund],
  [pay('pm_card_createDispute'), () => backend.control('clock', { advanceSeconds: 0 })],
];

/** A request that is held back. It outlasts a life in which nothing more is read. */
let nextHeld: ReturnType<typeof proxy.nextHeld> | undefined;

/** Plays one life. Its steps, the deliveries of its events and the arrivals of responses come in a random order. */
async function liveOnce(life: (typeof lives)[number], random: () => number): Promise<void> {
  const { subscription, clientSecret } = await createSubscription(till);
  await till.settle();
  const intentId = intentOf(clientSecret);
  for (const path of [links, `/v1/payment_intents/${intentId}`]) proxy.hold(path, 'GET');
  const steps = [...life];
  const undelivered: Stripe.Event[] = [];
  const onTheWay: (() => void)[] = [];
  const taking = new Set<Promise<void>>();
  const pick = <T>(items: T[]): T | undefined => items.splice(Math.floor(random() * items.length), 1)[0];
  /** Waits until every delivery is finished, or waits for a response that is held back. */
  const untilBlocked = async () => {
    while (taking.size > onTheWay.length) {
      nextHeld ??= proxy.nextHeld();
      const ended = [...taking].map((one) => one.then(() => void taking.delete(one)));
      const held = await Promise.race([nextHeld, ...ended]);
      if (held === undefined) continue;
      nextHeld = undefined;
      onTheWay.push(await held.holdResponse());
    }
  };
  const act = async () => {
    undelivered.push(...(await eventsDuring(async () => steps.shift()?.(intentId))));
  };
  const deliver = async () => {
    const event = pick(undelivered);
    if (event !== undefined) taking.add(till.take(textOf(event)));
    await untilBlocked();
  };
  const arrive = async () => {
    pick(onTheWay)?.();
    await untilBlocked();
  };
  while (steps.length + undelivered.length + onTheWay.length > 0) {
    const choices = [
      ...steps.slice(0, 1).map(() => act),
      ...undelivered.map(() => deliver),
      ...onTheWay.map(() => arrive),
    ];
    await pick(choices)?.();
  }
  proxy.releaseAll();
  await Promise.all(taking);
  await till.drainAll();
  const [intent, refunds, disputes] = await Promise.all([
    stripe.paymentIntents.retrieve(intentId),
    stripe.refunds.list({ payment_intent: intentId }),
    stripe.disputes.list({ payment_intent: intentId }),
  ]);
  const payment = await onlyPaymentOf(subscription, intentId);
  assert.deepEqual(
    [payment.status, payment.amountRefunded, payment.failure?.code, payment.dispute?.status],
    [
      intent.status,
      refunds.data.reduce((sum, { amount }) => sum + amount, 0),
      intent.last_payment_error?.code,
      disputes.data[0]?.status,
    ],
  );
}

const livesCount = effort({ short: 1, long: 100 });

test(`what a subscription charged ends equal to the processor, in whatever order ${livesCount} times ${lives.length} lives go on`, async (t) => {
  const seed = seedOf('MODEL');
  t.diagnostic(`MODEL_SEED=${seed}`);
  const random = createRandom(seed);
  for (let count = 0; count < livesCount; count += 1) for (const life of lives) await liveOnce(life, random);
});
