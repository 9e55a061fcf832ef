import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Stripe } from 'stripe';
import { createRandom } from '#runtime/seed/random.ts';
import { startBackend } from '../support/backend.ts';
import { eventsSettled } from '../support/checks/events.ts';
import { assertMirrored, listAll } from '../support/checks/mirrors.ts';
import { assertEventsComplete } from '../support/checks/outbox.ts';
import { makePayer, pay } from '../support/foreign-account.ts';
import { runImport } from '../support/imports.ts';
import { seedOf } from '../support/seeds.ts';
import { TcpLine } from '../support/tcp-line.ts';
import { startTill } from '../support/till.ts';

/** Enough that an import runs through all of it. */
const customerCount = 8;

/** What one customer does at the processor, without Till, while imports run. */
async function live(stripe: Stripe, price: string, name: string, random: () => number): Promise<void> {
  const customer = await makePayer(stripe, { email: `${name}@example.com` });
  const subscription = await stripe.subscriptions.create({ customer, items: [{ price }] });
  const payment = await pay(stripe, customer, { amount: 2_000 });
  const manual = {
    customer,
    amount: 1_000,
    currency: 'eur',
    capture_method: 'manual',
    confirm: true,
  } as const;
  const held = { ...manual, payment_method: 'pm_card_visa', return_url: 'https://shop.example.com' };
  const [captured, canceled] = [
    await stripe.paymentIntents.create(held),
    await stripe.paymentIntents.create(held),
  ];
  const steps: (() => Promise<unknown>)[] = [
    () => stripe.paymentIntents.cancel(canceled.id),
    async () => {
      await stripe.paymentIntents.capture(captured.id, { amount_to_capture: 500 });
      // As much as was released.
      await stripe.refunds.create({ payment_intent: captured.id });
    },
    () => stripe.refunds.create({ payment_intent: payment, amount: 300 }),
    () => stripe.customers.update(customer, { name: `${name} II` }),
    () => stripe.subscriptions.update(subscription.id, { cancel_at_period_end: true }),
    () =>
      stripe.subscriptions.update(subscription.id, {
        cancel_at: Number(subscription.items.data[0]?.current_period_end),
      }),
    () => stripe.paymentIntents.update(payment, { metadata: { order: name } }),
    () => stripe.subscriptions.cancel(subscription.id),
    () => pay(stripe, customer, { amount: 700 }),
  ];
  const order = steps.map((step) => ({ step, at: random() })).toSorted((a, b) => a.at - b.at);
  for (const { step } of order) await step().catch(ignoreEnded);
}

/** A canceled subscription cannot be changed. */
function ignoreEnded(error: { readonly statusCode?: number }): void {
  assert.ok(error.statusCode === 400 || error.statusCode === 404, String(error));
}

test('an import and the webhooks of a running service end in the same rows', async (t) => {
  const random = createRandom(seedOf('MODEL'));
  const backend = await startBackend(t, { delivery: 'running' });
  const line = await TcpLine.open(Number(new URL(backend.processorUrl).port), {
    // Some responses are late, so that events overtake them.
    beforeResponse: async () => {
      if (random() < 0.1) await new Promise((resolve) => setTimeout(resolve, random() * 30));
    },
  });
  backend.atEnd(() => line.close());
  const till = await startTill({
    in: 'process',
    on: backend,
    processorUrl: line.url,
    workers: 3,
    poolSize: 20,
  });
  const { stripe } = backend;
  const { id: price } = await stripe.prices.create({
    ...{ currency: 'eur', unit_amount: 900, recurring: { interval: 'month' }, product_data: { name: 'Pro' } },
  });
  let isOver = false;
  const lives = Promise.all(
    Array.from({ length: customerCount }, (_, index) => live(stripe, price, `c${index}`, random)),
  ).finally(() => {
    isOver = true;
  });
  while (!isOver) await runImport(till);
  await lives;
  await eventsSettled(till, till.sql);
  // What was created after the last list was read is adopted by the next import.
  await runImport(till);
  await eventsSettled(till, till.sql);
  await till.stopWorkers();
  const customers = await listAll(stripe.customers.list());
  const intents = await listAll(stripe.paymentIntents.list());
  await assertMirrored(stripe, till.sql, {
    customers: new Set(customers.map(({ id }) => id)),
    paymentIntents: new Set(intents.map(({ id }) => id)),
  });
  await assertEventsComplete(till, till.sql);
  assert.deepEqual(till.deadlocks, []);
});
