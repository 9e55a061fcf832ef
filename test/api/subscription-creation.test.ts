import assert from 'node:assert/strict';
import { after, beforeEach, describe, test } from 'node:test';
import { hashRequest } from '#engine/idempotency/claim.ts';
import { readJson } from '../support/client.ts';
import {
  type CreatedSubscriptionBody,
  type CustomerBody,
  confirmSecret,
  createCustomer,
  createPlan,
  createSubscription,
  intentOf,
  type PageBody,
  type PaymentBody,
  readSubscription,
  saveCard,
} from '../support/objects.ts';
import { endSubscriptions } from '../support/past-due.ts';
import { readProblem } from '../support/problem.ts';
import { createPromotionCode } from '../support/promotion-codes.ts';
import { patch } from '../support/subscribed.ts';
import { startTill } from '../support/till.ts';

const till = await startTill({ in: 'process', for: { after }, mustNotLogErrors: true });
const { call, stripe, control } = till;

beforeEach(async () => {
  await till.clearFaults();
  await endSubscriptions(till);
});

/** A customer with a saved card that is not the default. */
async function withCard(card = 'pm_card_visa'): Promise<{ customer: CustomerBody; paymentMethodId: string }> {
  const customer = await createCustomer(till);
  const { id } = await stripe.paymentMethods.attach(card, { customer: customer.processorCustomerId });
  return { customer, paymentMethodId: id };
}

async function subscribeWith(card: string, more: object = {}): Promise<CreatedSubscriptionBody> {
  const { customer, paymentMethodId } = await withCard(card);
  return createSubscription(till, { customerId: customer.id, paymentMethodId, ...more });
}

async function create(body: object): Promise<CreatedSubscriptionBody> {
  return readJson(await call('POST', '/subscriptions', body), 201);
}

async function countAt({ processorCustomerId }: CustomerBody): Promise<number> {
  return (await stripe.subscriptions.list({ customer: processorCustomerId, status: 'all' })).data.length;
}

describe('quantity', () => {
  test('201: is billed, and shown', async () => {
    for (const quantity of [3, 1_000_000]) {
      const { subscription } = await createSubscription(till, { quantity });
      assert.equal(subscription.quantity, quantity);
      const there = await stripe.subscriptions.retrieve(subscription.processorSubscriptionId, {
        expand: ['latest_invoice'],
      });
      assert(typeof there.latest_invoice === 'object');
      assert.equal(there.latest_invoice?.amount_due, 900 * quantity);
    }
  });
});

