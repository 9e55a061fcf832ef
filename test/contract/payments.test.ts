import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { test } from 'node:test';
import type Stripe from 'stripe';
import { contractCustomer, useContract } from './support.ts';

const returnUrl = 'https://example.com/done';

test('a payment intent starts without a method and succeeds when it is confirmed', async (t) => {
  const contract = await useContract(t);
  const { stripe } = contract;
  const customer = await contractCustomer(contract);
  const intent = await stripe.paymentIntents.create({
    amount: 1_234,
    currency: 'usd',
    customer: customer.id,
    automatic_payment_methods: { enabled: true },
    metadata: { till_id: 'contract' },
  });
  assert.deepEqual(
    [
      intent.object,
      intent.status,
      intent.amount,
      intent.currency,
      intent.customer,
      intent.amount_received,
      intent.latest_charge,
    ],
    ['payment_intent', 'requires_payment_method', 1_234, 'usd', customer.id, 0, null],
  );
  assert.ok(String(intent.client_secret).startsWith(`${intent.id}_secret_`));
  const paid = await stripe.paymentIntents.confirm(intent.id, {
    payment_method: 'pm_card_visa',
    return_url: returnUrl,
    expand: ['latest_charge'],
  });
  assert.deepEqual([paid.status, paid.amount_received], ['succeeded', 1_234]);
  const charge = paid.latest_charge as Stripe.Charge;
  assert.deepEqual(
    [charge.object, charge.status, charge.paid, charge.captured, charge.amount, charge.payment_intent],
    ['charge', 'succeeded', true, true, 1_234, intent.id],
  );
  assert.deepEqual((await stripe.paymentIntents.retrieve(intent.id)).metadata, { till_id: 'contract' });
  await assert.rejects(stripe.paymentIntents.cancel(intent.id), {
    statusCode: 400,
    code: 'payment_intent_unexpected_state',
  });
});

test('the metadata of a payment intent can be changed in every state, and its charge keeps its copy', async (t) => {
  const contract = await useContract(t);
  const { stripe } = contract;
  const customer = await contractCustomer(contract);
  const values = {
    amount: 1_234,
    currency: 'usd',
    customer: customer.id,
    metadata: { kept: '1', gone: '2' },
  };
  const paid = await stripe.paymentIntents.create({
    ...values,
    payment_method: 'pm_card_visa',
    confirm: true,
    return_url: returnUrl,
  });
  const canceled = await stripe.paymentIntents.create(values);
  await stripe.paymentIntents.cancel(canceled.id);
  for (const { id } of [paid, canceled]) {
    const changed = await stripe.paymentIntents.update(id, {
      metadata: { gone: '', new: '3' },
      expand: ['latest_charge'],
    });
    assert.deepEqual(changed.metadata, { kept: '1', new: '3' });
    const charge = changed.latest_charge as Stripe.Charge | null;
    if (id === paid.id) assert.deepEqual(charge?.metadata, values.metadata);
    await assert.rejects(stripe.paymentIntents.update(id, { amount: 999 }), {
      statusCode: 400,
      code: 'payment_intent_unexpected_state',
    });
  }
});

test('an authorised payment is captured once, in part, with metadata that is added to its own', async (t) => {
  const { stripe } = await useContract(t);
  const intent = await stripe.paymentIntents.create({
    amount: 1_000,
    currency: 'usd',
    automatic_payment_methods: { enabled: true, allow_redirects: 'never' },
    capture_method: 'manual',
    confirm: true,
    payment_method: 'pm_card_visa',
    metadata: { till_id: 'contract' },
    expand: ['latest_charge'],
  });
  assert.deepEqual([intent.status, intent.amount_capturable], ['requires_capture', 1_000]);
  const charge = intent.latest_charge as Stripe.Charge;
  assert.ok((charge.payment_method_details?.card?.capture_before ?? 0) > charge.created);
  assert.equal(charge.metadata['till_id'], 'contract');
  await assert.rejects(stripe.paymentIntents.capture(intent.id, { amount_to_capture: 1_001 }), {
    statusCode: 400,
    code: 'amount_too_large',
  });
  const captured = await stripe.paymentIntents.capture(intent.id, {
    amount_to_capture: 400,
    metadata: { till_capture_id: 'contract' },
  });
  assert.deepEqual(
    [captured.status, captured.amount_received, captured.amount_capturable],
    ['succeeded', 400, 0],
  );
  assert.deepEqual(captured.metadata, { till_id: 'contract', till_capture_id: 'contract' });
  await assert.rejects(stripe.paymentIntents.capture(intent.id), {
    statusCode: 400,
    code: 'payment_intent_unexpected_state',
  });
});

