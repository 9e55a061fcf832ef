/**
 * Responses of the processor in which something is missing or odd. What was created or changed there must be recorded
 * and returned as a success, as long as the response has the object's id, amount and status.
 */
import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { type Backend, startBackend } from '../support/backend.ts';
import { pages } from '../support/checkouts.ts';
import type { Method } from '../support/client.ts';
import { createPrerequisites, type Prerequisites } from '../support/creation-cases.ts';
import { effort, rotation } from '../support/effort.ts';
import { createPaidPayment, saveCard } from '../support/objects.ts';
import {
  type PassingResponse,
  type ProcessorProxy,
  startProcessorProxy,
} from '../support/processor-proxy.ts';
import { expireTurns } from '../support/subscription-turns.ts';
import { startTill } from '../support/till.ts';
import type { TillInProcess } from '../support/till-in-process.ts';

interface Scene {
  readonly backend: Backend;
  readonly proxy: ProcessorProxy;
  readonly till: TillInProcess;
  readonly prerequisites: Prerequisites;
  /** A request below /api/v1 that must succeed. */
  readonly call: (method: Method, path: string, body?: object) => Promise<Readonly<Record<string, unknown>>>;
}

async function setScene(t: TestContext): Promise<Scene> {
  const backend = await startBackend(t);
  const proxy = await startProcessorProxy(backend);
  const till = await startTill({ in: 'process', on: backend, processorUrl: proxy.url });
  const call = async (method: Method, path: string, body?: object) => {
    const response = await till.call(
      method,
      path,
      method === 'POST' || method === 'PUT' || method === 'PATCH' ? (body ?? {}) : undefined,
    );
    const text = await response.text();
    assert.ok(response.ok, `${method} ${path}: ${response.status} ${text}`);
    return JSON.parse(text);
  };
  return { backend, proxy, till, prerequisites: await createPrerequisites(backend, till), call };
}

/** An order of a new plan: a checkout does not sell a plan twice. */
async function createOrder({ call, prerequisites: { customerId } }: Scene) {
  const plan = await call('POST', '/plans', {
    name: 'Gold',
    amount: 900,
    currency: 'eur',
    interval: 'month',
  });
  return { customerId, planId: String(plan['id']) };
}

interface OddCase {
  readonly name: string;
  /** The response that is altered. */
  readonly response: RegExp;
  /** What a response must say. Anything else may be missing. */
  readonly essential: readonly string[];
  /**
   * What may be missing, but is refused if it is null or of the wrong type: the one contradicts the change, the other
   * would erase what the row has.
   */
  readonly typed?: readonly string[];
  /** Does what must have been done before; returns the request itself. */
  readonly prepare: (scene: Scene) => Promise<() => Promise<unknown>>;
}

const money = ['id', 'object', 'amount', 'currency', 'status'];
const customer = ['id', 'object'];
const product = ['id', 'object', 'active'];
const price = ['id', 'object', 'unit_amount', 'currency', 'active'];
const subscription = ['id', 'object', 'status', 'items'];
const session = ['id', 'object', 'mode', 'status', 'expires_at'];

/** The returned resource must be the requested one, and be stored as it was returned. */
async function assertStored(
  { call }: Scene,
  path: string,
  response: Readonly<Record<string, unknown>>,
  expected: Readonly<Record<string, unknown>>,
): Promise<void> {
  assert.partialDeepStrictEqual(response, expected);
  assert.deepEqual(await call('GET', `${path}/${response['id']}`), response);
}