describe('a payment method', () => {
  test('201: is charged at once; the response shows the active subscription, without waiting for a webhook', async () => {
    const { customer, paymentMethodId } = await withCard();
    const created = await createSubscription(till, { customerId: customer.id, paymentMethodId, quantity: 2 });
    const { subscription } = created;
    assert.deepEqual(
      [subscription.status, subscription.entitled, subscription.defaultPaymentMethodId],
      ['active', true, paymentMethodId],
    );
    assert.deepEqual([created.clientSecret, created.setupClientSecret], [null, null]);
    await till.settle();
    const { latestInvoiceId, updatedAt, ...later } = await readSubscription(till, subscription);
    assert.deepEqual({ ...later, latestInvoiceId: null, updatedAt: subscription.updatedAt }, subscription);
    const { data } = await till.get<PageBody<PaymentBody>>(`/payments?subscriptionId=${subscription.id}`);
    assert.deepEqual(
      data.map(({ amount, status, invoiceId }) => [amount, status, invoiceId]),
      [[1_800, 'succeeded', latestInvoiceId]],
    );
  });

  test('201: that is declined leaves an incomplete subscription, which another card pays with the secret', async () => {
    const { subscription, clientSecret } = await subscribeWith('pm_card_chargeCustomerFail');
    assert.deepEqual([subscription.status, subscription.entitled], ['incomplete', false]);
    await confirmSecret(till, clientSecret);
    await till.settle();
    const paid = await readSubscription(till, subscription);
    assert.equal(paid.status, 'active');
    assert.notEqual(paid.defaultPaymentMethodId, subscription.defaultPaymentMethodId);
  });

  test('201: that needs authentication leaves an incomplete subscription, which waits for the customer', async () => {
    const { subscription, clientSecret } = await subscribeWith('pm_card_authenticationRequired');
    assert.equal(subscription.status, 'incomplete');
    const intent = await stripe.paymentIntents.retrieve(intentOf(clientSecret));
    assert.equal(intent.status, 'requires_action');
    const { clientSecret: again } = await till.post<{ clientSecret: string }>(
      `/subscriptions/${subscription.id}/client-secret`,
      {},
    );
    assert.equal(again, clientSecret);
    await control(`payment_intents/${intent.id}/authenticate`, { result: 'succeeded' });
    await till.settle();
    assert.equal((await readSubscription(till, subscription)).status, 'active');
  });

  test('201: is only kept in a trial, and charged when it ends', async () => {
    const { subscription, ...secrets } = await subscribeWith('pm_card_visa', { trialPeriodDays: 1 });
    assert.equal(subscription.status, 'trialing');
    assert.deepEqual(secrets, { clientSecret: null, setupClientSecret: null });
    await control('clock', { advanceSeconds: 86_400 + 3_700 });
    await till.settle();
    assert.equal((await readSubscription(till, subscription)).status, 'active');
  });

  test('404: of another customer, of no customer, or unknown; nothing is created and the idempotency key stays free', async () => {
    const { customer, paymentMethodId } = await withCard();
    const theirs = (await withCard()).paymentMethodId;
    const body = { customerId: customer.id, planId: (await createPlan(till)).id, idempotencyKey: 'no-card' };
    for (const id of [theirs, 'pm_card_visa', 'pm_unknown', '../customers'])
      await readProblem(
        await call('POST', '/subscriptions', { ...body, paymentMethodId: id }),
        404,
        'not_found',
      );
    assert.equal(await countAt(customer), 0);
    assert.equal((await create({ ...body, paymentMethodId })).subscription.status, 'active');
  });

  test('201: a repeated idempotency key charges once, and returns the current state and secret', async () => {
    const { customer, paymentMethodId } = await withCard('pm_card_chargeCustomerFail');
    const { id: planId } = await createPlan(till);
    const body = { customerId: customer.id, planId, paymentMethodId, idempotencyKey: 'declined-once' };
    const first = await create(body);
    assert.deepEqual(await create(body), first);
    await confirmSecret(till, first.clientSecret);
    const { subscription, ...secrets } = await create(body);
    assert.equal(subscription.status, 'active');
    assert.deepEqual(secrets, { clientSecret: null, setupClientSecret: null });
    assert.equal(await countAt(customer), 1);
  });
});

