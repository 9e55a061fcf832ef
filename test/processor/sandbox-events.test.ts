import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { ProcessorEvent } from '../../src/processor/port/event-calls.ts';
import type { EventFacts } from '../../src/processor/port/event-facts.ts';
import { eventTypes } from '../../src/processor/stripe/events/event-types.ts';
import { readEvent } from '../../src/processor/stripe/events/map-event.ts';
import { verifyWebhook } from '../../src/processor/stripe/events/verify-webhook.ts';
import {
  confirm,
  newKey,
  newPaidPayment,
  newSubscription,
  type Sandboxed,
  startSandboxed,
} from './sandboxed.ts';
import { respond, type Seen, startScriptedServer } from './scripted-server.ts';
import { localId } from './wire-objects.ts';

/** The one that the adapter knows. */
const newerSecret = 'whsec_adapter';
/** Long enough for a trial of one day to end and its invoice to be finalized. */
const aDayAndABitSeconds = 86_400 + 4 * 3_600;

/** One of nearly everything that can happen. */
async function live(sandboxed: Sandboxed): Promise<void> {
  const { processor, stripe, control } = sandboxed;
  const paid = await newPaidPayment(sandboxed);
  const refund = { id: localId, processorPaymentIntentId: paid, reason: null };
  await processor.refunds.create({ ...refund, amount: 500, ...newKey() });
  const unlucky = await newPaidPayment(sandboxed, 'pm_card_refundFail');
  await processor.refunds.create({ ...refund, processorPaymentIntentId: unlucky, amount: 2000, ...newKey() });
  const disputed = await newPaidPayment(sandboxed, 'pm_card_createDispute');
  // A dispute follows its payment after the response.
  await control('clock', { advanceSeconds: 0 });
  const [dispute] = (await stripe.disputes.list({ payment_intent: disputed })).data;
  assert(dispute);
  await stripe.disputes.update(dispute.id, { evidence: { uncategorized_text: 'winning_evidence' } });
  await assert.rejects(newPaidPayment(sandboxed, 'pm_card_chargeDeclined'), /declined/);
  const challenged = await newPaidPayment(sandboxed, 'pm_card_authenticationRequired');
  await processor.payments.cancel({ processorPaymentIntentId: challenged, ...newKey() });
  const authorised = await stripe.paymentIntents.create({
    amount: 2000,
    currency: 'eur',
    automatic_payment_methods: { enabled: true, allow_redirects: 'never' },
    capture_method: 'manual',
    confirm: true,
    payment_method: 'pm_card_visa',
  });
  const capture = { processorPaymentIntentId: authorised.id, amount: 500 };
  await processor.payments.capture({ ...capture, ...newKey() });

  const { subscription, clientSecret } = await newSubscription(sandboxed);
  await confirm(sandboxed, clientSecret?.split('_secret_')[0] ?? '', 'pm_card_visa');
  const { processorSubscriptionId } = subscription;
  const processorCustomerId = subscription.processorCustomerId ?? '';
  const { processorPriceId } = subscription.items[0];
  await newSubscription(sandboxed, 1);
  await control('clock', { advanceSeconds: aDayAndABitSeconds });

  await stripe.invoices.voidInvoice(await newOpenInvoice(sandboxed));
  await stripe.invoices.markUncollectible(await newOpenInvoice(sandboxed));
  const coupon = await stripe.coupons.create({ percent_off: 10, duration: 'forever' });
  await stripe.subscriptions.update(processorSubscriptionId, { discounts: [{ coupon: coupon.id }] });
  await stripe.subscriptions.deleteDiscount(processorSubscriptionId);
  const schedule = await stripe.subscriptionSchedules.create({ from_subscription: processorSubscriptionId });
  await stripe.subscriptionSchedules.update(schedule.id, { metadata: { a: 'b' } });
  await stripe.subscriptionSchedules.release(schedule.id);
  await stripe.products.del((await stripe.products.create({ name: 'Mistake' })).id);
  const plan = await processor.plans.read(processorPriceId);
  assert(plan);
  const { processorProductId } = plan.product;
  await stripe.products.update(processorProductId, { name: 'Platinum' });
  await processor.plans.archive({ processorPriceId, processorProductId, ...newKey() });
  await processor.customers.update({ processorCustomerId, name: 'Augusta', ...newKey() });
  await processor.subscriptions.cancel(processorSubscriptionId);
  const pages = { success_url: 'https://shop.example.com/', cancel_url: 'https://shop.example.com/' };
  const newSession = () =>
    stripe.checkout.sessions.create({
      mode: 'setup',
      currency: 'eur',
      customer: processorCustomerId,
      ...pages,
    });
  await control(`checkout_sessions/${(await newSession()).id}/complete`, {});
  await stripe.checkout.sessions.expire((await newSession()).id);
  await processor.customers.delete(processorCustomerId);
}

