/** Refusals of customers, plans, payments, subscriptions and checkouts in some state. */
import { subscribed, useCard } from '../../support/changes.ts';
import { completeCheckout, createCheckout, pages } from '../../support/checkouts.ts';
import {
  confirmPayment,
  createCustomer,
  createPaidPayment,
  createPayment,
  createPlan,
  createSubscription,
  saveCard,
} from '../../support/objects.ts';
import type { Documented } from '../../support/openapi-document.ts';
import { createUnpaid, endSubscriptions } from '../../support/past-due.ts';
import { rightRequest, unknownId } from '../../support/right-requests.ts';
import { until } from '../../support/until.ts';
import { requestAboutSubscription, takeTurn } from './everywhere.ts';
import type { Prepared, Recipe, Recipes, Scene } from './recipe.ts';

const declining = 'pm_card_chargeCustomerFail';
const authenticating = 'pm_card_authenticationRequired';

/** A change of a subscription, and its preview. */
const changes = (recipe: Recipe): Readonly<Record<string, Recipe>> => ({
  'PATCH /api/v1/subscriptions/{id}': recipe,
  'POST /api/v1/subscriptions/{id}/preview': recipe,
});

export const billing: Recipes = {
  // The same customer, and the same open checkout.
  200: {
    'POST /api/v1/customers': async (scene, operation) =>
      twice(scene, operation, await rightRequest(scene, operation)),
    'POST /api/v1/checkouts': async (scene, operation) => {
      const [{ id: customerId }, { id: planId }] = [await createCustomer(scene), await createPlan(scene)];
      return twice(scene, operation, { body: { ...pages, customerId, planId } });
    },
  },
  not_found: {
    'POST /api/v1/payments': () => ({ body: { customerId: unknownId, amount: 900, currency: 'eur' } }),
    'POST /api/v1/subscriptions': () => ({ body: { customerId: unknownId, planId: unknownId } }),
    'POST /api/v1/checkouts': () => ({ body: { ...pages, customerId: unknownId, saveCard: true } }),
    'GET /api/v1/entitlements': () => ({ query: '?externalId=unknown' }),
  },
  external_id_taken: {
    'POST /api/v1/customers': async (scene) => ({
      body: { email: 'other@example.com', externalId: await takenExternalId(scene) },
    }),
    'PATCH /api/v1/customers/{id}': async (scene) => ({
      id: (await createCustomer(scene)).id,
      body: { externalId: await takenExternalId(scene) },
    }),
  },
  customer_deleted: {
    'PATCH /api/v1/payments/{id}': async (scene) => {
      const { id, customerId } = await createPayment(scene);
      return aboutDeleted(scene, id, customerId);
    },
    'PATCH /api/v1/subscriptions/{id}': async (scene) => {
      const { id, customerId } = (await createSubscription(scene)).subscription;
      return aboutDeleted(scene, id, customerId);
    },
  },
  plan_in_use: {
    'PATCH /api/v1/plans/{id}': async (scene) => ({
      id: (await subscribed(scene)).plan.id,
      body: { addOn: true },
    }),
  },
  payment_method_in_use: {
    'DELETE /api/v1/customers/{id}/payment-methods/{paymentMethodId}': async (scene) => {
      const { id } = await createCustomer(scene);
      const { paymentMethodId } = await saveCard(scene, { id });
      await scene.call('PUT', `/customers/${id}/default-payment-method`, { paymentMethodId });
      await createSubscription(scene, { customerId: id, trialPeriodDays: 7 });
      return { id, paymentMethodId };
    },
  },
  payment_not_cancelable: {
    'POST /api/v1/payments/{id}/cancel': async (scene) => ({ id: (await createPaidPayment(scene)).id }),
  },
  payment_not_capturable: {
    'POST /api/v1/payments/{id}/capture': async (scene) => ({ id: (await createPayment(scene)).id }),
  },
  capture_exceeds_authorized: {
    'POST /api/v1/payments/{id}/capture': async (scene) => {
      const payment = await createPayment(scene, { captureMethod: 'manual' });
      await confirmPayment(scene, payment);
      return { id: payment.id, body: { amount: payment.amount + 1 } };
    },
  },
  payment_not_refundable: {
    'POST /api/v1/payments/{id}/refund': async (scene) => ({ id: (await createPayment(scene)).id }),
  },
  refund_exceeds_remaining: {
    'POST /api/v1/payments/{id}/refund': async (scene) => {
      const { id, amount } = await createPaidPayment(scene);
      return { id, body: { amount: amount + 1 } };
    },
  },
  subscription_ended: {
    ...changes(async (scene) => ({ id: await ended(scene), body: { quantity: 2 } })),
    'POST /api/v1/customers/{id}/portal-sessions': async (scene) => toCancel(scene, await ended(scene)),
  },
  subscription_ending: {
    ...changes(async (scene) => ({ id: await ending(scene), body: { quantity: 3, when: 'periodEnd' } })),
    'POST /api/v1/customers/{id}/portal-sessions': async (scene) => toCancel(scene, await ending(scene)),
  },
  pending_change: {
    'POST /api/v1/customers/{id}/portal-sessions': async (scene) => {
      const { subscription, changed } = await subscribed(scene);
      await changed({ quantity: 3, when: 'periodEnd' });
      return toCancel(scene, subscription.id);
    },
  },
  subscription_incomplete: changes(async (scene) => ({
    id: (await createSubscription(scene)).subscription.id,
    body: { quantity: 2 },
  })),
  payment_due: changes(async (scene) => {
    const { subscription } = await createSubscription(scene, { trialPeriodDays: 7 });
    await useCard(scene, subscription, declining);
    await scene.stripe.subscriptions.update(subscription.processorSubscriptionId, { trial_end: 'now' });
    return { id: subscription.id, body: { quantity: 2, proration: 'invoice' } };
  }),
  payment_declined: {
    'PATCH /api/v1/subscriptions/{id}': async (scene) => {
      const { subscription } = await subscribed(scene, { card: declining });
      return { id: subscription.id, body: { quantity: 2, proration: 'invoice' } };
    },
    'POST /api/v1/subscriptions/{id}/pay': (scene) => payWith(scene, declining),
  },
  authentication_required: {
    'POST /api/v1/subscriptions/{id}/pay': (scene) => payWith(scene, authenticating),
  },
  nothing_to_pay: {
    'POST /api/v1/subscriptions/{id}/pay': async (scene) => ({
      id: (await subscribed(scene)).subscription.id,
    }),
  },
  checkout_completed: {
    'POST /api/v1/checkouts/{id}/expire': async (scene) => {
      const { id: customerId } = await createCustomer(scene);
      const { checkout } = await createCheckout(scene, { customerId, saveCard: true });
      await completeCheckout(scene, checkout);
      return { id: checkout.id };
    },
  },
};

