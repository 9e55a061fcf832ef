import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { after, test } from 'node:test';
import { startBackend } from '../support/backend.ts';
import { subscribed } from '../support/changes.ts';
import { createCheckout, pages } from '../support/checkouts.ts';
import type { Method } from '../support/client.ts';
import { effort } from '../support/effort.ts';
import {
  createCustomer,
  createPaidPayment,
  createPayment,
  createPlan,
  createSubscription,
  saveCard,
} from '../support/objects.ts';
import { readProblem } from '../support/problem.ts';
import { createPromotionCode } from '../support/promotion-codes.ts';
import { expireTurns } from '../support/subscription-turns.ts';
import { startTill } from '../support/till.ts';

const backend = await startBackend({ after });
const till = await startTill({ in: 'process', on: backend, mustNotLogErrors: true });
const { call, control } = till;
/** Shorter than Till's own, which test/processor/limits.test.ts checks: a test cannot wait for those. */
const limits = { deadlineMs: 600, attemptTimeoutMs: 400 };
/** Only for calls that hang: on a busy machine, others take as long as these limits. */
const impatient = await startTill({ in: 'process', on: backend, limits, mustNotLogErrors: true });

interface Operation {
  readonly name: string;
  /** What the processor calls it. */
  readonly there: string;
  /** Creates what the request needs, and returns the request. */
  readonly prepare: () => Promise<readonly [method: Method, path: string, body?: object]>;
  readonly success: number;
}

/** A change of a subscription in a trial, which another change may precede. */
async function planned(change: object, before?: object): ReturnType<Operation['prepare']> {
  const { subscription } = await createSubscription(till, { trialPeriodDays: 7 });
  const path = `/subscriptions/${subscription.id}`;
  if (before !== undefined) assert.equal((await call('PATCH', path, before)).status, 200);
  return ['PATCH', path, { ...change, idempotencyKey: randomUUID() }];
}

/**
 * Every operation that calls the processor, except reads that share the response of a second, even if it is a failure.
 */
