import assert from 'node:assert/strict';
import { after, beforeEach, describe, test } from 'node:test';
import { type Method, readJson } from '../support/client.ts';
import { rotation } from '../support/effort.ts';
import {
  type CreatedPaymentBody,
  confirmPayment,
  createCustomer,
  createPaidPayment,
  createPayment,
  createPlan,
  createSubscription,
  saveCard,
} from '../support/objects.ts';
import { type ProblemBody, readProblem } from '../support/problem.ts';
import { createPromotionCode } from '../support/promotion-codes.ts';
import { startTill } from '../support/till.ts';

const till = await startTill({ in: 'process', for: { after }, mustNotLogErrors: true });
const { call, control } = till;

const tooMuch = 'capture_exceeds_authorized';

type Request = readonly [method: Method, path: string, body?: object];

interface Write {
  readonly name: string;
  /** What the processor calls it. */
  readonly there: string;
  /** Creates the object, and returns the request and the path under which the object is read. */
  readonly prepare: () => Promise<{ readonly request: Request; readonly shown: string }>;
  /** The kind of object that the processor must know for it. */
  readonly kind: string;
  /** A refusal with 402 says that a charge was declined. */
  readonly isCharge?: true;
}

/** Every write about an object that exists already. */
const writes: readonly Write[] = [
  {
    name: 'change a customer',
    there: 'customers.update',
    prepare: async () => {
      const shown = `/customers/${(await createCustomer(till)).id}`;
      return { request: ['PATCH', shown, { name: 'Grace' }], shown };
    },
    kind: 'customer',
  },
  {
    name: 'delete a customer',
    there: 'customers.delete',
    prepare: async () => {
      const shown = `/customers/${(await createCustomer(till)).id}`;
      return { request: ['DELETE', shown], shown };
    },
    kind: 'customer',
  },
  {
    name: 'archive a plan',
    there: 'prices.update',
    prepare: async () => {
      const shown = `/plans/${(await createPlan(till)).id}`;
      return { request: ['POST', `${shown}/archive`], shown };
    },
    kind: 'plan',
  },
  {
    name: 'create a payment',
    there: 'payment_intents.create',
    prepare: async () => {
      const { id: customerId } = await createCustomer(till);
      const body = { customerId, amount: 2_000, currency: 'eur' };
      return { request: ['POST', '/payments', body], shown: `/customers/${customerId}` };
    },
    kind: 'customer',
  },
  {
    name: 'change a payment',
    there: 'payment_intents.update',
    prepare: async () => {
      const shown = `/payments/${(await createPayment(till)).id}`;
      return { request: ['PATCH', shown, { metadata: { a: '1' } }], shown };
    },
    kind: 'payment',
  },
  {
    name: 'cancel a payment',
    there: 'payment_intents.cancel',
    prepare: async () => {
      const shown = `/payments/${(await createPayment(till)).id}`;
      return { request: ['POST', `${shown}/cancel`], shown };
    },
    kind: 'payment',
  },
  {
    name: 'capture a payment',
    there: 'payment_intents.capture',
    prepare: async () => {
      const payment = await createPayment(till, { captureMethod: 'manual' });
      await confirmPayment(till, payment);
      const shown = `/payments/${payment.id}`;
      // Brings the mirror up to date: the payment is authorised.
      await readProblem(await call('POST', `${shown}/capture`, { amount: 9_000 }), 409, tooMuch);
      return { request: ['POST', `${shown}/capture`], shown };
    },
    kind: 'payment',
  },
  {
    name: 'charge a saved card',
    there: 'payment_intents.create',
    prepare: async () => {
      const { id: customerId, processorCustomerId: customer } = await createCustomer(till);
      const { id: paymentMethodId } = await till.stripe.paymentMethods.attach('pm_card_visa', { customer });
      const body = { customerId, amount: 2_000, currency: 'eur', paymentMethodId, offSession: true };
      return { request: ['POST', '/payments', body], shown: `/customers/${customerId}` };
    },
    kind: 'customer',
  },
  {
    name: 'refund a payment',
    there: 'refunds.create',
    prepare: async () => {
      const { id } = await createPaidPayment(till);
      const shown = `/payments/${id}`;
      // Brings the mirror up to date: the payment is paid and one part of it is refunded.
      await readJson(await call('POST', `${shown}/refund`, { amount: 100 }), 200);
      return { request: ['POST', `${shown}/refund`, { amount: 500 }], shown };
    },
    kind: 'payment',
  },
  {
    name: 'create a subscription',
    there: 'subscriptions.create',
    prepare: async () => {
      const { id: customerId } = await createCustomer(till);
      const { id: planId } = await createPlan(till);
      return {
        request: ['POST', '/subscriptions', { customerId, planId }],
        shown: `/customers/${customerId}`,
      };
    },
    kind: 'customer',
  },
  {
    name: 'create a subscription with a card and a promotion code',
    there: 'subscriptions.create',
    prepare: async () => {
      const { id: customerId, processorCustomerId: customer } = await createCustomer(till);
      const { id: paymentMethodId } = await till.stripe.paymentMethods.attach('pm_card_visa', { customer });
      const { code: promotionCode } = await createPromotionCode(till);
      const { id: planId } = await createPlan(till);
      return {
        request: ['POST', '/subscriptions', { customerId, planId, paymentMethodId, promotionCode }],
        shown: `/customers/${customerId}`,
      };
    },
    kind: 'customer',
  },
  {
    name: 'change a subscription',
    there: 'subscriptions.update',
    prepare: async () => {
      const { subscription } = await createSubscription(till, { trialPeriodDays: 7 });
      const shown = `/subscriptions/${subscription.id}`;
      return { request: ['PATCH', shown, { metadata: { a: '1' } }], shown };
    },
    kind: 'subscription',
  },
  ...(
    [
      ['subscription_schedules.create', { quantity: 2, when: 'periodEnd' }],
      [
        'subscription_schedules.update',
        { quantity: 3, when: 'periodEnd' },
        { quantity: 2, when: 'periodEnd' },
      ],
      ['subscription_schedules.release', { cancelAtPeriodEnd: true }, { quantity: 2, when: 'periodEnd' }],
      ['subscriptions.update', { cancelAtPeriodEnd: true }],
      ['subscriptions.update', { quantity: 3 }],
      ['subscription_schedules.release', { quantity: 3 }, { quantity: 2, when: 'periodEnd' }],
    ] as const
  ).map(
    ([there, change, before]): Write => ({
      name: `change a subscription with ${JSON.stringify(change)}`,
      there,
      prepare: async () => {
        const { subscription } = await createSubscription(till, { trialPeriodDays: 7 });
        const shown = `/subscriptions/${subscription.id}`;
        if (before !== undefined) await readJson(await call('PATCH', shown, before), 200);
        return { request: ['PATCH', shown, change], shown };
      },
      kind: 'subscription',
    }),
  ),
  {
    name: 'pay a subscription',
    there: 'invoices.pay',
    prepare: async () => {
      const { subscription } = await createSubscription(till);
      const { paymentMethodId } = await saveCard(till, { id: subscription.customerId });
      const shown = `/subscriptions/${subscription.id}`;
      return { request: ['POST', `${shown}/pay`, { paymentMethodId }], shown };
    },
    kind: 'subscription',
    isCharge: true,
  },
  {
    name: 'cancel a subscription',
    there: 'subscriptions.cancel',
    prepare: async () => {
      const { subscription } = await createSubscription(till, { trialPeriodDays: 7 });
      const shown = `/subscriptions/${subscription.id}`;
      return { request: ['DELETE', shown], shown };
    },
    kind: 'subscription',
  },
  {
    name: 'save a payment method',
    there: 'setup_intents.create',
    prepare: async () => {
      const shown = `/customers/${(await createCustomer(till)).id}`;
      return { request: ['POST', `${shown}/payment-methods`], shown };
    },
    kind: 'customer',
  },
  {
    name: 'set the default payment method of a customer',
    there: 'customers.update',
    prepare: async () => {
      const customer = await createCustomer(till);
      const { paymentMethodId } = await saveCard(till, customer);
      const shown = `/customers/${customer.id}`;
      return { request: ['PUT', `${shown}/default-payment-method`, { paymentMethodId }], shown };
    },
    kind: 'customer',
  },
  {
    name: 'set the default payment method of a subscription',
    there: 'subscriptions.update',
    prepare: async () => {
      const { subscription } = await createSubscription(till, { trialPeriodDays: 7 });
      const { paymentMethodId } = await saveCard(till, { id: subscription.customerId });
      const shown = `/customers/${subscription.customerId}`;
      return { request: ['PUT', `${shown}/default-payment-method`, { paymentMethodId }], shown };
    },
    kind: 'customer',
  },
  {
    name: 'remove a payment method',
    there: 'payment_methods.detach',
    prepare: async () => {
      const customer = await createCustomer(till);
      const { paymentMethodId } = await saveCard(till, customer);
      const shown = `/customers/${customer.id}`;
      return { request: ['DELETE', `${shown}/payment-methods/${paymentMethodId}`], shown };
    },
    kind: 'customer',
  },
];