/** The invoice of a subscription that is not paid yet. */
async function newOpenInvoice(sandboxed: Sandboxed): Promise<string> {
  const { processorSubscriptionId } = (await newSubscription(sandboxed)).subscription;
  for await (const { items } of sandboxed.processor.invoices.list({ processorSubscriptionId })) {
    const [invoice] = items;
    if (invoice !== undefined) return invoice.processorInvoiceId;
  }
  assert.fail('the subscription has no invoice');
}

test('every event of the sandbox is verified and read, alike in both shapes and in the listing', async (t) => {
  const receiver = await startScriptedServer(t, (response) => respond(response, 200, {}));
  const webhook = { url: new URL('/newer', receiver.url).href, secret: newerSecret };
  const sandboxed = await startSandboxed(t, { webhook });
  const { processor, stripe, control } = sandboxed;
  const older = await stripe.webhookEndpoints.create({
    url: new URL('/older', receiver.url).href,
    enabled_events: ['*'],
    // An older version than the package's own, which is the only one that its types know.
    api_version: '2024-06-20' as never,
  });
  assert(older.secret);
  await control('delivery', { mode: 'paused' });
  const since = new Date();
  await live(sandboxed);
  await control('delivery/flush');

  const newerEvents = verifyAll(receiver.seen, '/newer', newerSecret);
  const olderEvents = verifyAll(receiver.seen, '/older', older.secret);
  const [first] = receiver.seen.filter(({ path }) => path === '/newer');
  assert(first);
  const verified = processor.verifyWebhook(first.body, String(first.headers['stripe-signature']), new Date());
  assert(verified.outcome === 'event');
  assert.deepEqual(newerEvents.get(verified.event.id), verified.event);
  const listed = new Map<string, ProcessorEvent>();
  for await (const { events } of processor.events.listSince(since, eventTypes)) {
    for (const event of events) listed.set(event.id, event);
  }

  const types = new Set<string>();
  for (const [id, event] of newerEvents) {
    const { write: _write, ...facts } = processor.readEvent(event.payload);
    types.add(event.type);
    assert.deepEqual(withoutInvoice(readEvent(olderEvents.get(id)?.payload ?? '')), facts, event.type);
    assert.equal(processor.understands(event.apiVersion), true);
    if (facts.subject !== 'none') {
      assert.equal(event.objectId, idOf(facts) ?? event.objectId);
      assert.deepEqual(readEvent(listed.get(id)?.payload ?? ''), facts, event.type);
    }
  }
  assert.equal(olderEvents.size, newerEvents.size);
  // What it takes another card, plan or dunning schedule to see; their shapes are those of the types beside them.
  const unseen = [
    'payment_intent.processing',
    // A week after the authorisation.
    'charge.expired',
    // Only the dashboard deletes a price.
    'price.deleted',
    'customer.subscription.paused',
    'customer.subscription.resumed',
    'customer.subscription.pending_update_applied',
    'customer.subscription.pending_update_expired',
    'subscription_schedule.aborted',
    'subscription_schedule.canceled',
    'subscription_schedule.completed',
    'subscription_schedule.expiring',
    'customer.discount.updated',
    'invoice.payment_action_required',
    'invoice.deleted',
    // Payments that take days, which the sandbox does not have.
    'checkout.session.async_payment_succeeded',
    'checkout.session.async_payment_failed',
  ];
  assert.deepEqual(
    eventTypes.filter((type) => !types.has(type)),
    unseen,
  );
});

/** All that arrived at a path, by event id, each with its secrets gone. */
function verifyAll(seen: readonly Seen[], path: string, secret: string): Map<string, ProcessorEvent> {
  const events = new Map<string, ProcessorEvent>();
  for (const { body, headers } of seen.filter((arrived) => arrived.path === path)) {
    const header = headers['stripe-signature'];
    assert(typeof header === 'string');
    const verified = verifyWebhook(body, header, ['whsec_rotated_away', secret], new Date());
    assert(verified.outcome === 'event', JSON.stringify(verified));
    assert.doesNotMatch(verified.event.payload, /_secret_/);
    assert.equal(verifyWebhook(body, header, ['whsec_other'], new Date()).outcome, 'bad_signature');
    events.set(verified.event.id, verified.event);
  }
  assert(events.size > 0);
  return events;
}

/** Only the older shape of a payment intent names its invoice. */
function withoutInvoice(read: EventFacts): EventFacts {
  if (read.subject !== 'payment') return read;
  return { ...read, facts: read.facts.map(({ processorInvoiceId: _, ...facts }) => facts) };
}

function idOf(read: EventFacts): string | undefined {
  switch (read.subject) {
    case 'payment':
      return read.facts[0]?.processorPaymentIntentId;
    case 'subscription':
      return read.facts[0]?.processorSubscriptionId;
    case 'invoice':
      return read.facts[0]?.processorInvoiceId;
    case 'refund':
      return read.facts[0]?.processorRefundId;
    case 'customer':
      return read.facts[0]?.processorCustomerId;
    case 'product':
      return read.facts[0]?.processorProductId;
    case 'price':
      return read.facts[0]?.processorPriceId;
    default:
      return undefined;
  }
}
