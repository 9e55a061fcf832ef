import assert from 'node:assert/strict';
import { after, beforeEach, describe, test } from 'node:test';
import { readJson } from '../support/client.ts';
import {
  confirmSecret,
  createCustomer,
  createPlan,
  createSubscription,
  intentOf,
  readInvoice,
  readSubscription,
  type SubscriptionBody,
} from '../support/objects.ts';
import { chargesOf, createActive, createPastDue, endSubscriptions, paid, pay } from '../support/past-due.ts';
import { readProblem } from '../support/problem.ts';
import { startTill } from '../support/till.ts';
import { triesPerCall } from '../support/till-in-process.ts';

const till = await startTill({ in: 'process', for: { after }, mustNotLogErrors: true });
const { call, stripe, control } = till;
beforeEach(() => endSubscriptions(till));

const daySeconds = 86_400;

/** The body of a problem without what differs from request to request. */
async function declineOf(response: Response, code: 'payment_declined' | 'authentication_required') {
  const replayed = response.headers.get('idempotent-replayed');
  const { requestId: _, ...problem } = await readProblem(response, 402, code);
  return { replayed, problem };
}

async function secretOf({ id }: { readonly id: string }): Promise<string | null> {
  const body = await readJson<{ clientSecret: string | null }>(
    await call('POST', `/subscriptions/${id}/client-secret`),
    200,
  );
  return body.clientSecret;
}

describe('a customer whose renewal was declined', () => {
  test('pays with the current card once it works again; the response shows it before any webhook', async () => {
    const { subscription, goodCard, invoiceId } = await createPastDue(till);
    await till.settle();
    assert.equal((await readSubscription(till, subscription)).status, 'past_due');
    await stripe.subscriptions.update(subscription.processorSubscriptionId, {
      default_payment_method: goodCard,
    });
    const response = await paid(pay(till, subscription));
    assert.deepEqual([response.status, response.entitled, response.id], ['active', true, subscription.id]);
    assert.deepEqual(
      { ...(await readSubscription(till, subscription)), olderUnpaidInvoiceIds: [] },
      response,
    );
    assert.equal((await readInvoice(till, invoiceId)).status, 'paid');
    await till.settle();
    assert.equal((await readSubscription(till, subscription)).status, 'active');
    assert.equal((await chargesOf(till, invoiceId)).successes, 1);
    await readProblem(await pay(till, subscription), 409, 'nothing_to_pay');
    await readProblem(await pay(till, subscription, { paymentMethodId: 'pm_unknown' }), 404, 'not_found');
  });

  test('pays with a new default card', async () => {
    const { customer, subscription, goodCard } = await createPastDue(till);
    await readProblem(await pay(till, subscription), 402, 'payment_declined');
    await readJson(
      await call('PUT', `/customers/${customer.id}/default-payment-method`, { paymentMethodId: goodCard }),
      200,
    );
    const response = await paid(pay(till, subscription));
    assert.deepEqual([response.status, response.defaultPaymentMethodId], ['active', goodCard]);
  });

  test('pays with a card named in the request', async () => {
    const { subscription, goodCard, badCard } = await createPastDue(till);
    const other = await createActive(till);
    for (const paymentMethodId of [other.goodCard, 'pm_unknown', 'a/b', '%'])
      await readProblem(await pay(till, subscription, { paymentMethodId }), 404, 'not_found');
    const problem = await readProblem(
      await pay(till, subscription, { paymentMethodId: badCard }),
      402,
      'payment_declined',
    );
    assert.equal(problem.detail, 'Your card was declined.');
    const response = await paid(pay(till, subscription, { paymentMethodId: goodCard }));
    assert.equal(response.status, 'active');
  });

  test('authenticates with the secret', async () => {
    const { subscription, badCard } = await createPastDue(till, 'pm_card_authenticationRequired');
    const { problem } = await declineOf(await pay(till, subscription), 'authentication_required');
    assert.equal('declineCode' in problem, false);
    const secret = await secretOf(subscription);
    await confirmSecret(till, secret, badCard);
    await control(`payment_intents/${intentOf(secret)}/authenticate`, { result: 'succeeded' });
    assert.equal(await secretOf(subscription), null);
    assert.equal((await readSubscription(till, subscription)).status, 'active');
    await readProblem(await pay(till, subscription), 409, 'nothing_to_pay');
  });
});