test('an off-session charge that needs authentication fails, and waits for it once confirmed on session', async (t) => {
  const { stripe } = await useContract(t);
  const customer = await stripe.customers.create({ email: 'ada@example.com' });
  const method = await stripe.paymentMethods.attach('pm_card_authenticationRequired', {
    customer: customer.id,
  });
  await assert.rejects(
    stripe.paymentIntents.create({
      amount: 1_000,
      currency: 'usd',
      customer: customer.id,
      automatic_payment_methods: { enabled: true, allow_redirects: 'never' },
      payment_method: method.id,
      off_session: true,
      confirm: true,
    }),
    { statusCode: 402, code: 'authentication_required' },
  );
  const [failed] = (await stripe.paymentIntents.list({ customer: customer.id })).data;
  assert(failed);
  assert.deepEqual(
    [failed.status, failed.last_payment_error?.code],
    ['requires_payment_method', 'authentication_required'],
  );
  const waiting = await stripe.paymentIntents.confirm(failed.id, {
    payment_method: method.id,
    use_stripe_sdk: true,
  });
  assert.deepEqual([waiting.status, waiting.last_payment_error], ['requires_action', null]);
  assert.equal(waiting.payment_method, method.id);
});

test('a confirmation that may redirect wants a return_url', async (t) => {
  const { stripe } = await useContract(t);
  const intent = await stripe.paymentIntents.create({
    amount: 1_000,
    currency: 'usd',
    automatic_payment_methods: { enabled: true },
  });
  await assert.rejects(stripe.paymentIntents.confirm(intent.id, { payment_method: 'pm_card_visa' }), {
    statusCode: 400,
  });
  const without = await stripe.paymentIntents.create({
    amount: 1_000,
    currency: 'usd',
    automatic_payment_methods: { enabled: true, allow_redirects: 'never' },
  });
  assert.equal(
    (await stripe.paymentIntents.confirm(without.id, { payment_method: 'pm_card_visa' })).status,
    'succeeded',
  );
});

test('a declined card is a 402 that carries the intent, which then wants another card', async (t) => {
  const { stripe } = await useContract(t);
  const intent = await stripe.paymentIntents.create({ amount: 1_000, currency: 'usd' });
  await assert.rejects(
    stripe.paymentIntents.confirm(intent.id, {
      payment_method: 'pm_card_visa_chargeDeclinedInsufficientFunds',
      return_url: returnUrl,
    }),
    (error: Stripe.errors.StripeCardError) => {
      assert.deepEqual(
        [error.type, error.statusCode, error.code, error.decline_code, error.payment_intent?.id],
        ['StripeCardError', 402, 'card_declined', 'insufficient_funds', intent.id],
      );
      return true;
    },
  );
  const after = await stripe.paymentIntents.retrieve(intent.id);
  assert.deepEqual(
    [after.status, after.last_payment_error?.decline_code],
    ['requires_payment_method', 'insufficient_funds'],
  );
  const paid = await stripe.paymentIntents.confirm(intent.id, {
    payment_method: 'pm_card_visa',
    return_url: returnUrl,
  });
  assert.equal(paid.status, 'succeeded');
});

test('a card that needs authentication waits for it', async (t) => {
  const { stripe } = await useContract(t);
  const intent = await stripe.paymentIntents.create({
    amount: 1_000,
    currency: 'usd',
    confirm: true,
    payment_method: 'pm_card_threeDSecure2Required',
    return_url: returnUrl,
  });
  assert.deepEqual([intent.status, intent.next_action?.type], ['requires_action', 'redirect_to_url']);
  assert.equal((await stripe.paymentIntents.cancel(intent.id)).status, 'canceled');
});

test('a canceled intent stays canceled', async (t) => {
  const { stripe } = await useContract(t);
  const intent = await stripe.paymentIntents.create({ amount: 1_000, currency: 'usd' });
  const canceled = await stripe.paymentIntents.cancel(intent.id, { cancellation_reason: 'abandoned' });
  assert.deepEqual([canceled.status, canceled.cancellation_reason], ['canceled', 'abandoned']);
  await assert.rejects(stripe.paymentIntents.cancel(intent.id), { code: 'payment_intent_unexpected_state' });
  await assert.rejects(
    stripe.paymentIntents.confirm(intent.id, { payment_method: 'pm_card_visa', return_url: returnUrl }),
    {
      code: 'payment_intent_unexpected_state',
    },
  );
});

test('amounts below the minimum and beyond the maximum are refused', async (t) => {
  const { stripe } = await useContract(t);
  await assert.rejects(stripe.paymentIntents.create({ amount: 49, currency: 'usd' }), {
    code: 'amount_too_small',
  });
  await assert.rejects(stripe.paymentIntents.create({ amount: 100_000_000, currency: 'usd' }), {
    code: 'amount_too_large',
  });
});

test('refunds add up to the payment and no further', async (t) => {
  const { stripe } = await useContract(t);
  const intent = await stripe.paymentIntents.create({
    amount: 1_000,
    currency: 'usd',
    confirm: true,
    payment_method: 'pm_card_visa',
    return_url: returnUrl,
  });
  const part = await stripe.refunds.create({
    payment_intent: intent.id,
    amount: 400,
    reason: 'requested_by_customer',
    metadata: { till_id: 'r' },
  });
  assert.deepEqual(
    [part.object, part.amount, part.status, part.reason, part.payment_intent, part.metadata],
    ['refund', 400, 'succeeded', 'requested_by_customer', intent.id, { till_id: 'r' }],
  );
  await assert.rejects(stripe.refunds.create({ payment_intent: intent.id, amount: 601 }), {
    statusCode: 400,
  });
  assert.equal((await stripe.refunds.create({ payment_intent: intent.id })).amount, 600);
  await assert.rejects(stripe.refunds.create({ payment_intent: intent.id }), {
    code: 'charge_already_refunded',
  });
  const listed = await stripe.refunds.list({ payment_intent: intent.id });
  assert.deepEqual(
    listed.data.map(({ amount }) => amount),
    [600, 400],
  );
  assert.equal((await stripe.paymentIntents.retrieve(intent.id)).status, 'succeeded');
});