const operations: readonly Operation[] = [
  {
    name: 'create a customer',
    there: 'customers.create',
    prepare: async () => ['POST', '/customers', { email: 'ada@example.com' }],
    success: 201,
  },
  {
    name: 'change a customer',
    there: 'customers.update',
    prepare: async () => ['PATCH', `/customers/${(await createCustomer(till)).id}`, { name: 'Ada' }],
    success: 200,
  },
  {
    name: 'delete a customer',
    there: 'customers.delete',
    prepare: async () => ['DELETE', `/customers/${(await createCustomer(till)).id}`],
    success: 204,
  },
  {
    name: 'create a plan',
    there: 'prices.create',
    prepare: async () => ['POST', '/plans', { name: 'Gold', amount: 1, currency: 'eur', interval: 'month' }],
    success: 201,
  },
  {
    name: 'archive a plan',
    there: 'products.update',
    prepare: async () => ['POST', `/plans/${(await createPlan(till)).id}/archive`],
    success: 200,
  },
  {
    name: 'create a payment',
    there: 'payment_intents.create',
    prepare: async () => {
      const { id: customerId } = await createCustomer(till);
      return ['POST', '/payments', { customerId, amount: 2_000, currency: 'eur' }];
    },
    success: 201,
  },
  {
    name: 'change a payment',
    there: 'payment_intents.update',
    prepare: async () => [
      'PATCH',
      `/payments/${(await createPayment(till)).id}`,
      { metadata: { a: '1' }, idempotencyKey: randomUUID() },
    ],
    success: 200,
  },
  {
    name: 'cancel a payment',
    there: 'payment_intents.cancel',
    prepare: async () => ['POST', `/payments/${(await createPayment(till)).id}/cancel`],
    success: 200,
  },
  {
    name: 'refund a payment',
    there: 'refunds.create',
    prepare: async () => ['POST', `/payments/${(await createPaidPayment(till)).id}/refund`, { amount: 500 }],
    success: 200,
  },
  {
    name: 'create a subscription',
    there: 'subscriptions.create',
    prepare: async () => {
      const { id: customerId } = await createCustomer(till);
      return ['POST', '/subscriptions', { customerId, planId: (await createPlan(till)).id }];
    },
    success: 201,
  },
  {
    name: 'look up a promotion code',
    there: 'promotion_codes.list',
    prepare: async () => {
      const { id: customerId } = await createCustomer(till);
      const { code: promotionCode } = await createPromotionCode(till);
      const planId = (await createPlan(till)).id;
      return ['POST', '/subscriptions', { customerId, planId, promotionCode }];
    },
    success: 201,
  },
  {
    name: 'create a subscription with a card',
    there: 'subscriptions.create',
    prepare: async () => {
      const customer = await createCustomer(till);
      const { paymentMethodId } = await saveCard(till, customer);
      const planId = (await createPlan(till)).id;
      return ['POST', '/subscriptions', { customerId: customer.id, planId, paymentMethodId }];
    },
    success: 201,
  },
  {
    name: 'get the client secret of a subscription',
    there: 'invoices.list',
    prepare: async () => {
      const { subscription } = await createSubscription(till);
      return ['POST', `/subscriptions/${subscription.id}/client-secret`];
    },
    success: 200,
  },
  {
    name: 'change a subscription',
    there: 'subscriptions.update',
    prepare: async () => {
      const { subscription } = await createSubscription(till);
      const change = { metadata: { a: '1' }, idempotencyKey: randomUUID() };
      return ['PATCH', `/subscriptions/${subscription.id}`, change];
    },
    success: 200,
  },
  {
    name: 'pay a subscription',
    there: 'invoices.pay',
    prepare: async () => {
      const { subscription } = await createSubscription(till);
      const { paymentMethodId } = await saveCard(till, { id: subscription.customerId });
      const body = { paymentMethodId, idempotencyKey: randomUUID() };
      return ['POST', `/subscriptions/${subscription.id}/pay`, body];
    },
    success: 200,
  },
  {
    name: 'plan a change of a subscription',
    there: 'subscription_schedules.create',
    prepare: () => planned({ quantity: 2, when: 'periodEnd' }),
    success: 200,
  },
  {
    name: 'plan another change of a subscription',
    there: 'subscription_schedules.update',
    prepare: () => planned({ quantity: 3, when: 'periodEnd' }, { quantity: 2, when: 'periodEnd' }),
    success: 200,
  },
  {
    name: 'drop the planned change of a subscription',
    there: 'subscription_schedules.release',
    prepare: () => planned({ quantity: 1, when: 'periodEnd' }, { quantity: 2, when: 'periodEnd' }),
    success: 200,
  },
  {
    name: 'change the quantity of a subscription',
    there: 'subscriptions.update',
    prepare: () => planned({ quantity: 2 }),
    success: 200,
  },
  {
    name: 'change a subscription with a card that is declined',
    there: 'invoices.void',
    prepare: async () => {
      const { path } = await subscribed(till, { card: 'pm_card_chargeCustomerFail' });
      return ['PATCH', path, { quantity: 2, proration: 'invoice', idempotencyKey: randomUUID() }];
    },
    success: 402,
  },
  {
    name: 'preview a change of a subscription',
    there: 'invoices.create_preview',
    prepare: async () => ['POST', `${(await subscribed(till)).path}/preview`, { quantity: 2 }],
    success: 200,
  },
  {
    name: 'end a subscription with its period',
    there: 'subscriptions.update',
    prepare: () => planned({ cancelAtPeriodEnd: true }),
    success: 200,
  },
  {
    name: 'cancel a subscription',
    there: 'subscriptions.cancel',
    prepare: async () => ['DELETE', `/subscriptions/${(await createSubscription(till)).subscription.id}`],
    success: 200,
  },
  {
    name: 'save a payment method',
    there: 'setup_intents.create',
    prepare: async () => ['POST', `/customers/${(await createCustomer(till)).id}/payment-methods`, {}],
    success: 201,
  },
  {
    name: 'list payment methods',
    there: 'payment_methods.list',
    prepare: async () => ['GET', `/customers/${(await createCustomer(till)).id}/payment-methods`],
    success: 200,
  },
  {
    name: 'set the default payment method',
    there: 'subscriptions.update',
    prepare: async () => {
      const { subscription } = await createSubscription(till, { trialPeriodDays: 7 });
      const { paymentMethodId } = await saveCard(till, { id: subscription.customerId });
      const path = `/customers/${subscription.customerId}/default-payment-method`;
      return ['PUT', path, { paymentMethodId }];
    },
    success: 200,
  },
  {
    name: 'remove a payment method',
    there: 'payment_methods.detach',
    prepare: async () => {
      const customer = await createCustomer(till);
      const { paymentMethodId } = await saveCard(till, customer);
      return ['DELETE', `/customers/${customer.id}/payment-methods/${paymentMethodId}`];
    },
    success: 204,
  },
  {
    name: 'open a checkout',
    there: 'checkout_sessions.create',
    prepare: async () => {
      const { id: customerId } = await createCustomer(till);
      const planId = (await createPlan(till, { group: randomUUID() })).id;
      return ['POST', '/checkouts', { ...pages, customerId, planId, idempotencyKey: randomUUID() }];
    },
    success: 201,
  },
  {
    name: 'expire a checkout',
    there: 'checkout_sessions.expire',
    prepare: async () => {
      const { id: customerId } = await createCustomer(till);
      const { checkout } = await createCheckout(till, { customerId, saveCard: true });
      return ['POST', `/checkouts/${checkout.id}/expire`];
    },
    success: 200,
  },
  {
    name: 'send a customer to the portal',
    there: 'portal_sessions.create',
    prepare: async () => [
      'POST',
      `/customers/${(await createCustomer(till)).id}/portal-sessions`,
      { returnUrl: 'https://shop.example.com/account' },
    ],
    success: 201,
  },
];

