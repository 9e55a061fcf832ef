/**
 * How many files of src each request enters, which is how many one opens to follow it through the code. A commit that
 * lets a request enter more or fewer files changes the table, and says why. To print the files:
 *
 *     WAYS=print npm run t test/ways/ways.test.ts
 */
import assert from 'node:assert/strict';
import { after, mock, test } from 'node:test';
import { startBackend } from '../support/backend.ts';
import { type Subscribed, subscribed } from '../support/changes.ts';
import { createCheckout, pages } from '../support/checkouts.ts';
import {
  type CustomerBody,
  confirmPayment,
  createCustomer,
  createPayment,
  createPlan,
  createSubscription,
} from '../support/objects.ts';
import { startTill } from '../support/till.ts';
import { until } from '../support/until.ts';
import { consumeUsage, createMeter, usageOf } from '../support/usage.ts';
import { startWayTracer } from '../support/way-tracer.ts';

const filesMax = {
  payment: 56,
  webhook: 49,
  'plan change': 75,
  checkout: 65,
  consumption: 29,
  entitlements: 22,
} as const;

/** The first run also fills caches. The least counts. */
const runs = 4;

// What runs at intervals would count for whatever happens at the time.
mock.timers.enable({ apis: ['setInterval'] });
after(() => mock.timers.reset());
const backend = await startBackend({ after });
const till = await startTill({ in: 'process', on: backend, mustNotLogErrors: true });
const tracer = await startWayTracer();
after(() => tracer.stop());

test('creating a payment enters no more files than the table says', async () => {
  const customer = await createCustomer(till);
  await follow('payment', () => createPayment(till, { customerId: customer.id }));
});

test('changing a plan enters no more files than the table says', async () => {
  const plan = await createPlan(till, { amount: 5_000 });
  const subscriptions: Subscribed[] = [];
  for (let run = 0; run < runs; run += 1) subscriptions.push(await subscribed(till));
  await follow('plan change', (run) => subscriptions[run]?.changed({ planId: plan.id }));
});

test('creating a checkout enters no more files than the table says', async () => {
  const plan = await createPlan(till);
  const customers: CustomerBody[] = [];
  for (let run = 0; run < runs; run += 1) customers.push(await createCustomer(till));
  await follow('checkout', (run) =>
    createCheckout(till, { ...pages, planId: plan.id, customerId: customers[run]?.id ?? '' }),
  );
});

test('consuming enters no more files than the table says', async () => {
  const { customer, meter } = await createConsumer();
  await follow('consumption', () => consumeUsage(till, usageOf(customer, meter)));
});

test('reading entitlements enters no more files than the table says', async () => {
  const { customer } = await createConsumer();
  await follow('entitlements', () => till.get(`/customers/${customer.id}/entitlements`));
});

test('applying a webhook on receipt enters no more files than the table says', async () => {
  // Events are applied on receipt beside an idle worker. It is the last test, because the worker also polls.
  const working = await startTill({ in: 'process', on: backend, workers: 1, mustNotLogErrors: true });
  for (let run = 0; run < runs; run += 1) await confirmPayment(till, await createPayment(till));
  const { data } = await backend.stripe.events.list({ type: 'payment_intent.succeeded', limit: runs });
  const { worker } = working.services;
  await follow('webhook', async (run) => {
    await until(() => worker.isIdle);
    await working.send(JSON.stringify(data[run]));
  });
});

async function createConsumer() {
  const customer = await createCustomer(till);
  const meter = await createMeter(till);
  const plan = await createPlan(till, { features: { [meter.key]: 1_000 } });
  await createSubscription(till, { customerId: customer.id, planId: plan.id, trialPeriodDays: 7 });
  return { customer, meter };
}

async function follow(
  way: keyof typeof filesMax,
  work: (run: number) => Promise<unknown> | undefined,
): Promise<void> {
  const entered: (readonly string[])[] = [];
  for (let run = 0; run < runs; run += 1) {
    await ended();
    const files = await tracer.filesOf(async () => {
      await work(run);
      await ended();
    });
    entered.push(files);
  }
  const [least = []] = entered.toSorted((one, other) => one.length - other.length);
  const list = `${way}: ${least.length} files\n${least.map((file) => `  ${file}\n`).join('')}`;
  if (process.env['WAYS'] === 'print') process.stdout.write(list);
  assert.ok(least.length <= filesMax[way], list);
}

/** Resolves when every claim is completed. One that a request leaves open is completed after its response. */
async function ended(): Promise<void> {
  const open = 'select from till.idempotency_claims where completed_at is null limit 1';
  await until(async () => (await backend.sql(open)).length === 0);
}