async function read(path: string): Promise<unknown> {
  return readJson(await call('GET', path), 200);
}

/** Forgets everything at the processor, as happens with a secret key of another account. */
async function emptyProcessor(): Promise<void> {
  await control('reset');
  await control('delivery', { mode: 'paused' });
}

/** More than the attempts of any request: a write that another request may have overtaken is retried. */
const refusalsMax = 5;

/** One place maps them all, so each write meets one of them in the short form. */
const refusals = [
  { status: 400, code: 'made_up' },
  { status: 402, code: 'made_up' },
  { status: 404, code: 'resource_missing' },
];
const nextRefusals = rotation(refusals, 1);

beforeEach(() => till.clearFaults());

for (const { name, there, prepare, kind, isCharge } of writes)
  describe(name, () => {
    for (const { status, code } of isCharge ? refusals.filter((one) => one.status !== 402) : nextRefusals())
      test(`422: the processor refuses with ${status}; the refusal is passed on and nothing changes`, async () => {
        const { request, shown } = await prepare();
        const before = await read(shown);
        await control('faults', { operation: there, kind: 'error', status, code, times: refusalsMax });
        const problem = await readProblem(await call(...request), 422, 'processor_rejected');
        assert.equal(problem.processorCode, code);
        assert.match(problem.detail, new RegExp(`returns ${status} here`));
        assert.deepEqual(await read(shown), before);
      });

    test('502: the processor does not know the object; the response says so and nothing changes', async () => {
      const { request, shown } = await prepare();
      const before = await read(shown);
      await emptyProcessor();
      for (let times = 0; times < 2; times += 1)
        assertNames(kind, await readProblem(await call(...request), 502, 'processor_object_missing'));
      assert.deepEqual(await read(shown), before);
    });
  });