const cases: readonly OddCase[] = [
  {
    name: 'customers.create',
    response: /^POST \/v1\/customers$/,
    essential: customer,
    prepare: async (scene) => async () => {
      const response = await scene.call('POST', '/customers', { email: 'grace@example.com', name: 'Grace' });
      await assertStored(scene, '/customers', response, { email: 'grace@example.com', name: 'Grace' });
    },
  },
  {
    name: 'customers.update',
    response: /^POST \/v1\/customers\/\w+$/,
    essential: customer,
    typed: ['email', 'name', 'phone'],
    prepare: async (scene) => async () => {
      const { customerId } = scene.prerequisites;
      const response = await scene.call('PATCH', `/customers/${customerId}`, { phone: '+1' });
      await assertStored(scene, '/customers', response, { phone: '+1' });
    },
  },
  {
    name: 'plans.create',
    response: /^POST \/v1\/prices$/,
    essential: [...price, 'product'],
    prepare: async (scene) => async () => {
      const values = { name: 'Gold', amount: 900, currency: 'eur', interval: 'week' };
      const response = await scene.call('POST', '/plans', values);
      await assertStored(scene, '/plans', response, { ...values, active: true });
    },
  },
  ...(['prices', 'products'] as const).map((half) => ({
    name: `plans.archive, the response about ${half}`,
    response: new RegExp(`^POST /v1/${half}/\\w+$`),
    essential: half === 'prices' ? price : product,
    prepare: async (scene: Scene) => {
      const values = { name: 'Gold', amount: 900, currency: 'eur', interval: 'week' };
      const { id } = await scene.call('POST', '/plans', values);
      return async () => {
        const response = await scene.call('POST', `/plans/${id}/archive`);
        await assertStored(scene, '/plans', response, { ...values, active: false });
      };
    },
  })),
  {
    name: 'payments.create',
    response: /^POST \/v1\/payment_intents$/,
    essential: money,
    prepare: async (scene) => async () => {
      const { customerId } = scene.prerequisites;
      const values = { customerId, amount: 700, currency: 'eur', metadata: { order: '7' } };
      const { payment } = await scene.call('POST', '/payments', values);
      // The shape that the API promises for a created payment.
      const response = payment as Readonly<Record<string, unknown>>;
      await assertStored(scene, '/payments', response, { ...values, status: 'requires_payment_method' });
    },
  },
  {
    name: 'payments.update',
    response: /^POST \/v1\/payment_intents\/\w+$/,
    essential: money,
    prepare: async (scene) => {
      const values = { customerId: scene.prerequisites.customerId, amount: 700, currency: 'eur' };
      const { payment } = await scene.call('POST', '/payments', values);
      return async () => {
        const change = { metadata: { order: '8' } };
        const response = await scene.call('PATCH', `/payments/${Object(payment).id}`, change);
        await assertStored(scene, '/payments', response, { ...values, ...change });
      };
    },
  },
  {
    name: 'payments.cancel',
    response: /^POST \/v1\/payment_intents\/\w+\/cancel$/,
    essential: money,
    prepare: async (scene) => {
      const values = { customerId: scene.prerequisites.customerId, amount: 700, currency: 'eur' };
      const { payment } = await scene.call('POST', '/payments', values);
      return async () => {
        const response = await scene.call('POST', `/payments/${Object(payment).id}/cancel`);
        await assertStored(scene, '/payments', response, { ...values, status: 'canceled' });
      };
    },
  },
  {
    name: 'refunds.create',
    response: /^POST \/v1\/refunds$/,
    essential: ['id', 'object', 'amount', 'currency'],
    prepare: async (scene) => async () => {
      const { paymentId } = scene.prerequisites;
      const { refund } = await scene.call('POST', `/payments/${paymentId}/refund`, {
        amount: 3,
        reason: 'duplicate',
      });
      assert.partialDeepStrictEqual(refund, { paymentId, amount: 3, currency: 'eur', reason: 'duplicate' });
      const { data } = await scene.call('GET', `/payments/${paymentId}/refunds`);
      assert(Array.isArray(data));
      assert.deepEqual(data[0], refund);
      const reserved = 'select 1 from till.refunds where processor_refund_id is null';
      assert.deepEqual(await scene.backend.sql(reserved), []);
    },
  },
  {
    name: 'subscriptions.create',
    response: /^POST \/v1\/subscriptions$/,
    essential: subscription,
    prepare: async (scene) => async () => {
      const { customerId, planId } = scene.prerequisites;
      const values = { customerId, planId, metadata: { seats: '7' } };
      const response = await scene.call('POST', '/subscriptions', values);
      // The shape that the API promises for a created subscription.
      const created = response['subscription'] as Readonly<Record<string, unknown>>;
      await assertStored(scene, '/subscriptions', created, { ...values, status: 'incomplete' });
    },
  },
  {
    name: 'subscriptions.update',
    response: /^POST \/v1\/subscriptions\/\w+$/,
    essential: subscription,
    prepare: async (scene) => {
      const { customerId, planId } = scene.prerequisites;
      const created = await scene.call('POST', '/subscriptions', { customerId, planId });
      const id: unknown = Object(created['subscription']).id;
      return async () => {
        const change = { metadata: { seats: '8' } };
        const response = await scene.call('PATCH', `/subscriptions/${id}`, change);
        await assertStored(scene, '/subscriptions', Object(response['subscription']), { planId, ...change });
      };
    },
  },
  {
    name: 'invoices.pay',
    response: /^POST \/v1\/invoices\/\w+\/pay$/,
    essential: ['id', 'object', 'status'],
    prepare: async (scene) => {
      const { unpaidSubscriptionId: id, cardId } = await createPrerequisites(scene.backend, scene.till);
      return async () => {
        const response = await scene.call('POST', `/subscriptions/${id}/pay`, { paymentMethodId: cardId });
        const { olderUnpaidInvoiceIds: older, ...paid } = response;
        assert.deepEqual(older, []);
        await assertStored(scene, '/subscriptions', paid, { id, status: 'active' });
      };
    },
  },
  {
    name: 'subscriptionChanges.change',
    response: /^POST \/v1\/subscriptions\/\w+$/,
    essential: [...subscription, 'currency', 'trial_end'],
    prepare: async (scene) => {
      const { customerId, planId } = scene.prerequisites;
      const values = { customerId, planId, trialPeriodDays: 7 };
      const created = await scene.call('POST', '/subscriptions', values);
      const id: unknown = Object(created['subscription']).id;
      return async () => {
        const change = { quantity: 3 };
        const response = await scene.call('PATCH', `/subscriptions/${id}`, change);
        await assertStored(scene, '/subscriptions', Object(response['subscription']), { planId, ...change });
      };
    },
  },
  {
    name: 'subscriptions.cancel',
    response: /^DELETE \/v1\/subscriptions\/\w+$/,
    essential: subscription,
    prepare: async (scene) => {
      const { customerId, planId } = scene.prerequisites;
      const response = await scene.call('POST', '/subscriptions', { customerId, planId });
      const id: unknown = Object(response['subscription']).id;
      return async () => {
        const canceled = await scene.call('DELETE', `/subscriptions/${id}`);
        await assertStored(scene, '/subscriptions', canceled, {
          customerId,
          planId,
          status: 'canceled',
        });
      };
    },
  },
  {
    name: 'checkouts.create',
    response: /^POST \/v1\/checkout\/sessions$/,
    essential: [...session, 'payment_status', 'line_items', 'amount_total'],
    prepare: async (scene) => {
      const order = await createOrder(scene);
      return async () => {
        const { checkout } = await scene.call('POST', '/checkouts', { ...pages, ...order });
        assert.partialDeepStrictEqual(checkout, { ...order, quantity: 1, status: 'open' });
        const { data } = await scene.call('GET', `/checkouts?customerId=${order.customerId}&limit=1`);
        assert.deepEqual(data, [checkout]);
      };
    },
  },
  {
    name: 'checkouts.expire',
    response: /^POST \/v1\/checkout\/sessions\/\w+\/expire$/,
    // A read says what came of it.
    essential: [],
    prepare: async (scene) => {
      const opened = await scene.call('POST', '/checkouts', { ...pages, ...(await createOrder(scene)) });
      return async () => {
        const { checkout } = await scene.call('POST', `/checkouts/${Object(opened['checkout']).id}/expire`);
        assert.equal(Object(checkout).status, 'expired');
      };
    },
  },
  {
    name: 'portal.createSession',
    response: /^POST \/v1\/billing_portal\/sessions$/,
    essential: ['id', 'object', 'url'],
    prepare: async (scene) => async () => {
      const path = `/customers/${scene.prerequisites.customerId}/portal-sessions`;
      const { url } = await scene.call('POST', path, { returnUrl: pages.cancelUrl });
      assert.equal(typeof url, 'string');
    },
  },
  {
    name: 'paymentMethods.setUp',
    response: /^POST \/v1\/setup_intents$/,
    essential: ['id', 'object', 'status'],
    prepare: async (scene) => async () => {
      const { customerId } = scene.prerequisites;
      const response = await scene.call('POST', `/customers/${customerId}/payment-methods`);
      // Null where the response lacks it.
      assert.deepEqual(Object.keys(response), ['clientSecret']);
    },
  },
  {
    name: 'paymentMethods.setDefault',
    response: /^POST \/v1\/customers\/\w+$/,
    essential: [...customer, 'invoice_settings'],
    prepare: async (scene) => {
      const { customerId } = scene.prerequisites;
      const { paymentMethodId } = await saveCard({ ...scene.till, ...scene.backend }, { id: customerId });
      return async () => {
        const path = `/customers/${customerId}/default-payment-method`;
        const response = await scene.call('PUT', path, { paymentMethodId });
        assert.deepEqual([response['id'], response['isDefault']], [paymentMethodId, true]);
      };
    },
  },
];