describe('a promotion code', () => {
  test('201: takes off the first invoice and the next ones, in upper or lower case, and is shown as the discount', async () => {
    const { code } = await createPromotionCode(till, { code: 'Spring-20' });
    for (const promotionCode of [code, 'SPRING-20', 'spring-20']) {
      const { subscription } = await createSubscription(till, { promotionCode, quantity: 2 });
      const discount = { code, percentOff: 20, amountOff: null, currency: null, endsAt: null };
      assert.deepEqual(subscription.discount, discount);
      const there = await stripe.subscriptions.retrieve(subscription.processorSubscriptionId, {
        expand: ['latest_invoice'],
      });
      assert(typeof there.latest_invoice === 'object');
      assert.equal(there.latest_invoice?.amount_due, 1_440);
      await till.settle();
      assert.deepEqual((await readSubscription(till, subscription)).discount, discount);
    }
  });

  const half = { code: 'HALF', percentOff: 50, amountOff: null, currency: null, endsAt: null };
  const once = { percent_off: 50, duration: 'once' } as const;

  test('201: for one invoice is shown as the discount until that invoice is paid', async () => {
    const { code } = await createPromotionCode(till, { code: 'HALF' }, once);
    const { subscription, clientSecret } = await createSubscription(till, { promotionCode: code });
    assert.deepEqual(subscription.discount, half);
    const shown = async () => (await readSubscription(till, subscription)).discount;
    assert.deepEqual(await shown(), half);
    await till.settle();
    assert.deepEqual(await shown(), half);
    await patch(till, subscription, { metadata: { a: '1' } });
    await till.settle();
    assert.deepEqual(await shown(), half);
    await confirmSecret(till, clientSecret);
    await till.settle();
    assert.equal(await shown(), null);
    await till.services.resync.ofCustomer(subscription.customerId);
    assert.equal(await shown(), null);
  });

  test('201: for one invoice that a saved card pays at once is shown in the response', async () => {
    const { code } = await createPromotionCode(till, { code: 'HALF-NOW' }, once);
    const customer = await createCustomer(till);
    const { paymentMethodId } = await saveCard(till, customer);
    const { subscription } = await createSubscription(till, {
      ...{ customerId: customer.id, promotionCode: code, paymentMethodId },
    });
    assert.deepEqual([subscription.status, subscription.discount?.code], ['active', code]);
    await till.settle();
    assert.equal((await readSubscription(till, subscription)).discount, null);
  });

  test('201: for one invoice is shown during the trial, and until the first invoice that costs something is paid', async () => {
    const { code } = await createPromotionCode(till, { code: 'HALF-LATER' }, once);
    const customer = await createCustomer(till);
    const { paymentMethodId } = await saveCard(till, customer);
    const { subscription } = await createSubscription(till, {
      ...{ customerId: customer.id, promotionCode: code, trialPeriodDays: 7, paymentMethodId },
    });
    await till.settle();
    const shown = async () => (await readSubscription(till, subscription)).discount?.code;
    assert.equal(await shown(), code);
    // The invoice is a draft for an hour.
    await till.control('clock', { advanceSeconds: 7 * 86_400 + 60 });
    await till.settle();
    assert.equal(await shown(), code);
    await till.control('clock', { advanceSeconds: 2 * 3_600 });
    await till.settle();
    assert.equal(await shown(), undefined);
  });

  test('201: of this customer goes before one for all, which goes before those of others', async () => {
    const [mine, other] = [await createCustomer(till), await createCustomer(till)];
    const code = 'FRIENDS';
    const codeOf = (customer: CustomerBody, percent_off: number) =>
      createPromotionCode(
        till,
        { code, customer: customer.processorCustomerId },
        { percent_off, duration: 'forever' },
      );
    await codeOf(other, 90);
    const body = { customerId: mine.id, promotionCode: code };
    const { id: planId } = await createPlan(till);
    await readProblem(
      await call('POST', '/subscriptions', { ...body, planId }),
      422,
      'promotion_code_invalid',
    );
    await createPromotionCode(till, { code });
    assert.equal((await createSubscription(till, body)).subscription.discount?.percentOff, 20);
    await codeOf(mine, 50);
    assert.equal((await createSubscription(till, body)).subscription.discount?.percentOff, 50);
  });

  test('201: that makes the first invoice free leaves nothing to pay', async () => {
    const { code } = await createPromotionCode(till, {}, { percent_off: 100, duration: 'forever' });
    const { subscription, ...secrets } = await createSubscription(till, { promotionCode: code });
    assert.equal(subscription.status, 'active');
    assert.deepEqual(secrets, { clientSecret: null, setupClientSecret: null });
  });

  test('422: unknown, malformed, expired, used up, inactive or not applicable; nothing is created and the idempotency key stays free', async () => {
    const customer = await createCustomer(till);
    const { id: planId } = await createPlan(till);
    const usedUp = await createPromotionCode(till, { code: 'ONCE', max_redemptions: 1 });
    await createSubscription(till, { promotionCode: usedUp.code });
    const inactive = await createPromotionCode(till, { code: 'GONE' });
    await stripe.promotionCodes.update(inactive.id, { active: false });
    const restrictions = { minimum_amount: 5_000, minimum_amount_currency: 'eur' };
    await createPromotionCode(till, { code: 'LARGE', restrictions });
    const dollars = { amount_off: 100, currency: 'usd', duration: 'forever' } as const;
    await createPromotionCode(till, { code: 'DOLLARS' }, dollars);
    const { expires_at: expiry } = await createPromotionCode(till, {
      code: 'SHORT',
      expires_at: Math.floor(Date.now() / 1_000) + 30 * 86_400,
    });
    await control('clock', { to: (expiry ?? 0) + 1 });
    const body = { customerId: customer.id, planId, idempotencyKey: 'no-code' };
    for (const promotionCode of [
      'NONE',
      'two words',
      '\u{1f381}',
      '%',
      'ONCE',
      'GONE',
      'LARGE',
      'DOLLARS',
      'SHORT',
    ])
      await readProblem(
        await call('POST', '/subscriptions', { ...body, promotionCode }),
        422,
        'promotion_code_invalid',
      );
    assert.equal(await countAt(customer), 0);
    await create(body);
  });

  test('422: for first-time customers only, to a customer who has paid before', async () => {
    const { code } = await createPromotionCode(till, { restrictions: { first_time_transaction: true } });
    const { subscription } = await createSubscription(till, { promotionCode: code });
    const { customerId } = subscription;
    const body = { customerId, planId: (await createPlan(till)).id, promotionCode: code };
    await readProblem(await call('POST', '/subscriptions', body), 422, 'promotion_code_invalid');
  });

  test('201: a repeated idempotency key returns its subscription even if the promotion code is used up', async () => {
    const { code } = await createPromotionCode(till, { max_redemptions: 1 });
    const [customer, { id: planId }] = [await createCustomer(till), await createPlan(till)];
    const body = { customerId: customer.id, planId, promotionCode: code, idempotencyKey: 'code-used-up' };
    assert.deepEqual(await create(body), await create(body));
    assert.equal(await countAt(customer), 1);
  });

  test('a lost response is recovered although the code is used up, and the code is redeemed once', async () => {
    const { id, code } = await createPromotionCode(till, { max_redemptions: 1 });
    const [customer, { id: planId }] = [await createCustomer(till), await createPlan(till)];
    const body = {
      customerId: customer.id,
      planId,
      promotionCode: code,
      idempotencyKey: 'code-response-lost',
    };
    await control('faults', { operation: 'subscriptions.create', kind: 'reset_after' });
    const { subscription, clientSecret } = await create(body);
    assert.equal(subscription.discount?.code, code);
    assert.match(String(clientSecret), /^pi_/);
    assert.equal(await countAt(customer), 1);
    assert.equal((await stripe.promotionCodes.retrieve(id)).times_redeemed, 1);
  });

  test('404: of a customer who is deleted at the processor', async () => {
    const customer = await createCustomer(till);
    const { id: planId } = await createPlan(till);
    await stripe.customers.del(customer.processorCustomerId);
    const body = { customerId: customer.id, planId, promotionCode: 'NONE' };
    await readProblem(await call('POST', '/subscriptions', body), 404, 'not_found');
  });
});