describe('a declined payment', () => {
  test('is repeated with its idempotency key, and attempted again only with another', async () => {
    const { subscription, goodCard, invoiceId } = await createPastDue(till);
    const { attempts } = await chargesOf(till, invoiceId);
    const first = await declineOf(await pay(till, subscription, {}, 'declined'), 'payment_declined');
    assert.deepEqual(first, {
      replayed: null,
      problem: {
        type: 'urn:till:problem:payment_declined',
        title: 'Payment declined',
        status: 402,
        code: 'payment_declined',
        detail: 'Your card was declined.',
        declineCode: 'generic_decline',
      },
    });
    await stripe.subscriptions.update(subscription.processorSubscriptionId, {
      default_payment_method: goodCard,
    });
    const again = await declineOf(await pay(till, subscription, {}, 'declined'), 'payment_declined');
    assert.deepEqual(again, { ...first, replayed: 'true' });
    assert.equal((await chargesOf(till, invoiceId)).attempts, attempts + 1);
    await readProblem(
      await pay(till, subscription, { paymentMethodId: goodCard }, 'declined'),
      422,
      'idempotency_key_reused',
    );
    assert.equal((await paid(pay(till, subscription, {}, 'another'))).status, 'active');
    const replay = await pay(till, subscription, {}, 'another');
    assert.equal(replay.headers.get('idempotent-replayed'), 'true');
    assert.equal((await readJson<SubscriptionBody>(replay, 200)).status, 'active');
    assert.deepEqual(await chargesOf(till, invoiceId), { attempts: attempts + 2, successes: 1 });
  });
});

describe('what is paid', () => {
  test('the first invoice of a new subscription', async () => {
    const { id: customerId, processorCustomerId: customer } = await createCustomer(till);
    const { id: paymentMethodId } = await stripe.paymentMethods.attach('pm_card_visa', { customer });
    const { subscription } = await createSubscription(till, { customerId });
    const response = await paid(pay(till, subscription, { paymentMethodId }));
    assert.equal(response.status, 'active');
  });

  test('the newest invoice, and an older one only by its id', async () => {
    const { subscription, goodCard } = await createActive(till);
    const { customer } = await stripe.subscriptions.retrieve(subscription.processorSubscriptionId);
    const bill = async () => {
      await stripe.invoiceItems.create({ customer: String(customer), amount: 500, currency: 'eur' });
      const { id } = await stripe.invoices.create({
        customer: String(customer),
        subscription: subscription.processorSubscriptionId,
      });
      await stripe.invoices.finalizeInvoice(String(id), { auto_advance: false });
      await control('clock', { advanceSeconds: 1 });
      return String(id);
    };
    const [older, newer] = [await bill(), await bill()];
    const statuses = async () => [
      (await stripe.invoices.retrieve(older)).status,
      (await stripe.invoices.retrieve(newer)).status,
    ];
    const { olderUnpaidInvoiceIds } = await paid(pay(till, subscription, { paymentMethodId: goodCard }));
    assert.deepEqual(await statuses(), ['open', 'paid']);
    const [invoiceId = '', ...none] = olderUnpaidInvoiceIds;
    assert.deepEqual(none, []);
    const { detail } = await readProblem(await pay(till, subscription), 409, 'nothing_to_pay');
    assert.match(detail, /invoiceId/);
    await paid(pay(till, subscription, { paymentMethodId: goodCard, invoiceId }));
    assert.deepEqual(await statuses(), ['paid', 'paid']);
    await readProblem(await pay(till, subscription), 409, 'nothing_to_pay');
  });

  test('not the invoice of a pending change, whose secret comes after every other', async () => {
    const { subscription, goodCard, badCard } = await createActive(till, 'pm_card_authenticationRequired');
    const { processorSubscriptionId: id } = subscription;
    const { processorPriceId: price } = await createPlan(till, { amount: 9_000 });
    await stripe.subscriptions.update(id, { default_payment_method: badCard });
    const { items, customer } = await stripe.subscriptions.retrieve(id);
    const changed = await stripe.subscriptions.update(id, {
      items: [{ id: String(items.data[0]?.id), price }],
      proration_behavior: 'always_invoice',
      payment_behavior: 'pending_if_incomplete',
      expand: ['latest_invoice.confirmation_secret'],
    });
    const ofChange = changed.latest_invoice;
    assert(typeof ofChange === 'object' && ofChange !== null && changed.pending_update !== null);
    const secretOfChange = String(ofChange.confirmation_secret?.client_secret);
    await readProblem(await pay(till, subscription, { paymentMethodId: goodCard }), 409, 'nothing_to_pay');
    assert.equal(await secretOf(subscription), secretOfChange);
    await stripe.invoiceItems.create({ customer: String(customer), amount: 500, currency: 'eur' });
    const other = await stripe.invoices.create({ customer: String(customer), subscription: id });
    await stripe.invoices.finalizeInvoice(String(other.id), { auto_advance: false });
    const secret = await secretOf(subscription);
    assert.match(String(secret), /_secret_/);
    assert.notEqual(secret, secretOfChange);
    const response = await paid(pay(till, subscription, { paymentMethodId: goodCard }));
    assert.equal(response.planId, subscription.planId);
    assert.equal((await stripe.invoices.retrieve(String(other.id))).status, 'paid');
    assert.equal((await stripe.invoices.retrieve(String(ofChange.id))).status, 'open');
    assert.equal(await secretOf(subscription), secretOfChange);
  });

  test('409: nothing of a subscription that is paid, in a trial, free or canceled', async () => {
    const { id: planId } = await createPlan(till, { amount: 0 });
    const { subscription: active } = await createActive(till);
    const { subscription: trial } = await createSubscription(till, { trialPeriodDays: 7 });
    const { subscription: free } = await createSubscription(till, { planId });
    const { subscription: canceled } = await createSubscription(till, { trialPeriodDays: 7 });
    await call('DELETE', `/subscriptions/${canceled.id}`);
    for (const subscription of [active, trial, free, canceled])
      await readProblem(await pay(till, subscription, {}, `none-${subscription.id}`), 409, 'nothing_to_pay');
    // No webhook has arrived: the row is brought up to date with what was read.
    assert.equal((await readSubscription(till, active)).status, 'active');
    // The idempotency key is free again, because nothing was done.
    const reused = await pay(till, active, { paymentMethodId: 'pm_x' }, `none-${active.id}`);
    await readProblem(reused, 404, 'not_found');
  });

  test('422: without a payment method nothing can be charged', async () => {
    const { subscription } = await createSubscription(till);
    await readProblem(await pay(till, subscription), 422, 'processor_rejected');
  });
});