type Body = PassingResponse['body'];

/** A value that is surely not of the field's type. */
function odd(value: unknown): unknown {
  return typeof value === 'number' ? 'odd' : 7;
}

/**
 * Which fields are missing together, beside all of them at once. In the short form one half of them, cut in another way
 * for each case. In the long form each is missing alone.
 */
function missingSets(fields: readonly string[], caseNumber: number): readonly (readonly string[])[] {
  const digit = 2 ** (caseNumber % Math.ceil(Math.log2(fields.length)));
  const half = fields.filter((_, place) => (place & digit) === 0);
  return effort({ short: [half], long: fields.map((field) => [field]) });
}

/**
 * In the short form every second one: two cases next to each other, mostly about the same kind of object, share them.
 */
function essentialsOf(essential: readonly string[], caseNumber: number): readonly string[] {
  return essential.filter((_, place) => effort({ short: (place + caseNumber) % 2 === 0, long: true }));
}

test('a response with only what it must say is enough', async (t) => {
  const scene = await setScene(t);
  const nextChanges = rotation(['null', 'odd', 'missing'], 1);
  for (const [number, { name, response, essential, typed = [], prepare }] of cases.entries()) {
    await t.test(
      `${name}: other fields that are missing, null or odd do not undo what was done`,
      async () => {
        let fields: readonly string[] = [];
        const request = async (change: (body: Body) => unknown) => {
          const send = await prepare(scene);
          let altered = 0;
          scene.proxy.alterResponses(({ method, path, body }) => {
            if (!response.test(`${method} ${path}`)) return body;
            altered += 1;
            fields = Object.keys(body).filter((field) => !essential.includes(field));
            return change(body);
          });
          await send();
          scene.proxy.passUnaltered();
          assert.equal(altered, 1);
        };
        const changed = (body: Body, put: (value: unknown) => unknown): Body => ({
          ...body,
          ...Object.fromEntries(fields.map((field) => [field, put(body[field])])),
        });
        await request((body) => changed(body, () => undefined));
        const kept = (body: Body) => Object.fromEntries(typed.map((field) => [field, body[field]]));
        for (const change of nextChanges()) {
          if (change === 'null') await request((body) => ({ ...changed(body, () => null), ...kept(body) }));
          else if (change === 'odd') await request((body) => ({ ...changed(body, odd), ...kept(body) }));
          else
            for (const missing of missingSets(fields, number))
              await request((body) => ({
                ...body,
                ...Object.fromEntries(missing.map((field) => [field, undefined])),
              }));
        }
      },
    );
  }

  await t.test('plans.create: the product inside the response may say as little', async () => {
    const { call, proxy } = scene;
    proxy.alterResponses(({ method, path, body }) => {
      if (`${method} ${path}` !== 'POST /v1/prices') return body;
      const { id, object, active } = Object(body['product']);
      return { ...body, product: { id, object, active } };
    });
    const response = await call('POST', '/plans', {
      name: 'Lean',
      amount: 9,
      currency: 'eur',
      interval: 'day',
    });
    assert.equal(response['name'], 'Lean');
  });
});