/** Those that change what other requests see at the same time, so that they are sent alone. */
export const billingAlone: Recipes = {
  checkout_in_progress: {
    'POST /api/v1/checkouts': async (scene) => {
      const { body } = await paying(scene);
      return { body: { ...body, quantity: 2 } };
    },
    'POST /api/v1/checkouts/{id}/expire': async (scene) => ({ id: (await paying(scene)).id }),
    'DELETE /api/v1/customers/{id}': async (scene) => ({ id: (await paying(scene)).body.customerId }),
    'POST /api/v1/payments/{id}/cancel': async (scene) => ({ id: await paymentOfCheckout(scene) }),
  },
  refund_in_flight: {
    'POST /api/v1/payments/{id}/refund': async (scene) => {
      const { id } = await createPaidPayment(scene);
      await scene.setFault({ operation: 'refunds.create', kind: 'reset_before', times: 3 });
      await scene.impatient.tryPost(`/payments/${id}/refund`, {});
      return { id, to: scene.impatient };
    },
  },
  subscription_limit_reached: {
    'PATCH /api/v1/subscriptions/{id}': limited,
    'PUT /api/v1/customers/{id}/default-payment-method': limited,
    // Only a paused subscription changes before it is paid.
    'POST /api/v1/subscriptions/{id}/pay': async (scene, operation) => {
      const { subscription } = await createSubscription(scene, {
        trialPeriodDays: 7,
        trialEndWithoutCard: 'pause',
      });
      await scene.stripe.subscriptions.update(subscription.processorSubscriptionId, { trial_end: 'now' });
      const { paymentMethodId } = await saveCard(scene, { id: subscription.customerId });
      return limited(scene, operation, { id: subscription.id, body: { paymentMethodId } });
    },
  },
  concurrent_change: {
    'PATCH /api/v1/subscriptions/{id}': overtaken,
  },
  subscription_busy: {
    'POST /api/v1/customers/{id}/portal-sessions': async ({ later }) => {
      const [first, second] = [await dailyPlan(later, 1_000), await dailyPlan(later, 2_000)];
      const { subscription, changed } = await subscribed(later, { planId: first.id });
      await changed({ planId: second.id, when: 'periodEnd' });
      await later.control('clock', { advanceSeconds: 90_000 });
      await later.settle();
      await takeTurn(later, subscription.id);
      return { ...(await toCancel(later, subscription.id)), to: later };
    },
    'POST /api/v1/subscriptions/{id}/client-secret': async ({ later }) => {
      // They would be renewed too.
      await endSubscriptions(later);
      const { subscription } = await createUnpaid(later, 2);
      await later.settle();
      await takeTurn(later, subscription.id);
      return { id: subscription.id, to: later };
    },
  },
};