/** More than the attempts of any call. */
const everyAttempt = 10;

interface Fault {
  readonly fault: Readonly<Record<string, unknown>>;
  readonly status: 502 | 503 | 504;
  readonly code: string;
}

/**
 * What the processor can do, and the response to it. After every second one the effect of the call is unknown. How
 * faults map to responses is tested in `test/processor/failures.test.ts`.
 */
const faults: readonly Fault[] = [
  { fault: { kind: 'error', status: 401 }, status: 502, code: 'processor_misconfigured' },
  { fault: { kind: 'error', status: 500 }, status: 503, code: 'processor_unavailable' },
  { fault: { kind: 'error', status: 418 }, status: 502, code: 'processor_bad_answer' },
  { fault: { kind: 'hang' }, status: 504, code: 'processor_timeout' },
  { fault: { kind: 'error', status: 403 }, status: 502, code: 'processor_misconfigured' },
  { fault: { kind: 'error', status: 503 }, status: 503, code: 'processor_unavailable' },
  { fault: { kind: 'error', status: 429 }, status: 503, code: 'processor_unavailable' },
  { fault: { kind: 'reset_before' }, status: 503, code: 'processor_unavailable' },
];

/**
 * In the short form each operation meets two of the faults, one of each kind, which differ from operation to operation.
 * In the long form each operation meets every fault.
 */
const rounds = effort({ short: [0, 1], long: [...faults.keys()] });

for (const [place, { name, there, prepare, success }] of operations.entries())
  for (const round of rounds) {
    const { fault, status, code } = faults[(place + round) % faults.length] ?? assert.fail();
    test(`${status}: ${name}, ${JSON.stringify(fault)}: nothing of it blocks the same request afterwards`, async () => {
      const request = await prepare();
      await control('faults', { operation: there, times: everyAttempt, ...fault });
      const response = await (status === 504 ? impatient : till).call(...request);
      await till.clearFaults();
      await readProblem(response, status, code);
      const retryAfter = response.headers.get('retry-after');
      if (status === 502) assert.equal(retryAfter, null);
      else assert.match(retryAfter ?? '', /^[1-9]\d*$/);
      // A call whose effect is unknown keeps the turn of its subscription for a while.
      await expireTurns(till);
      assert.equal((await call(...request)).status, success);
    });
  }