describe('a subscription that is paused at the processor', () => {
  beforeEach(async () => {
    await control('dunning', { firstFailure: 'past_due', resumption: 'manual' });
  });

  async function pausedTrial() {
    const { id: customerId, processorCustomerId: customer } = await createCustomer(till);
    const { subscription } = await createSubscription(till, { customerId, trialPeriodDays: 1 });
    const { id: card } = await stripe.paymentMethods.attach('pm_card_visa', { customer });
    const { id: badCard } = await stripe.paymentMethods.attach('pm_card_chargeCustomerFail', { customer });
    await stripe.subscriptions.update(subscription.processorSubscriptionId, {
      trial_settings: { end_behavior: { missing_payment_method: 'pause' } },
    });
    await control('clock', { advanceSeconds: daySeconds + 3_600 });
    await till.settle();
    assert.equal((await readSubscription(till, subscription)).status, 'unpaid');
    return { subscription, card, badCard };
  }

  test('is resumed and paid, if no invoice is open', async () => {
    const { subscription, card } = await pausedTrial();
    const response = await paid(pay(till, subscription, { paymentMethodId: card }, 'resume'));
    assert.deepEqual([response.status, response.entitled], ['active', true]);
    const { data } = await stripe.invoices.list({ subscription: subscription.processorSubscriptionId });
    assert.deepEqual(
      data.map(({ amount_paid: amount }) => amount),
      [900, 0],
    );
    const replay = await pay(till, subscription, { paymentMethodId: card }, 'resume');
    assert.equal(replay.headers.get('idempotent-replayed'), 'true');
    assert.equal(replay.status, 200);
  });

  test('is not changed for a payment method of another customer, and is past due after a decline', async () => {
    const { subscription, card, badCard } = await pausedTrial();
    const other = await createActive(till);
    const before = await stripe.invoices.list({ subscription: subscription.processorSubscriptionId });
    await readProblem(await pay(till, subscription, { paymentMethodId: other.goodCard }), 404, 'not_found');
    const after = await stripe.invoices.list({ subscription: subscription.processorSubscriptionId });
    assert.equal(after.data.length, before.data.length);
    for (const replayed of [null, 'true']) {
      const one = await declineOf(
        await pay(till, subscription, { paymentMethodId: badCard }, 'declined-resumption'),
        'payment_declined',
      );
      assert.equal(one.replayed, replayed);
    }
    const response = await paid(pay(till, subscription, { paymentMethodId: card }));
    assert.equal(response.status, 'active');
    const { data } = await stripe.invoices.list({ subscription: subscription.processorSubscriptionId });
    assert.equal(data.length, before.data.length + 1, 'it was resumed once');
  });

  test('is not changed without a usable card, and is resumed once there is one', async () => {
    const { subscription, card } = await pausedTrial();
    const { processorSubscriptionId: id } = subscription;
    const { customer } = await stripe.subscriptions.retrieve(id);
    const { data: before } = await stripe.invoices.list({ subscription: id });
    const refused = async () => {
      const problem = await readProblem(
        await pay(till, subscription, {}, 'no-card'),
        422,
        'processor_rejected',
      );
      assert.match(problem.detail, /no payment method/);
      assert.equal((await stripe.invoices.list({ subscription: id })).data.length, before.length);
      assert.equal((await stripe.subscriptions.retrieve(id)).status, 'paused');
    };
    await refused();
    // The request dies after it has chosen to resume. The same idempotency key continues from there, and leaves nothing
    // either.
    await till.setFault({ operation: 'customers.retrieve', kind: 'error', status: 503, times: triesPerCall });
    await readProblem(await pay(till, subscription, {}, 'no-card'), 503, 'processor_unavailable');
    assert.deepEqual(
      await till.sql('select target from till.idempotency_claims where key = $1', ['no-card']),
      [{ target: 'resumption' }],
    );
    await refused();
    assert.deepEqual(await till.sql('select from till.idempotency_claims where key = $1', ['no-card']), []);
    const { id: detached } = await stripe.paymentMethods.attach('pm_card_mastercard', {
      customer: String(customer),
    });
    await stripe.subscriptions.update(id, { default_payment_method: detached });
    await stripe.paymentMethods.detach(detached);
    await refused();
    await stripe.subscriptions.update(id, { default_payment_method: '' });
    await stripe.customers.update(String(customer), { invoice_settings: { default_payment_method: card } });
    const response = await paid(pay(till, subscription, {}, 'no-card'));
    assert.equal(response.status, 'active');
  });

  test('needs no card if its resumption bills nothing', async () => {
    const { subscription } = await pausedTrial();
    const { processorSubscriptionId: id } = subscription;
    const { id: coupon } = await stripe.coupons.create({ percent_off: 100, duration: 'forever' });
    await stripe.subscriptions.update(id, { discounts: [{ coupon }] });
    const response = await paid(pay(till, subscription));
    assert.equal(response.status, 'active');
    const { data } = await stripe.invoices.list({ subscription: id });
    assert.deepEqual(
      data.map(({ status, amount_due: due }) => [status, due]),
      [
        ['paid', 0],
        ['paid', 0],
      ],
    );
  });

  for (const resumption of ['manual', 'keep_anchor'] as const)
    test(`pays its open invoice, and its period is billed once (resumption: ${resumption})`, async () => {
      await control('dunning', { firstFailure: 'pause', resumption });
      const { subscription, goodCard, invoiceId } = await createPastDue(till);
      await till.settle();
      assert.equal((await readSubscription(till, subscription)).status, 'unpaid');
      const response = await paid(pay(till, subscription, { paymentMethodId: goodCard }));
      assert.equal(response.status, 'active');
      assert.equal((await stripe.invoices.retrieve(invoiceId)).status, 'paid');
      const { data } = await stripe.invoices.list({ subscription: subscription.processorSubscriptionId });
      assert.equal(data.length, 2);
      await readProblem(await pay(till, subscription), 409, 'nothing_to_pay');
    });

  test('pays its open invoice and a new period, if the old one is over', async () => {
    await control('dunning', { firstFailure: 'pause' });
    const { subscription, goodCard } = await createPastDue(till);
    await control('clock', { advanceSeconds: 60 * daySeconds });
    const response = await paid(pay(till, subscription, { paymentMethodId: goodCard }));
    assert.equal(response.status, 'active');
    const { data } = await stripe.invoices.list({ subscription: subscription.processorSubscriptionId });
    assert.deepEqual(
      data.map(({ status }) => status),
      ['paid', 'paid', 'paid'],
    );
    assert.ok(
      Date.parse(String(response.currentPeriodEnd)) > Date.parse(String(subscription.currentPeriodEnd)),
    );
  });
});

describe('the request', () => {
  test('a body can be left out', async () => {
    const { subscription } = await createActive(till);
    await readProblem(await call('POST', `/subscriptions/${subscription.id}/pay`), 409, 'nothing_to_pay');
  });

  test('fifty at once with different idempotency keys charge once', async () => {
    const { subscription, goodCard, invoiceId } = await createPastDue(till);
    const responses = await Promise.all(
      Array.from({ length: 50 }, (_, index) =>
        pay(till, subscription, { paymentMethodId: goodCard }, `storm-${index}`),
      ),
    );
    const bodies = await Promise.all(
      responses.map((response): Promise<Record<string, unknown>> => response.json().then(Object)),
    );
    for (const [index, body] of bodies.entries()) {
      const isPaid = responses[index]?.status === 200;
      assert.equal(isPaid ? body['status'] : body['code'], isPaid ? 'active' : 'nothing_to_pay');
    }
    assert.ok(responses.some(({ status }) => status === 200));
    assert.equal((await chargesOf(till, invoiceId)).successes, 1);
  });
});