describe('a trial without a card', () => {
  test('201: has a secret with which the customer saves one, until that is done', async () => {
    const [customer, { id: planId }] = [await createCustomer(till), await createPlan(till)];
    const body = { customerId: customer.id, planId, trialPeriodDays: 7, idempotencyKey: 'trial-secret' };
    const first = await create(body);
    assert.equal(first.clientSecret, null);
    assert.match(String(first.setupClientSecret), /^seti_.*_secret_/);
    assert.deepEqual(await create(body), first);
    const path = `/subscriptions/${first.subscription.id}`;
    const secret = await till.post<{ clientSecret: string | null }>(`${path}/client-secret`, {});
    assert.equal(secret.clientSecret, first.setupClientSecret);
    await saveCardWith(first.setupClientSecret);
    const { subscription, ...secrets } = await create(body);
    assert.deepEqual(secrets, { clientSecret: null, setupClientSecret: null });
    assert.match(String(subscription.defaultPaymentMethodId), /^pm_/);
  });

  test('201: of a customer with a default card needs no secret', async () => {
    const { customer, paymentMethodId } = await withCard();
    await call('PUT', `/customers/${customer.id}/default-payment-method`, { paymentMethodId });
    const created = await createSubscription(till, { customerId: customer.id, trialPeriodDays: 7 });
    assert.equal(created.setupClientSecret, null);
  });

  for (const { way, status } of [
    { way: 'invoice', status: 'past_due' },
    { way: 'pause', status: 'unpaid' },
    { way: 'cancel', status: 'canceled' },
  ] as const)
    test(`that ends: ${way} leaves it ${status}`, async () => {
      const created = await createSubscription(till, { trialPeriodDays: 1, trialEndWithoutCard: way });
      assert.equal(created.subscription.status, 'trialing');
      await control('clock', { advanceSeconds: 86_400 + 3_700 });
      await till.settle();
      const ended = await readSubscription(till, created.subscription);
      assert.equal(ended.status, status);
      assert.equal(ended.endedAt !== null, way === 'cancel');
      // Till's own clock has not moved: for it, the trial that is past due still lasts.
      if (way !== 'invoice') assert.equal(ended.entitled, false);
    });

  for (const way of ['invoice', 'pause', 'cancel'] as const)
    test(`whose card is saved in time is charged at its end, even with ${way}`, async () => {
      const created = await createSubscription(till, { trialPeriodDays: 1, trialEndWithoutCard: way });
      await saveCardWith(created.setupClientSecret);
      await control('clock', { advanceSeconds: 86_400 + 3_700 });
      await till.settle();
      assert.equal((await readSubscription(till, created.subscription)).status, 'active');
    });

  test('that was paused comes back: the secret still saves a card, and the resumption is charged', async () => {
    const created = await createSubscription(till, { trialPeriodDays: 1, trialEndWithoutCard: 'pause' });
    const { id, processorSubscriptionId } = created.subscription;
    await control('clock', { advanceSeconds: 86_400 + 3_700 });
    await till.settle();
    const { clientSecret } = await till.post<{ clientSecret: string }>(
      `/subscriptions/${id}/client-secret`,
      {},
    );
    assert.equal(clientSecret, created.setupClientSecret);
    await saveCardWith(clientSecret);
    await stripe.subscriptions.resume(processorSubscriptionId, {
      billing_cycle_anchor: { type: 'now' },
      payment_behavior: 'resume_on_payment_success',
    });
    await till.settle();
    assert.equal((await readSubscription(till, created.subscription)).status, 'active');
  });

  test('201: without a trial the way is kept for a trial that is added later', async () => {
    const { subscription } = await createSubscription(till, { trialEndWithoutCard: 'pause' });
    const { trial_settings: kept } = await stripe.subscriptions.retrieve(
      subscription.processorSubscriptionId,
    );
    assert.equal(kept?.end_behavior.missing_payment_method, 'pause');
  });
});