function assertNames(kind: string, { detail }: ProblemBody): void {
  assert.match(detail, new RegExp(`\\b${kind}\\b`));
  assert.match(detail, /changed nothing.*PROCESSOR_SECRET_KEY/);
}

describe('an unknown plan', () => {
  test('502: a subscription to a plan that the processor does not know', async () => {
    const plan = await createPlan(till);
    await emptyProcessor();
    const { id: customerId } = await createCustomer(till);
    const response = await call('POST', '/subscriptions', { customerId, planId: plan.id });
    assertNames('plan', await readProblem(response, 502, 'processor_object_missing'));
    assert.deepEqual(await read(`/plans/${plan.id}`), plan);
  });
});

describe('a repeated creation', () => {
  test('502: of a payment that the processor does not know', async () => {
    const { id: customerId } = await createCustomer(till);
    const body = { customerId, amount: 2_000, currency: 'eur', idempotencyKey: 'replayed-payment' };
    const { payment } = await readJson<CreatedPaymentBody>(await call('POST', '/payments', body), 201);
    await emptyProcessor();
    const again = await call('POST', '/payments', body);
    assertNames('payment', await readProblem(again, 502, 'processor_object_missing'));
    assert.deepEqual(await read(`/payments/${payment.id}`), payment);
  });

  test('502: of a subscription that the processor does not know', async () => {
    const [{ id: customerId }, { id: planId }] = [await createCustomer(till), await createPlan(till)];
    const body = { customerId, planId, idempotencyKey: 'replayed-subscription' };
    await readJson(await call('POST', '/subscriptions', body), 201);
    await emptyProcessor();
    const again = await call('POST', '/subscriptions', body);
    assertNames('subscription', await readProblem(again, 502, 'processor_object_missing'));
  });

  test('502: of a setup of a payment method that the processor does not know', async () => {
    const { id } = await createCustomer(till);
    const body = { idempotencyKey: 'replayed-setup' };
    await readJson(await call('POST', `/customers/${id}/payment-methods`, body), 201);
    await emptyProcessor();
    const again = await call('POST', `/customers/${id}/payment-methods`, body);
    assertNames('customer', await readProblem(again, 502, 'processor_object_missing'));
  });
});

describe('the idempotency key of a request that met an unknown object', () => {
  test('is kept for the same request, which succeeds once the right account responds', async () => {
    const { id: customerId, processorCustomerId } = await createCustomer(till);
    const body = { customerId, amount: 2_000, currency: 'eur', idempotencyKey: 'wrong-account' };
    await till.sql('update till.customers set processor_customer_id = $1 where id = $2', [
      'cus_elsewhere',
      customerId,
    ]);
    await readProblem(await call('POST', '/payments', body), 502, 'processor_object_missing');
    await readProblem(await call('POST', '/payments', { ...body, amount: 1 }), 422, 'idempotency_key_reused');
    await till.sql('update till.customers set processor_customer_id = $1 where id = $2', [
      processorCustomerId,
      customerId,
    ]);
    const { payment } = await readJson<CreatedPaymentBody>(await call('POST', '/payments', body), 201);
    assert.equal(payment.customerId, customerId);
  });
});

describe('the client secret and the preview', () => {
  test('502: of a payment or subscription that the processor does not know', async () => {
    const payment = await createPayment(till);
    const { subscription } = await createSubscription(till);
    await emptyProcessor();
    for (const [kind, path, body] of [
      ['payment', `/payments/${payment.id}/client-secret`],
      ['subscription', `/subscriptions/${subscription.id}/client-secret`],
      ['subscription', `/subscriptions/${subscription.id}/preview`, { quantity: 2 }],
    ] as const)
      assertNames(kind, await readProblem(await call('POST', path, body), 502, 'processor_object_missing'));
  });
});

describe('an unpaid payment', () => {
  test('502: is not refunded if the processor does not know it', async () => {
    const payment = await createPayment(till);
    await emptyProcessor();
    const response = await call('POST', `/payments/${payment.id}/refund`);
    assertNames('payment', await readProblem(response, 502, 'processor_object_missing'));
  });
});