test('a response without its amount or its object is not treated as a success', async (t) => {
  const scene = await setScene(t);
  for (const [number, { name, response, essential, prepare }] of cases.entries()) {
    await t.test(`${name} is a 502`, async () => {
      for (const field of essentialsOf(essential, number)) {
        const send = await prepare(scene);
        // An invalid response keeps the turn of its subscription for a while.
        await expireTurns(scene.backend);
        scene.proxy.alterResponses(({ method, path, body }) =>
          response.test(`${method} ${path}`) ? { ...body, [field]: undefined } : body,
        );
        await assert.rejects(send(), /: 502 .*processor_bad_answer/, field);
        scene.proxy.passUnaltered();
      }
    });
  }
});

test('a refund whose status is null or unknown is recorded and blocks nothing', async (t) => {
  const shared = await setScene(t);
  /** With a payment of its own. */
  const nextScene = async (): Promise<Scene> => {
    shared.proxy.passUnaltered();
    const { id, processorPaymentIntentId } = await createPaidPayment(
      { ...shared.till, ...shared.backend },
      { amount: 2_000 },
    );
    // No webhook says that it is paid. Asked to cancel it, Till reads it from the processor.
    assert.equal((await shared.till.tryPost(`/payments/${id}/cancel`, {})).status, 409);
    return {
      ...shared,
      prerequisites: { ...shared.prerequisites, paymentId: id, processorPaymentIntentId },
    };
  };
  const refundsOf = async ({ call, prerequisites }: Scene) => {
    const { data } = await call('GET', `/payments/${prerequisites.paymentId}/refunds`);
    assert(Array.isArray(data));
    return data.map(({ amount, status }) => [amount, status]);
  };
  const statuses = [null, 'reversed', undefined];

  for (const status of statuses) {
    await t.test(`${status}: is recorded as pending, counts, and follows a later status`, async () => {
      const scene = await nextScene();
      const { call, proxy, till, prerequisites } = scene;
      proxy.alterResponses(({ path, body }) => (path === '/v1/refunds' ? withStatus(body, status) : body));
      const after = await call('POST', `/payments/${prerequisites.paymentId}/refund`);
      assert.equal(after['status'], 'refunded');
      assert.deepEqual(await refundsOf(scene), [[2_000, 'pending']]);
      const again = await till.tryPost(`/payments/${prerequisites.paymentId}/refund`, {});
      assert.equal(again.body['code'], 'payment_not_refundable');
      proxy.passUnaltered();
      await till.services.mirrors.refunds.ofPayments.refresh(prerequisites.processorPaymentIntentId);
      assert.deepEqual(await refundsOf(scene), [[2_000, 'succeeded']]);
    });
  }

  await t.test('a status that was known stays as it was', async () => {
    const scene = await nextScene();
    const { call, proxy, till, prerequisites } = scene;
    await call('POST', `/payments/${prerequisites.paymentId}/refund`, { amount: 500 });
    proxy.alterResponses(({ path, body }) => (path === '/v1/refunds' ? withStatus(body, 'reversed') : body));
    await till.services.mirrors.refunds.ofPayments.refresh(prerequisites.processorPaymentIntentId);
    assert.deepEqual(await refundsOf(scene), [[500, 'succeeded']]);
  });

  for (const status of statuses) {
    await t.test(`${status}: is found by the id of Till, which frees what was reserved for it`, async () => {
      const scene = await nextScene();
      const { backend, proxy, till, prerequisites } = scene;
      // The response to the refund cannot be read, and another refund of the payment can never be.
      const odd = await backend.stripe.refunds.create({
        payment_intent: prerequisites.processorPaymentIntentId,
        amount: 1,
      });
      proxy.alterResponses(({ method, path, body }) => {
        if (path !== '/v1/refunds') return body;
        return method === 'POST' ? { ...body, amount: 'odd' } : withStatus(body, status, odd.id);
      });
      const path = `/payments/${prerequisites.paymentId}/refund`;
      const lost = await till.tryPost(path, { amount: 1_000 }, `lost-${status}`);
      assert.equal(lost.status, 502, JSON.stringify(lost.body));
      const blocked = await till.tryPost(path, { amount: 1_500 });
      assert.equal(blocked.body['code'], 'refund_in_flight');
      await backend.sql(
        `update till.idempotency_claims set attempted_at = attempted_at - interval '2 minutes',
           created_at = created_at - interval '2 minutes', leased_until = leased_until - interval '2 minutes'
         where completed_at is null`,
      );
      await till.services.sweeper.sweep();
      assert.deepEqual(await refundsOf(scene), [[1_000, 'pending']]);
      const more = await till.tryPost(path, { amount: 1_500 });
      assert.equal(more.body['code'], 'refund_exceeds_remaining');
      const replayed = await till.tryPost(path, { amount: 1_000 }, `lost-${status}`);
      assert.deepEqual([replayed.status, replayed.replayed], [200, true]);
    });
  }
});

/** A refund, or every refund of a listing, with another status; of the one with this id the amount is odd, too. */
function withStatus(body: Body, status: unknown, oddId?: string): unknown {
  if (Array.isArray(body['data'])) {
    return { ...body, data: body['data'].map((refund) => withStatus(refund, status, oddId)) };
  }
  return { ...body, status, ...(body['id'] === oddId ? { amount: 'odd' } : {}) };
}
