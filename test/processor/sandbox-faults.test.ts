import assert from 'node:assert/strict';
import { describe, type TestContext, test } from 'node:test';
import { failureOf, startAdapter } from './adapter.ts';
import {
  newCustomer,
  newKey,
  newPaidPayment,
  newPlan,
  newSubscription,
  type Sandboxed,
  startSandboxed,
} from './sandboxed.ts';
import { localId } from './wire-objects.ts';

interface Write {
  /** The sandbox's name of the operation. */
  readonly operation: string;
  /** What must exist beforehand; returns the work itself, which may be repeated. */
  readonly prepare: (sandboxed: Sandboxed) => Promise<() => Promise<unknown>>;
  /** How many objects the work has created; absent if it creates none. */
  readonly count?: (sandboxed: Sandboxed) => Promise<number>;
}

const size = async (list: Promise<{ data: readonly unknown[] }>) => (await list).data.length;

const writes: readonly Write[] = [
  {
    operation: 'customers.create',
    prepare: async ({ processor }) => {
      const order = { id: localId, email: 'a@b.de', name: null, phone: null, ...newKey() };
      return () => processor.customers.create(order);
    },
    count: ({ stripe }) => size(stripe.customers.list()),
  },
  {
    operation: 'customers.update',
    prepare: async (sandboxed) => {
      const order = { processorCustomerId: await newCustomer(sandboxed), name: 'B', ...newKey() };
      return () => sandboxed.processor.customers.update(order);
    },
  },
  {
    operation: 'customers.delete',
    prepare: async (sandboxed) => {
      const id = await newCustomer(sandboxed);
      return () => sandboxed.processor.customers.delete(id);
    },
  },
  {
    operation: 'prices.create',
    prepare: async ({ processor }) => {
      const values = { id: localId, name: 'Gold', amount: 900, currency: 'eur', interval: 'month' } as const;
      const order = { ...values, ...newKey() };
      return () => processor.plans.create(order);
    },
    count: ({ stripe }) => size(stripe.prices.list()),
  },
  ...['prices.update', 'products.update'].map(
    (operation): Write => ({
      operation,
      prepare: async (sandboxed) => {
        const { plans } = sandboxed.processor;
        const plan = await plans.read(await newPlan(sandboxed));
        assert(plan);
        const { processorPriceId, processorProductId } = plan.price;
        const order = { processorPriceId, processorProductId, ...newKey() };
        return () => plans.archive(order);
      },
    }),
  ),
  {
    operation: 'payment_intents.create',
    prepare: async (sandboxed) => {
      const processorCustomerId = await newCustomer(sandboxed);
      const order = { id: localId, processorCustomerId, amount: 2000, currency: 'eur', ...newKey() };
      return () => sandboxed.processor.payments.create(order);
    },
    count: ({ stripe }) => size(stripe.paymentIntents.list()),
  },
  {
    operation: 'payment_intents.cancel',
    prepare: async (sandboxed) => {
      const processorCustomerId = await newCustomer(sandboxed);
      const values = { id: localId, processorCustomerId, amount: 2000, currency: 'eur', ...newKey() };
      const { payment } = await sandboxed.processor.payments.create(values);
      const order = { processorPaymentIntentId: payment.processorPaymentIntentId, ...newKey() };
      return () => sandboxed.processor.payments.cancel(order);
    },
  },
  {
    operation: 'refunds.create',
    prepare: async (sandboxed) => {
      const processorPaymentIntentId = await newPaidPayment(sandboxed);
      const order = { id: localId, processorPaymentIntentId, amount: 500, reason: null, ...newKey() };
      return () => sandboxed.processor.refunds.create(order);
    },
    count: ({ stripe }) => size(stripe.refunds.list()),
  },
  {
    operation: 'subscriptions.create',
    prepare: async (sandboxed) => {
      const processorCustomerId = await newCustomer(sandboxed);
      const processorPriceId = await newPlan(sandboxed);
      const order = { id: localId, processorCustomerId, processorPriceId, trialPeriodDays: 0, ...newKey() };
      return () => sandboxed.processor.subscriptions.create(order);
    },
    count: ({ stripe }) => size(stripe.subscriptions.list({ status: 'all' })),
  },
  {
    operation: 'subscriptions.cancel',
    prepare: async (sandboxed) => {
      const { subscription } = await newSubscription(sandboxed, 14);
      return () => sandboxed.processor.subscriptions.cancel(subscription.processorSubscriptionId);
    },
  },
];

for (const { operation, prepare, count } of writes) {
  const isDelete = operation === 'customers.delete' || operation === 'subscriptions.cancel';

  async function start(t: TestContext, limits: { attemptTimeoutMs?: number; retriesMax?: number } = {}) {
    const sandboxed = await startSandboxed(t, { limits });
    const work = await prepare(sandboxed);
    return { sandboxed, work };
  }

  describe(operation, () => {
    for (const fault of [
      { kind: 'reset_before' },
      { kind: 'reset_after' },
      { kind: 'latency', latencyMs: 5 },
      { kind: 'error', status: 503 },
      { kind: 'error', status: 429, code: 'rate_limit' },
    ]) {
      test(`one ${fault.kind} ${fault.status ?? ''} is got over, and the work is done once`, async (t) => {
        const { sandboxed, work } = await start(t);
        await sandboxed.control('faults', { operation, ...fault });
        await work();
        if (count) assert.equal(await count(sandboxed), 1);
      });
    }

    test('a retry after the timeout recovers from a hang', async (t) => {
      const { sandboxed, work } = await start(t, { attemptTimeoutMs: 250 });
      await sandboxed.control('faults', { operation, kind: 'hang' });
      await work();
      if (count) assert.equal(await count(sandboxed), 1);
    });

    test('a response that is lost every time leaves the effect unknown, and the same call resumes it', async (t) => {
      const { sandboxed, work } = await start(t, { retriesMax: 0 });
      await sandboxed.control('faults', { operation, kind: 'reset_after' });
      const failure = await failureOf(work());
      assert.equal(failure.code, 'processor_unavailable');
      assert.equal(failure.extras.effect, 'unknown');
      await work();
      if (count) assert.equal(await count(sandboxed), 1);
    });

    test('a 500 is remembered under an idempotency key and says so; without one a retry succeeds', async (t) => {
      const { sandboxed, work } = await start(t);
      await sandboxed.control('faults', { operation, kind: 'error', status: 500 });
      if (isDelete) return void (await work());
      const failure = await failureOf(work());
      assert.equal(failure.code, 'processor_unavailable');
      assert.partialDeepStrictEqual(failure.extras, { effect: 'unknown', replayed: true });
    });

    test('a refusal by the front door had no effect', async (t) => {
      const { sandboxed, work } = await start(t);
      await sandboxed.control('faults', { operation, kind: 'error', status: 403 });
      const failure = await failureOf(work());
      assert.equal(failure.code, 'processor_misconfigured');
      assert.equal(failure.extras.effect, 'none');
    });
  });
}

test('a processor key that is refused is a misconfiguration of Till', async (t) => {
  const sandboxed = await startSandboxed(t);
  const host = new URL(`http://127.0.0.1:${sandboxed.stripe.getApiField('port')}`);
  const { processor } = startAdapter(t, host, { secretKey: 'sk_live_wrong' });
  const failure = await failureOf(processor.payments.read('pi_1'));
  assert.equal(failure.code, 'processor_misconfigured');
  assert.doesNotMatch(failure.message, /wrong/);
});