async function twice(scene: Scene, operation: Documented, request: Prepared): Promise<Prepared> {
  await scene.send(operation, request);
  return request;
}

async function takenExternalId(scene: Scene): Promise<string> {
  const customer = await createCustomer(scene);
  await scene.call('PATCH', `/customers/${customer.id}`, { externalId: customer.id });
  return customer.id;
}

async function aboutDeleted({ call }: Scene, id: string, customerId: string): Promise<Prepared> {
  await call('DELETE', `/customers/${customerId}`);
  return { id, body: { metadata: { note: 'Ada' } } };
}

async function ended(scene: Scene): Promise<string> {
  const { subscription, path } = await subscribed(scene);
  await scene.call('DELETE', path);
  return subscription.id;
}

async function ending(scene: Scene): Promise<string> {
  const { subscription, changed } = await subscribed(scene);
  await changed({ cancelAtPeriodEnd: true });
  return subscription.id;
}

async function toCancel({ get }: Pick<Scene, 'get'>, subscriptionId: string): Promise<Prepared> {
  const { customerId } = await get<{ customerId: string }>(`/subscriptions/${subscriptionId}`);
  return {
    id: customerId,
    body: { returnUrl: 'https://shop.example.com/account', flow: 'cancel', subscriptionId },
  };
}

async function payWith(scene: Scene, card: string): Promise<Prepared> {
  const { id: customerId, processorCustomerId: customer } = await createCustomer(scene);
  const { subscription } = await createSubscription(scene, { customerId });
  const { id: paymentMethodId } = await scene.stripe.paymentMethods.attach(card, { customer });
  return { id: subscription.id, body: { paymentMethodId } };
}

/** The processor does not change the subscription any more today. */
async function limited(scene: Scene, operation: Documented, request?: Prepared): Promise<Prepared> {
  const { proxy, impatient } = scene;
  const prepared = request ?? (await requestAboutSubscription(scene, operation));
  proxy.refuse({
    ...{ path: /^\/v1\/subscriptions\//, status: 429 },
    headers: { 'stripe-rate-limited-reason': 'resource-specific' },
    body: { error: { type: 'invalid_request_error', code: 'rate_limit', message: 'Too often.' } },
  });
  return { ...prepared, to: impatient, undo: () => proxy.refuse(undefined) };
}

/** The processor refuses to expire a checkout while its payment is in progress. */
const unexpirable = { operation: 'checkout_sessions.expire', kind: 'error', status: 400 } as const;

async function paying(scene: Scene) {
  const [{ id: customerId }, { id: planId }] = [await createCustomer(scene), await createPlan(scene)];
  const body = { ...pages, customerId, planId };
  const { checkout } = await createCheckout(scene, body);
  await scene.setFault(unexpirable);
  return { id: checkout.id, body };
}

async function paymentOfCheckout(scene: Scene): Promise<string> {
  const { id: customerId } = await createCustomer(scene);
  const payment = { amount: 2_500, currency: 'EUR', description: 'A book' };
  const { checkout } = await createCheckout(scene, { customerId, payment });
  await completeCheckout(scene, checkout, { payment_method: 'pm_card_visa_chargeDeclined' });
  let early: { readonly id: string } | undefined;
  await until(async () => {
    [early] = (await scene.get<{ data: { id: string }[] }>(`/payments?customerId=${customerId}`)).data;
    return early !== undefined;
  });
  await scene.setFault(unexpirable);
  return String(early?.id);
}

const dailyPlan = (till: Pick<Scene, 'call'> & Scene['later'], amount: number) =>
  createPlan(till, { amount, interval: 'day' });

/** The subscription changes at the processor each time just before Till would plan a change. */
async function overtaken(scene: Scene): Promise<Prepared> {
  const { proxy, stripe, impatient } = scene;
  const { subscription } = await subscribed(scene);
  const { processorSubscriptionId: key } = subscription;
  const plans = await Promise.all([2_000, 3_000, 2_500].map((amount) => createPlan(scene, { amount })));
  proxy.hold('/v1/subscription_schedules');
  const overtake = async () => {
    for (const { processorPriceId: price } of plans) {
      const held = await proxy.nextHeld();
      const { items } = await stripe.subscriptions.retrieve(key);
      await stripe.subscriptions.update(key, { items: [{ id: String(items.data[0]?.id), price }] });
      held.release();
    }
  };
  const overtaking = overtake();
  return {
    id: subscription.id,
    body: { quantity: 3, when: 'periodEnd' },
    to: impatient,
    undo: async () => {
      proxy.releaseAll();
      await overtaking;
    },
  };
}