describe('the same request', () => {
  test('201: is one that spells out the defaults, even after an upgrade', async () => {
    const [customer, { id: planId }] = [await createCustomer(till), await createPlan(till)];
    const body = { customerId: customer.id, planId, idempotencyKey: 'defaults' };
    const first = await create(body);
    const defaults = { trialPeriodDays: 0, quantity: 1, trialEndWithoutCard: 'invoice' };
    assert.deepEqual(await create({ ...body, ...defaults }), first);
    const [claim] = await till.sql<{ hash: string }>(
      `select encode(request_hash, 'hex') as hash from till.idempotency_claims where key = 'defaults'`,
    );
    // What earlier releases hashed.
    const before = { customerId: customer.id, planId, trialPeriodDays: 0 };
    assert.equal(claim?.hash, hashRequest(before).toString('hex'));
  });

  test('422: is not one with another quantity, card, code or end of the trial', async () => {
    const [customer, { id: planId }] = [await createCustomer(till), await createPlan(till)];
    const body = { customerId: customer.id, planId, idempotencyKey: 'not-the-same' };
    await create(body);
    for (const change of [
      { quantity: 2 },
      { paymentMethodId: 'pm_1' },
      { promotionCode: 'X' },
      { trialEndWithoutCard: 'cancel' },
    ])
      await readProblem(
        await call('POST', '/subscriptions', { ...body, ...change }),
        422,
        'idempotency_key_reused',
      );
  });
});

/** As the frontend does. */
async function saveCardWith(secret: string | null): Promise<void> {
  await stripe.setupIntents.confirm(intentOf(secret), {
    payment_method: 'pm_card_visa',
    return_url: 'https://shop.example.com/done',
  });
}