test('the same idempotency key creates one object, and other parameters with it are an error', async (t) => {
  const { stripe } = await useContract(t);
  const idempotencyKey = randomUUID();
  const first = await stripe.paymentIntents.create({ amount: 1_000, currency: 'usd' }, { idempotencyKey });
  const again = await stripe.paymentIntents.create({ amount: 1_000, currency: 'usd' }, { idempotencyKey });
  assert.equal(again.id, first.id);
  assert.equal(again.lastResponse.headers['idempotent-replayed'], 'true');
  await assert.rejects(stripe.paymentIntents.create({ amount: 2_000, currency: 'usd' }, { idempotencyKey }), {
    statusCode: 400,
    type: 'StripeIdempotencyError',
  });
});

test('lists are newest first and paged by cursor in both directions', async (t) => {
  const contract = await useContract(t);
  const { stripe } = contract;
  const customer = await contractCustomer(contract);
  const created: string[] = [];
  for (let count = 0; count < 5; count++)
    created.unshift(
      (await stripe.paymentIntents.create({ amount: 1_000 + count, currency: 'usd', customer: customer.id }))
        .id,
    );
  const page = async (cursor: object) => {
    const { data, has_more } = await stripe.paymentIntents.list({
      customer: customer.id,
      limit: 2,
      ...cursor,
    });
    return { ids: data.map(({ id }) => id), has_more };
  };
  assert.deepEqual(await page({}), { ids: created.slice(0, 2), has_more: true });
  assert.deepEqual(await page({ starting_after: created[1] }), { ids: created.slice(2, 4), has_more: true });
  assert.deepEqual(await page({ starting_after: created[3] }), { ids: created.slice(4), has_more: false });
  assert.deepEqual(await page({ ending_before: created[3] }), { ids: created.slice(1, 3), has_more: true });
  const all = await stripe.paymentIntents
    .list({ customer: customer.id, limit: 2 })
    .autoPagingToArray({ limit: 100 });
  assert.deepEqual(
    all.map(({ id }) => id),
    created,
  );
  await assert.rejects(stripe.paymentIntents.list({ limit: 101 }), { statusCode: 400 });
});

test('what happened can be read back as events', async (t) => {
  const contract = await useContract(t);
  const { stripe } = contract;
  const customer = await contractCustomer(contract);
  await stripe.customers.update(customer.id, { name: 'Renamed' });
  const { data } = await stripe.events.list({
    types: ['customer.created', 'customer.updated'],
    created: { gte: customer.created },
    limit: 100,
  });
  const ours = data.filter((event) => (event.data.object as Stripe.Customer).id === customer.id);
  assert.deepEqual(ours.map(({ type }) => type).toSorted(), ['customer.created', 'customer.updated']);
  const updated = ours.find(({ type }) => type === 'customer.updated');
  assert.deepEqual(updated?.data.previous_attributes, { name: 'Contract' });
  assert.equal((await stripe.events.retrieve(updated?.id ?? '')).type, 'customer.updated');
});

test('lost, stolen and fraudulent cards are declined, each with its own code', async (t) => {
  const { stripe } = await useContract(t);
  for (const [payment_method, decline_code] of [
    ['pm_card_visa_chargeDeclinedLostCard', 'lost_card'],
    ['pm_card_visa_chargeDeclinedStolenCard', 'stolen_card'],
    ['pm_card_radarBlock', 'fraudulent'],
  ] as const)
    await assert.rejects(
      stripe.paymentIntents.create({
        amount: 1_000,
        currency: 'usd',
        confirm: true,
        payment_method,
        return_url: returnUrl,
      }),
      { statusCode: 402, code: 'card_declined', decline_code },
    );
});

test('a debit card says so', async (t) => {
  const contract = await useContract(t);
  const customer = (await contractCustomer(contract)).id;
  const { card } = await contract.stripe.paymentMethods.attach('pm_card_visa_debit', { customer });
  assert.deepEqual([card?.brand, card?.funding], ['visa', 'debit']);
});

test('disputes are listed and read', async (t) => {
  const { stripe } = await useContract(t);
  const paid = await stripe.paymentIntents.create({
    amount: 1_000,
    currency: 'usd',
    confirm: true,
    payment_method: 'pm_card_visa',
    return_url: returnUrl,
  });
  const { object, data } = await stripe.disputes.list({ payment_intent: paid.id });
  assert.deepEqual([object, data], ['list', []]);
  await assert.rejects(stripe.disputes.retrieve('du_contractnothing'), {
    statusCode: 404,
    code: 'resource_missing',
  });
});
