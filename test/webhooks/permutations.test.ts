import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Stripe } from 'stripe';
import { type ChargeFacts, chargeValues, noCharge, takeChargeFacts } from '#core/model/charge.ts';
import { type Checkout, type CheckoutFacts, resultsOf, takeCheckoutFacts } from '#core/model/checkout.ts';
import { type Customer, type CustomerFacts, takeCustomerFacts } from '#core/model/customer.ts';
import { type DisputeFacts, takeDispute } from '#core/model/dispute.ts';
import {
  type AsOf,
  asOfEvent,
  foldFacts,
  type MirrorRow,
  rowTime,
  type Source,
  type Take,
} from '#core/model/facts.ts';
import {
  firstValuesOfInvoice,
  type Invoice,
  type InvoiceFacts,
  takeInvoiceFacts,
} from '#core/model/invoice.ts';
import { noInvoice, type Payment, type PaymentFacts, takePaymentFacts } from '#core/model/payment.ts';
import { type Plan, type ProductFacts, takeProductFacts } from '#core/model/plan.ts';
import { type Refund, type RefundFacts, takeRefundFacts } from '#core/model/refund.ts';
import {
  noReason,
  type Subscription,
  type SubscriptionFacts,
  takeReason,
  takeSubscriptionFacts,
  valuesOfSubscription,
} from '#core/model/subscription.ts';
import type { KnownPlan } from '#core/model/subscription-items.ts';
import { createRandom } from '#runtime/seed/random.ts';
import { assertMirrored, readMirroredIds } from '../support/checks/mirrors.ts';
import { readEvents } from '../support/checks/outbox.ts';
import { effort } from '../support/effort.ts';
import { inTurn } from '../support/in-turn.ts';
import { confirmPayment, createCustomer, createPayment, type RefundBody } from '../support/objects.ts';
import { plainSubscription } from '../support/plain-subscription.ts';
import { seedOf } from '../support/seeds.ts';
import { startTill } from '../support/till.ts';
import type { TillInProcess } from '../support/till-in-process.ts';
import { ModelRun, startModelBackend, startModelTill } from './model/model-run.ts';
import type { Command, World } from './model/world.ts';

/**
 * Every order in which the events of a short life can arrive, instead of a sample of them. The pure fold is what
 * decides, so that is what is gone through in full; a sample goes through the inbox, the worker and the database as
 * well.
 *
 * Where the times of two values overlap, only the processor can tell which is the last, so it is read, as the service
 * does it, and its response replaces the row. In a second pass it is also read after every batch, as API calls do at
 * any time. It is read both in the state of the latest event that has arrived and in its last state. After every step
 * the row must be as new as the newest state that has arrived.
 */

const epochMs = Date.UTC(2026, 0, 1);
/** The processor's time has whole seconds. */
const second = (count: number) => new Date(epochMs + count * 1_000);
const key = 'the object';
const now = new Date(epochMs + 86_400_000);

test("every order of a payment's events ends equal to the processor's payment", () => {
  for (const statuses of [
    [...paymentStart, 'requires_action', 'processing', 'succeeded'],
    [...paymentStart, 'processing', 'requires_payment_method', 'canceled'],
    [...paymentStart, 'requires_action', 'processing', 'requires_payment_method'],
    // Two attempts fail, each for its own reason; then one succeeds, or is authorised, captured or expires.
    ['requires_payment_method declined', 'requires_payment_method expired', 'requires_action', 'succeeded'],
    ['requires_payment_method declined', 'requires_action', 'requires_action 500', 'succeeded'],
    ['requires_payment_method declined', 'requires_action 500', 'canceled declined'],
    ['requires_payment_method', 'requires_action', 'requires_payment_method declined'],
    // Metadata changes at any time, even once the payment is final, and back to what it was.
    ['requires_payment_method', 'requires_payment_method #a', 'requires_action #b', 'requires_action #a'],
    ['requires_payment_method #a', 'requires_action #b', 'succeeded #b', 'succeeded #a', 'succeeded #b'],
    ['requires_payment_method #a', 'canceled', 'canceled #a', 'canceled #b'],
  ].flatMap(partsOf)) {
    for (const seconds of timings(statuses.length, endsFinal(statuses))) {
      // A final payment that changes has an order of its own.
      if (isBackwards(seconds) && changesFinal(statuses)) continue;
      assertOrderProof(paymentLife(statuses.map((status, index) => paymentFacts(status, seconds[index]))));
    }
  }
});

test("every order of a payment's charges ends with the payment method of the last one", () => {
  const cards = ['a', 'b', 'c', 'd', 'e'];
  for (const seconds of timings(cards.length, false))
    assertOrderProof(chargeLife(cards.map((card, index) => chargeFacts(card, seconds[index]))));
});

test("every order of a payment's disputes ends with the newest one, equal to the processor's dispute", () => {
  for (const states of [
    ['a needs_response', 'a under_review', 'a won', 'a needs_response', 'a lost'],
    // An inquiry that becomes a chargeback; then another dispute, while the first one is still decided.
    ['a warning_needs_response', 'a needs_response', 'a lost', 'b needs_response', 'b won'],
  ]) {
    for (const seconds of timings(states.length, false))
      assertOrderProof(disputeLife(states.map((state, index) => disputeFacts(state, seconds[index]))));
  }
});

test("every order of a refund's events ends equal to the processor's refund", () => {
  // Succeeded is not the end: a bank may send the money back.
  for (const statuses of [
    ['pending', 'requires_action', 'pending', 'succeeded', 'failed'],
    ['pending', 'requires_action', 'pending', 'requires_action', 'succeeded'],
    ['requires_action', 'pending', 'canceled'],
  ] as const) {
    for (const seconds of timings(statuses.length, statuses.at(-1) !== 'succeeded')) {
      assertOrderProof(refundLife(statuses.map((status, index) => refundFacts(status, seconds[index]))));
    }
  }
});

test("every order of a checkout's states ends equal to the processor's session", () => {
  for (const states of [
    // The buyer enters a code, and pays. A payment that was authorised is captured later.
    ['open 900', 'open 800', 'completed 800 unpaid', 'completed 800 paid'],
    ['open 900', 'open 0', 'completed 0 notRequired'],
    ['open 900', 'open 800', 'expired 800'],
  ])
    for (const seconds of timings(states.length, false))
      assertOrderProof(checkoutLife(states.map((state, index) => checkoutFacts(state, seconds[index]))));
});

test("every order of a subscription's events ends equal to the processor's subscription", () => {
  for (const states of [
    // A renewal changes the period and nothing else.
    ['incomplete 0', 'active 0', 'active 1', 'past_due 2', 'active 2', 'active 3', 'canceled 3'],
    ['trialing 0', 'active 1', 'past_due 2', 'unpaid 2', 'active 2', 'past_due 3', 'active 3'],
    ['incomplete 0', 'incomplete_expired 0'],
    // Items come and go on the dashboard: an add-on, another plan, the first plan again.
    ['active 0', 'active 0 gold,meter', 'active 1 gold,silver', 'active 1 silver', 'active 2 silver,gold.2'],
    [
      'active 0',
      'active 0 gold,meter',
      'active 1 meter,silver',
      'past_due 1 silver',
      'canceled 1 meter,gold.2',
    ],
    // Add-ons come and go, and the item of the main plan gets another price.
    [
      'active 0 gold,seats*2',
      'active 0 gold,seats*3,support',
      'active 1 silver.gold,support,meter',
      'past_due 1 silver.gold,support,meter,seats.2',
      'canceled 1 silver.gold,seats.2',
    ],
    // Till makes another item the main plan, which is removed later.
    ['active 0 gold', 'active 0 gold,silver', 'active 0 gold,silver tsilver', 'active 1 gold,seats tsilver'],
    // Discounts and scheduled changes, of which events show only the ids.
    ['active 0 gold d1', 'active 0 gold d2', 'active 0 gold d2,s1', 'active 1 silver d2', 'active 2 silver'],
    ['active 0 gold d1,s1', 'past_due 1 gold d1,s2', 'active 1 gold d1', 'canceled 1 gold d1'],
    // Cancellation, another card, the next invoice, another quantity.
    [
      'active 0 gold c1',
      'active 0 gold',
      'active 1 gold m1,i1',
      'active 1 gold q2,i1',
      'canceled 1 gold q2,c2',
    ],
    // The reason of a cancellation changes, goes with it, and comes again.
    [
      'active 0 gold c1,r1',
      'active 0 gold c1,r2',
      'active 0 gold r2',
      'active 1 gold c1',
      'canceled 1 gold c1,r1',
    ],
    // A cancellation by its date alone: it ends with its period once the period ends at the date, or is taken back.
    ['active 0 gold e2', 'active 1 gold e2', 'active 1 gold', 'past_due 1 gold e2', 'canceled 1 gold e2'],
    ['trialing 0 gold e1', 'trialing 0 gold', 'active 1 gold c1', 'active 1 gold e3', 'active 2 gold e3'],
    // Metadata changes at any time, even once the subscription has ended, and back to what it was.
    ['incomplete 0 gold #a', 'active 0 gold #b', 'active 0 gold #a', 'active 1 gold #b', 'active 1 gold #a'],
    [
      'active 0 gold #a',
      'active 0 gold #b',
      'canceled 0 gold #b',
      'canceled 0 gold #a',
      'canceled 0 gold #b',
    ],
  ].flatMap(partsOf)) {
    for (const seconds of timings(states.length, endsFinal(states))) {
      if (isBackwards(seconds) && changesFinal(states)) continue;
      assertOrderProof(
        subscriptionLife(states.map((state, index) => subscriptionFacts(state, seconds[index]))),
      );
    }
  }
});

test("every order of an invoice's events ends equal to the processor's invoice", () => {
  for (const states of [
    ['draft 500', 'draft 700', 'open 700', 'open 600', 'uncollectible 600', 'paid 600'],
    ['draft 500', 'draft 700', 'open 700', 'open 600', 'uncollectible 600', 'void 600'],
    // Attempts to collect it fail.
    ['draft 500', 'open 500', 'open 500 1', 'open 500 2', 'open 500 3', 'paid 500 4'],
    ['draft 500', 'open 500', 'open 600', 'open 600 1', 'open 700 1'],
    // The lines of a draft change; of a longer invoice an event shows only some.
    ['draft 500 0 u1', 'draft 500 0 u2', 'open 600 0 u2', 'paid 600 1 u2'],
    ['draft 500 0 u1', 'open 500 0 u2 cut', 'open 600 0 u3 cut', 'paid 600 1 u3 cut'],
  ].flatMap(partsOf)) {
    for (const seconds of timings(states.length, endsFinal(states))) {
      assertOrderProof(invoiceLife(states.map((state, index) => invoiceFacts(state, seconds[index]))));
    }
  }
});

test("every order of a product's events ends with the features and the group that the processor's product has", () => {
  for (const names of partsOf(['a', 'b', 'a', 'c', 'b', 'a'])) {
    for (const seconds of timings(names.length, false))
      assertOrderProof(productLife(names.map((name, index) => productFacts(name, seconds[index]))));
  }
});

test("every order of a customer's events ends equal to the processor's customer", () => {
  for (const names of [
    ['a', 'b', 'a', 'c', 'b', 'a', 'd'],
    ['a', 'b', 'c', 'b', 'a', 'b', 'deleted'],
  ].flatMap(partsOf)) {
    for (const seconds of timings(names.length, endsFinal(names))) {
      assertOrderProof(customerLife(names.map((name, index) => customerFacts(name, seconds[index]))));
    }
  }
});

test('a sample of the orders ends the same through the inbox, the workers and the database', async (t) => {
  const backend = await startModelBackend(t, () => undefined);
  const till = await startModelTill(backend, 0);
  const world: World = {
    histories: Array.from({ length: samplesOfEach }, () => sampleLives).flat(),
    // A minute later refunds that fail have failed; a week later subscriptions have renewed, with another card once
    // more.
    clockMovesSeconds: [0, 61, 7 * 86_400 + 3_700, 7 * 86_400 + 3_700],
    faults: [],
    deliverySeed: 1,
  };
  const run = new ModelRun(world, backend, till, async (body, signature) => {
    const response = await till.send(body, { 'stripe-signature': signature });
    assert.equal(response.status, 200, await response.text());
  });
  await run.begin();
  for (let round = 0; round < run.rounds; round += 1) {
    await run.play(round);
    await run.endRound(round);
  }
  const seed = seedOf('MODEL');
  t.diagnostic(`MODEL_SEED=${seed}`);
  const random = createRandom(seed);
  const queues = [...byCustomer(run.delivery.events).values()].map((events) =>
    events.map((event) => ({ event, at: random() })).toSorted((a, b) => a.at - b.at),
  );
  assert.equal(queues.length, world.histories.length);
  // One event of every life at a time, so that each is applied on its own.
  for (let step = 0; step < Math.max(...queues.map(({ length }) => length)); step += 1) {
    for (const queue of queues) {
      const next = queue[step];
      if (next !== undefined) await run.delivery.deliverOne(next.event);
    }
    await till.drainAll();
  }
  await run.assertMirrored(till, backend.sql);
});

test('every order of events counts a refund once, and never counts what a capture or a cancellation releases', async (t) => {
  const till = await startTill({ in: 'process', for: t, mustNotLogErrors: true });
  const { stripe, sql } = till;
  const lives = await liveRefunded(till);
  // One event of every payment at a time, so that each is applied on its own.
  for (let step = 0; step < Math.max(...lives.map(({ events }) => events.length)); step += 1) {
    for (const { events } of lives) {
      const next = events[step];
      if (next !== undefined) await till.take(JSON.stringify(next));
    }
  }
  const written = Map.groupBy(await readEvents(sql), ({ objectId }) => objectId);
  for (const { id, captured, refunded, events } of lives) {
    const sums = (written.get(id) ?? []).flatMap(({ type, data: { amountRefunded: sum } }) =>
      type === 'payment.refunded' || sum !== 0 ? [sum] : [],
    );
    const order = events.map(({ type }) => type).join();
    assert.deepEqual(sums, refunded > 0 ? [refunded] : [], order);
    // Each refund has one event, and a release none.
    const refunds = await till.get<{ data: readonly RefundBody[] }>(`/payments/${id}/refunds`);
    const typesOf = (kind: string) =>
      refunds.data
        .filter((one) => one.kind === kind)
        .map((one) => (written.get(one.id) ?? []).map(({ type }) => type));
    assert.deepEqual(typesOf('refund'), refunded > 0 ? [['refund.created']] : [], order);
    assert.deepEqual(typesOf('release'), captured < 2_000 ? [[]] : [], order);
  }
  await till.settle();
  await assertMirrored(stripe, sql, await readMirroredIds(stripe));
});

/** What a life captures of 2,000, what it refunds of that, and the types of its events, oldest first. */
const refundedLives: readonly RefundedLife[] = [
  {
    captured: 0,
    refunded: 0,
    types: ['refund.created', 'charge.refunded', 'payment_intent.canceled'],
  },
  {
    captured: 1_200,
    refunded: 0,
    types: ['payment_intent.amount_capturable_updated', 'refund.created', 'payment_intent.succeeded'],
  },
  {
    captured: 1_200,
    refunded: 0,
    types: ['charge.captured', 'refund.created', 'charge.refunded', 'payment_intent.succeeded'],
  },
  // The second time as much as is released, and all that was received.
  ...[1_200, 1_000].map((captured) => ({
    captured,
    refunded: captured === 1_200 ? 500 : 1_000,
    types: [
      'payment_intent.amount_capturable_updated',
      'refund.created',
      'payment_intent.succeeded',
      'refund.created',
    ],
  })),
  { captured: 2_000, refunded: 500, types: ['payment_intent.succeeded', 'refund.created'] },
];

interface RefundedLife {
  readonly captured: number;
  readonly refunded: number;
  readonly types: readonly string[];
}

/** Lives each life once for each order of its events, which it returns in that order. */
async function liveRefunded(till: TillInProcess) {
  const { stripe } = till;
  const { id: customerId } = await createCustomer(till);
  const orders = refundedLives.flatMap((life) =>
    [...selections([...life.types.keys()], life.types.length)].map((order) => ({ ...life, order })),
  );
  const lives = await inTurn(orders, async (life) => {
    const payment = await createPayment(till, { customerId, captureMethod: 'manual' });
    return { ...life, payment, intent: payment.processorPaymentIntentId };
  });
  type Life = (typeof lives)[number];
  const end = ({ intent, captured }: Life) =>
    captured === 0
      ? stripe.paymentIntents.cancel(intent)
      : stripe.paymentIntents.capture(intent, { amount_to_capture: captured });
  const refund = async ({ intent, refunded: amount }: Life) => {
    if (amount > 0) await stripe.refunds.create({ payment_intent: intent, amount });
  };
  // At times apart, so that only an event that may be about a release needs a read from the processor.
  for (const step of [({ payment }: Life) => confirmPayment(till, payment), end, refund]) {
    await till.control('clock', { advanceSeconds: 60 });
    await inTurn<Life, unknown>(lives, step);
  }
  const all = (await Array.fromAsync(stripe.events.list({ limit: 100 }))).reverse();
  const byIntent = Map.groupBy(all, intentOfEvent);
  return lives.map(({ intent, payment: { id }, captured, refunded, types, order }) => {
    const own = (byIntent.get(intent) ?? []).filter(({ type }) => types.includes(type));
    assert.deepEqual(
      own.map(({ type }) => type),
      types,
    );
    return { id, captured, refunded, events: order.flatMap((index) => own[index] ?? []) };
  });
}

function intentOfEvent({ data: { object } }: Stripe.Event): string | undefined {
  if (object.object === 'refund' || object.object === 'charge') return String(object.payment_intent);
  return object.object === 'payment_intent' ? object.id : undefined;
}

/** Each life is lived so many times, and its events arrive in another order each time. */
const samplesOfEach = effort({ short: 1, long: 100 });
const card = 'pm_card_visa';

const openCheckout = {
  what: 'open checkout',
  amount: 900,
  trialDays: 0,
  quantity: 1,
  addOns: [],
  percent: null,
} as const;

/** The buyer does not come back: only events tell Till of it. */
const completeCheckout = {
  what: 'complete checkout',
  which: 0,
  card,
  authenticate: true,
  entersCode: false,
  tabs: 1,
  returns: false,
} as const;

const sampleLives: readonly (readonly (readonly Command[])[])[] = [
  [
    [
      { what: 'authorise', amount: 900, card: 'pm_card_threeDSecure2Required' },
      { what: 'authenticate', which: 0, succeeds: false },
      { what: 'confirm payment', which: 0, card: 'pm_card_visa_chargeDeclined' },
      { what: 'confirm payment', which: 0, card },
    ],
    [{ what: 'capture', which: 0, whole: false, by: 'processor' }],
    [{ what: 'authorise', amount: 900, card }],
    [],
  ],
  [
    [
      { what: 'pay', amount: 900, card: 'pm_card_visa_chargeDeclined' },
      { what: 'confirm payment', which: 0, card: 'pm_card_refundFail' },
      { what: 'refund', which: 0, whole: true, by: 'processor' },
    ],
    [],
    [{ what: 'refund', which: 0, whole: false, by: 'processor' }],
    [{ what: 'refund', which: 0, whole: true, by: 'processor' }],
  ],
  [
    [{ what: 'pay', amount: 900, card: 'pm_card_createDispute' }],
    [{ what: 'respond to dispute', which: 0, how: 'winning_evidence' }],
    [{ what: 'pay', amount: 900, card: 'pm_card_createDisputeInquiry' }],
    [{ what: 'respond to dispute', which: 1, how: 'escalate_inquiry_evidence' }],
  ],
  [
    [
      {
        ...{ what: 'subscribe', interval: 'week', amount: 900, trialDays: 0, card, savesCard: true },
        ...{ quantity: 2, addOns: [1, 2], percent: 10, atTrialEnd: 'pause' },
      },
      { what: 'update customer', name: 'One', by: 'processor' },
      { what: 'update customer', name: 'Two', by: 'processor' },
    ],
    [
      {
        ...{ what: 'change add-ons', which: 0, quantities: [0, 3, 1], when: 'now' },
        ...{ proration: 'none', by: 'processor' },
      },
      { what: 'meter', which: 0, isThere: true },
    ],
    [
      { what: 'refund charge', which: 0, whole: false, by: 'processor' },
      { what: 'spoil card', which: 0 },
    ],
    [{ what: 'cancel subscription', which: 0, by: 'processor', why: null }],
  ],
  [
    [
      { ...openCheckout, sells: 'plan of group', addOns: [1], percent: 10 },
      { ...completeCheckout, card: 'pm_card_visa_chargeDeclined' },
      { ...completeCheckout, card: 'pm_card_threeDSecure2Required', entersCode: true },
    ],
    [
      { ...openCheckout, sells: 'payment' },
      { ...completeCheckout, which: 1, card: 'pm_card_visa_chargeDeclined' },
      { ...completeCheckout, which: 1 },
    ],
    [
      { ...openCheckout, sells: 'card' },
      { ...completeCheckout, which: 2 },
    ],
    [{ ...openCheckout, sells: 'plan', trialDays: 7 }],
  ],
];

/**
 * Each customer's events. Those of refunds, disputes and invoice payments name the payment, those of plans no customer.
 */
function byCustomer(events: readonly Stripe.Event[]): ReadonlyMap<string, readonly Stripe.Event[]> {
  const customerOf = new Map<string, string>();
  const named = ({ data: { object } }: Stripe.Event): string | undefined => {
    if (object.object === 'customer') return object.id;
    if (object.object === 'invoice_payment') return customerOf.get(String(object.payment.payment_intent));
    if (object.object === 'refund' || object.object === 'dispute')
      return customerOf.get(String(object.payment_intent));
    return 'customer' in object && typeof object.customer === 'string' ? object.customer : undefined;
  };
  for (const event of events) {
    const { object } = event.data;
    if (object.object === 'payment_intent') customerOf.set(object.id, named(event) ?? '');
  }
  const groups = Map.groupBy(events, (event) => named(event) ?? '');
  groups.delete('');
  return groups;
}

/** Four events have 24 orders, and seven have 5,040. */
const eventsMax = effort({ short: 4, long: Number.POSITIVE_INFINITY });

/** A long life as a whole in the long form, and in the short form its beginning and its end, which overlap. */
function partsOf(states: readonly string[]): readonly (readonly string[])[] {
  return states.length <= eventsMax ? [states] : [states.slice(0, eventsMax), states.slice(-eventsMax)];
}

interface Life<Row extends MirrorRow, Facts> {
  /** The row as the first event that arrives creates it. */
  readonly born: (facts: Facts) => Row;
  readonly take: Take<Row, Facts>;
  /** In the order in which they happened, with everything that a read shows. */
  readonly events: readonly Facts[];
  /** What an event shows, if it is less. */
  readonly shown?: (facts: Facts) => Facts;
  /** What must be right in the end. */
  readonly view: (row: Row) => unknown;
}

interface Dated {
  readonly asOf: AsOf;
}

/** The state that a read finds: that of the latest event that has arrived, or the last one. */
const states = ['as far as heard', 'in the end'] as const;

interface Arrivals {
  readonly batchSize: number;
  /** When the processor is read: where times tie, as the service does it, or after every batch, as API calls do. */
  readonly read: 'on ties' | 'after every batch';
  readonly finds: (typeof states)[number];
}

/** The row after some events have arrived, and the index of the newest state that has arrived by then. */
interface Step<Row> {
  readonly row: Row;
  readonly newest: number;
  /** The batches, in the order in which they arrived. */
  readonly batches: readonly (readonly number[])[];
  readonly isRead: boolean;
}

/**
 * Every order, in batches of one, two and all, ends equal to the processor's object, and never goes back on the way.
 */
function assertOrderProof<Row extends MirrorRow, Facts extends Dated>(life: Life<Row, Facts>): void {
  const views = life.events.map((facts) => JSON.stringify(life.view(life.born(facts))));
  const times = life.events.map(({ asOf }) => asOf.earliest.getTime());
  const timesLie = times.some((time, index) => time < (times[index - 1] ?? time));
  const assertArrivals = (arrivals: Arrivals): { readonly hasRead: boolean } => {
    let hasRead = false;
    for (const { row, newest, batches, isRead } of everyStep(life, arrivals)) {
      hasRead ||= isRead;
      if (timesLie && newest < life.events.length - 1) continue;
      const view = JSON.stringify(life.view(row));
      if (!views.includes(view, newest))
        assert.fail(`${view} is older than ${views[newest]}: ${JSON.stringify({ batches, ...arrivals })}`);
    }
    return { hasRead };
  };
  for (const batchSize of [1, 2, life.events.length]) {
    for (const finds of states) {
      // Without a read there is nothing that could be different the second time.
      if (!assertArrivals({ batchSize, read: 'on ties', finds }).hasRead) break;
    }
  }
  // Larger batches show nothing here that single events do not; once the last state is read, nothing is left to show.
  assertArrivals({ batchSize: 1, read: 'after every batch', finds: 'as far as heard' });
}

/**
 * Every step on the way of every order. What comes after a step depends only on its row and on what is still to arrive,
 * so where two orders come to the same row after the same events, they go on together.
 */
function* everyStep<Row extends MirrorRow, Facts extends Dated>(
  life: Life<Row, Facts>,
  arrivals: Arrivals,
): Generator<Step<Row>> {
  const seen = new Set<string>();
  const waiting: { readonly step: Step<Row> | undefined; readonly left: readonly number[] }[] = [
    { step: undefined, left: [...life.events.keys()] },
  ];
  for (let from = waiting.pop(); from !== undefined; from = waiting.pop()) {
    const { step, left } = from;
    for (const batch of batchesOf(life, left, arrivals.batchSize)) {
      const next = arrive(life, step, batch, arrivals);
      const others = left.filter((index) => !batch.includes(index));
      const isEnd = others.length === 0;
      const state = isEnd ? '' : JSON.stringify([others, next.newest, { ...next.row, revision: 0 }]);
      if (seen.has(state)) continue;
      if (!isEnd) seen.add(state);
      yield next;
      if (!isEnd) waiting.push({ step: next, left: others });
    }
  }
}

/**
 * Every batch that can come next, as the worker claims it: in the order in which the events happened, those of one
 * second as they came.
 */
function batchesOf<Facts extends Dated>(
  { events }: { readonly events: readonly Facts[] },
  left: readonly number[],
  size: number,
): Iterable<readonly number[]> {
  const timeOf = (index: number) => events[index]?.asOf.earliest.getTime() ?? 0;
  const batches = new Map<string, readonly number[]>();
  for (const arrived of selections(left, Math.min(size, left.length))) {
    const batch = arrived.toSorted((a, b) => timeOf(a) - timeOf(b));
    batches.set(batch.join(), batch);
  }
  return batches.values();
}

function arrive<Row extends MirrorRow, Facts extends Dated>(
  life: Life<Row, Facts>,
  before: Step<Row> | undefined,
  batch: readonly number[],
  { read, finds }: Arrivals,
): Step<Row> {
  const facts = batch.flatMap((index) => life.events[index] ?? []).map(life.shown ?? ((shown) => shown));
  const [first] = facts;
  assert(first !== undefined);
  const { row, isUnsettled } = fold(life, before?.row ?? life.born(first), facts, 'events');
  const heard = Math.max(before?.newest ?? 0, ...batch);
  const batches = [...(before?.batches ?? []), batch];
  const isRead = isUnsettled || read === 'after every batch';
  if (!isRead) return { row, newest: heard, batches, isRead };
  const newest = finds === 'in the end' ? life.events.length - 1 : heard;
  const known = new Map([[key, row.revision]]);
  return { row: fold(life, row, [responseAt(life, newest)], known).row, newest, batches, isRead };
}

/** A response that took a while: the request may have begun a second before the state, and arrived one after it. */
function responseAt<Facts extends Dated>(
  { events }: { readonly events: readonly Facts[] },
  index: number,
): Facts {
  const [facts] = events.slice(index);
  assert(facts !== undefined);
  const at = facts.asOf.earliest.getTime();
  return { ...facts, asOf: { earliest: new Date(at - 1_000), latest: new Date(at + 1_000) } };
}

function fold<Row extends MirrorRow, Facts>(
  { take }: Life<Row, Facts>,
  row: Row,
  batch: readonly Facts[],
  source: Source,
): { readonly row: Row; readonly isUnsettled: boolean } {
  const { written, applied } = foldFacts({
    rows: [row],
    groups: Map.groupBy(batch, () => key),
    source,
    keyOf: () => key,
    take,
    view: (shown) => shown,
    now,
  });
  const after = written[0]?.after ?? row;
  return {
    row: after === row ? row : { ...after, revision: row.revision + 1 },
    isUnsettled: applied.unsettled.length > 0,
  };
}

/** Every selection of so many items, in every order. */
function* selections<T>(items: readonly T[], size: number): Generator<readonly T[]> {
  if (size === 0) {
    yield [];
    return;
  }
  for (const [index, item] of items.entries()) {
    for (const others of selections(items.toSpliced(index, 1), size - 1)) yield [item, ...others];
  }
}

/**
 * The seconds at which the events of a life happen: apart, all in one, and in pairs, with and without the last. For a
 * life that ends in a final status also backwards, because nothing can come after it, whatever the times say.
 */
function timings(count: number, isFinal: boolean): readonly (readonly number[])[] {
  const indexes = Array.from({ length: count }, (_, index) => index);
  return [
    indexes,
    indexes.map(() => 0),
    indexes.map((index) => Math.floor(index / 2)),
    indexes.map((index) => Math.ceil(index / 2)),
    ...(isFinal ? [indexes.toReversed()] : []),
  ];
}

const finalStates = ['succeeded', 'canceled', 'incomplete_expired', 'paid', 'void', 'deleted'];

function endsFinal(states: readonly string[]): boolean {
  return finalStates.some((state) => states.at(-1)?.startsWith(state));
}

/** The times of a life that ends in a final status may be wrong, but not those of changes after it. */
function isBackwards(seconds: readonly number[]): boolean {
  return (seconds[0] ?? 0) > (seconds.at(-1) ?? 0);
}

function changesFinal(states: readonly string[]): boolean {
  return states.filter((state) => endsFinal([state])).length > 1;
}

const paymentStart = [
  'requires_payment_method',
  'requires_action',
  'requires_payment_method',
  'requires_confirmation',
] as const;

/** What every row has that the order of events does not touch. */
const born = { id: 'ours', createdAt: second(0), updatedAt: second(0), revision: 0 };
const created = { localId: null, createdAt: second(0) };

/** A state is a status, and the code of the last failure or the authorised amount, or after # the metadata. */
function paymentFacts(state: string, at = 0): PaymentFacts {
  const [values = '', note = ''] = state.split(' #');
  const [status = '', more = ''] = values.split(' ');
  const amountCapturable = Number(more) || 0;
  const code = amountCapturable === 0 ? more : '';
  const of = { processorPaymentIntentId: key, processorCustomerId: 'c', amount: 500, currency: 'eur' };
  return {
    ...{ ...created, ...of, amountCapturable, amountReceived: status === 'succeeded' ? 500 : 0 },
    failure: code === '' ? null : { code, declineCode: null, message: null },
    checkoutId: null,
    metadata: metadataOf(note),
    // The tables above name nothing but statuses.
    status: status as PaymentFacts['status'],
    asOf: asOfEvent(second(at)),
  };
}

function metadataOf(note: string): Record<string, string> {
  return note === '' ? {} : { note };
}

/** A charge of this second. */
function chargeFacts(card: string, at = 0): ChargeFacts {
  const method = { id: card, type: 'card', brand: 'visa', last4: '4242', expMonth: 12, expYear: 2034 };
  return {
    ...{ processorChargeId: card, processorPaymentIntentId: key, localId: null, captureBefore: null },
    ...{ paymentMethod: method, isAuthorisationOver: false },
    createdAt: second(at),
    asOf: asOfEvent(second(at)),
  };
}

function chargeLife(events: readonly ChargeFacts[]): Life<Payment, ChargeFacts> {
  const untried = paymentLife([]).born(paymentFacts('requires_payment_method'));
  return {
    events,
    born: (facts) => ({ ...untried, ...chargeValues(facts) }),
    take: (row, facts, origin) => takeChargeFacts(row, facts, origin, now),
    view: ({ paymentMethod }) => paymentMethod?.id,
  };
}

/** A state is the dispute, which is created in the second of its letter, and its status. */
function disputeFacts(state: string, at = 0): DisputeFacts {
  const [id = '', status = ''] = state.split(' ');
  return {
    ...{ processorDisputeId: id, processorPaymentIntentId: key, status, amount: 500, currency: 'eur' },
    ...{ reason: null, evidenceDueBy: null },
    createdAt: second(id.charCodeAt(0)),
    asOf: asOfEvent(second(at)),
  };
}

function disputeLife(events: readonly DisputeFacts[]): Life<Payment, DisputeFacts> {
  const undisputed = paymentLife([]).born(paymentFacts('succeeded'));
  return {
    events,
    born: (facts) => takeDispute(undisputed, facts, 'event', now).row,
    take: (row, facts, origin) => takeDispute(row, facts, origin, now),
    view: ({ dispute }) => [dispute?.processorDisputeId, dispute?.status],
  };
}

function paymentLife(events: readonly PaymentFacts[]): Life<Payment, PaymentFacts> {
  return {
    events,
    born: ({ status, asOf, charge: _, ...facts }) => ({
      ...{
        ...facts,
        ...born,
        ...noCharge,
        ...noInvoice,
        customerId: 'c',
        amountRefunded: 0,
        amountReserved: 0,
      },
      ...{ description: null, dispute: null, intentStatus: status, status, ...rowTime(asOf) },
    }),
    take: (row, facts, origin) => takePaymentFacts(row, facts, origin, now),
    view: ({ status, amountReceived, amountCapturable, failure, metadata }) => ({
      metadata,
      status,
      amountReceived,
      amountCapturable,
      failure: failure?.code,
    }),
  };
}

function refundFacts(status: RefundFacts['status'], at = 0): RefundFacts {
  const of = { processorRefundId: key, processorPaymentIntentId: 'p', amount: 5, currency: 'eur' };
  return { ...created, ...of, reason: null, status, asOf: asOfEvent(second(at)) };
}

function refundLife(events: readonly RefundFacts[]): Life<Refund, RefundFacts> {
  return {
    events,
    born: ({ asOf, status, ...facts }) => ({
      ...{ ...facts, ...born, paymentId: 'p', customerId: 'c', kind: 'refund', ...rowTime(asOf) },
      status: status === 'unknown' ? 'pending' : status,
    }),
    take: (row, facts, origin) => takeRefundFacts(row, facts, origin, now),
    view: ({ status }) => status,
  };
}

/** A state is a status, the total, and whether it is paid. */
function checkoutFacts(state: string, at = 0): CheckoutFacts {
  const [status = '', amount = '', paymentStatus = 'unpaid'] = state.split(' ');
  return {
    ...{ ...created, processorCheckoutSessionId: key, processorCustomerId: 'c', mode: 'payment', items: [] },
    ...{ processorSubscriptionId: null, processorInvoiceId: null, processorPaymentIntentId: 'p' },
    ...{ trialPeriodDays: null, paymentMethodId: null, terms: '', currency: 'eur', metadata: {} },
    // The tables above name nothing but statuses.
    status: status as CheckoutFacts['status'],
    paymentStatus: paymentStatus as CheckoutFacts['paymentStatus'],
    amount: Number(amount),
    completedAt: status === 'completed' ? second(0) : null,
    expiresAt: second(1_000),
    asOf: asOfEvent(second(at)),
  };
}

function checkoutLife(events: readonly CheckoutFacts[]): Life<Checkout, CheckoutFacts> {
  return {
    events,
    born: ({ asOf, items: _, ...facts }) => ({
      ...{ ...facts, ...born, customerId: 'c', planId: null, quantity: null, addOns: [], ...rowTime(asOf) },
      ...resultsOf({ ...facts, asOf, items: [] }, 'p', now),
    }),
    take: (row, facts, origin) => takeCheckoutFacts(row, facts, 'p', origin, now),
    view: ({ status, paymentStatus, amount, paymentId, completedAt }) => ({
      ...{ status, paymentStatus, amount, paymentId, completedAt },
    }),
  };
}

/**
 * A state is a status, the number of the period, the prices of the items, oldest first, and what else there is: a
 * discount (`d`), a scheduled change (`s`), a cancellation (`c`, or `e` by the end of a period alone), a card (`m`), an
 * invoice (`i`), a quantity (`q`), a reason of the cancellation (`r`), the price that Till marked as the main plan
 * (`t`); after # the metadata. `gold.2` is the item `2` with the price `gold`, and `seats*3` three of `seats`.
 */
function subscriptionFacts(state: string, at = 0): SubscriptionFacts {
  const [values = '', note = ''] = state.split(' #');
  const [status = '', period = '', prices = 'gold', more = ''] = values.split(' ');
  const mores = new Map(more.split(',').map((one) => [one.charAt(0), one]));
  const numberOf = (letter: string) => Number(mores.get(letter)?.slice(1) ?? 0);
  const of = { processorSubscriptionId: key, processorCustomerId: 'c' };
  const itemOf = (item: string, age: number) => {
    const [name = '', quantity] = item.split('*');
    const [processorPriceId = '', id = processorPriceId] = name.split('.');
    return {
      processorItemId: `item ${id}`,
      processorPriceId,
      planLocalId: null,
      nickname: null,
      quantity: Number(quantity ?? 0) || numberOf('q') || 1,
      createdAt: second(age),
      // Each item has a period of its own.
      currentPeriodStart: second(Number(period) * 100 + processorPriceId.length),
      currentPeriodEnd: second(Number(period) * 100 + 100),
    };
  };
  const [first = '', ...others] = prices.split(',');
  return {
    ...{ ...created, ...of, ...plainSubscription, metadata: metadataOf(note), asOf: asOfEvent(second(at)) },
    ...termsOfState(mores.get('d'), numberOf('s')),
    cancelAtPeriodEnd: numberOf('c') === 1,
    cancelAt: numberOf('c') === 1 ? second(1_000) : mores.has('e') ? second(numberOf('e') * 100) : null,
    canceledAt: mores.has('c') ? second(numberOf('c')) : null,
    endedAt: status === 'canceled' ? second(2_000) : null,
    cancellationReason: mores.get('r') ?? null,
    processorLatestInvoiceId: mores.get('i') ?? null,
    defaultPaymentMethodId: mores.get('m') ?? null,
    // The tables above name nothing but statuses.
    status: status as SubscriptionFacts['status'],
    items: [itemOf(first, 0), ...others.map((item, index) => itemOf(item, index + 1))],
    mainMark: mores.get('t')?.slice(1) ?? null,
  };
}

function termsOfState(
  discount: string | undefined,
  schedule: number,
): Pick<SubscriptionFacts, 'discount' | 'pendingChange'> {
  const rest = { code: discount ?? '', percentOff: 10, amountOff: null, currency: null, endsAt: null };
  return {
    discount: discount === undefined ? null : { processorDiscountId: discount, ...rest },
    pendingChange:
      schedule === 0
        ? null
        : {
            items: [
              { processorItemId: null, processorPriceId: 'silver', quantity: schedule },
              { processorItemId: null, processorPriceId: 'seats', quantity: 2 },
            ],
            ...{ mainMark: null, at: second(9_000) },
          },
  };
}

/** The meter is not a plan of Till. */
function planOf(price: string): KnownPlan | undefined {
  const addOn = ['seats', 'support'].includes(price);
  return price === 'meter' ? undefined : { id: `the plan ${price}`, addOn };
}

function subscriptionLife(events: readonly SubscriptionFacts[]): Life<Subscription, SubscriptionFacts> {
  return {
    events,
    shown: ({ discount, pendingChange, ...facts }) => ({
      ...facts,
      discount: discount && { processorDiscountId: discount.processorDiscountId },
      ...(pendingChange === null ? { pendingChange } : {}),
    }),
    born: ({ asOf, ...facts }) => {
      const nothing = { planId: '', processorMainItemId: null, discount: null, pendingChange: null };
      const values = valuesOfSubscription({ ...facts, asOf }, nothing, planOf);
      const looked = { latestInvoiceId: null, paidUntil: null };
      const cancellationReason = takeReason(noReason, { ...facts, asOf });
      return {
        ...facts,
        ...born,
        ...values,
        ...looked,
        cancellationReason,
        customerId: 'c',
        ...rowTime(asOf),
      };
    },
    take: (row, facts, origin) => takeSubscriptionFacts(row, facts, planOf, origin, now),
    view: ({ planId, status, currentPeriodStart, currentPeriodEnd, quantity, discount, ...row }) => ({
      metadata: row.metadata,
      ...{ planId, status, currentPeriodStart, currentPeriodEnd, quantity },
      discount: discount?.code,
      ...{ addOns: row.addOns, otherItems: row.otherItems, pendingChange: row.pendingChange },
      ...{ atEnd: row.cancelAtPeriodEnd, at: row.cancelAt, canceledAt: row.canceledAt, endedAt: row.endedAt },
      ...{ invoice: row.processorLatestInvoiceId, card: row.defaultPaymentMethodId },
      reason: row.cancellationReason,
    }),
  };
}

/**
 * A state is a status, the amount due, the number of attempts, until when the lines bill, and whether an event shows
 * only some of them. A finalized invoice has a number and a PDF.
 */
function invoiceFacts(state: string, at = 0): InvoiceFacts & { readonly isCut: boolean } {
  const [status = '', amountDue = '', attempts = '0', until = '', cut = ''] = state.split(' ');
  const page = status === 'draft' ? null : 'https://invoice.example.com/1';
  const of = { processorInvoiceId: key, processorCustomerId: 'c', processorSubscriptionId: 's' };
  return {
    ...{ ...of, currency: 'eur', hostedInvoiceUrl: null, createdAt: second(0), asOf: asOfEvent(second(at)) },
    subscriptionLocalId: null,
    coversUntil: until === '' ? null : second(Number(until.slice(1))),
    isCut: cut !== '',
    // The tables above name nothing but statuses.
    status: status as InvoiceFacts['status'],
    amountDue: Number(amountDue),
    amountPaid: status === 'paid' ? Number(amountDue) : 0,
    amountRemaining: status === 'paid' ? 0 : Number(amountDue),
    ...{ number: page, invoicePdfUrl: page, periodStart: second(0), periodEnd: second(1) },
    attemptCount: Number(attempts),
    nextPaymentAttemptAt: status === 'open' ? second(1_000 + Number(attempts)) : null,
  };
}

function invoiceLife(
  events: readonly ReturnType<typeof invoiceFacts>[],
): Life<Invoice, ReturnType<typeof invoiceFacts>> {
  return {
    events,
    shown: ({ coversUntil = null, ...facts }) => ({ ...facts, ...(facts.isCut ? {} : { coversUntil }) }),
    born: ({ isCut: _, ...facts }) => ({
      ...{ processorInvoiceId: facts.processorInvoiceId, customerId: 'c', subscriptionId: null },
      ...{ ...firstValuesOfInvoice(facts), ...born, ...rowTime(facts.asOf), createdAt: facts.createdAt },
    }),
    take: (row, { isCut: _, ...facts }, origin) => takeInvoiceFacts(row, facts, 'c', origin, now),
    view: ({ status, amountDue, amountPaid, ...row }) => ({
      ...{ status, amountDue, amountPaid, number: row.number, invoicePdfUrl: row.invoicePdfUrl },
      ...{ amountRemaining: row.amountRemaining, attemptCount: row.attemptCount },
      nextPaymentAttemptAt: row.nextPaymentAttemptAt,
      // Only a paid invoice needs to know until when it pays.
      coversUntil: status === 'paid' ? row.coversUntil : null,
    }),
  };
}

/** A state is the name, and also that of a feature and of the group. */
function productFacts(name: string, at = 0): ProductFacts {
  const own = { metadata: { [name]: name }, features: { [name]: true }, groupName: `group ${name}` };
  return { ...created, ...own, processorProductId: key, name, active: true, asOf: asOfEvent(second(at)) };
}

function productLife(events: readonly ProductFacts[]): Life<Plan, ProductFacts> {
  return {
    events,
    born: ({ asOf, active, metadata, features, groupName, name }) => ({
      ...{ ...born, processorProductId: key, processorPriceId: 'price', currency: 'eur', amount: 900 },
      ...{
        interval: 'month',
        intervalCount: 1,
        metadata: metadata ?? {},
        features,
        groupName,
        addOn: false,
        repeatable: false,
      },
      ...{ name: name ?? '', productActive: active, priceActive: true, active, addOnClaimId: null },
      ...{ productAsOf: asOf.earliest, productAsOfLatest: asOf.latest },
      ...{ priceAsOf: asOf.earliest, priceAsOfLatest: asOf.latest },
    }),
    take: (row, facts, origin) => takeProductFacts(row, facts, origin, now),
    view: ({ name, metadata, features, groupName, active }) => ({
      ...{ name, metadata, features, groupName, active },
    }),
  };
}

function customerFacts(name: string, at = 0): CustomerFacts {
  const of = { processorCustomerId: key, email: 'ada@example.com', phone: null };
  const own = { externalId: `user ${name}`, metadata: { [name]: name } };
  return { ...created, ...of, ...own, name, deleted: name === 'deleted', asOf: asOfEvent(second(at)) };
}

function customerLife(events: readonly CustomerFacts[]): Life<Customer, CustomerFacts> {
  return {
    events,
    born: ({ asOf, deleted, metadata, ...facts }) => ({
      ...{ ...facts, ...born, ...rowTime(asOf), metadata: metadata ?? {}, deletedAt: deleted ? now : null },
      ...(deleted ? { email: null, name: null, externalId: null, metadata: {} } : {}),
    }),
    take: (row, facts, origin) => takeCustomerFacts(row, facts, origin, now),
    view: ({ name, email, externalId, metadata, deletedAt }) => ({
      ...{ name, email, externalId, metadata },
      isDeleted: deletedAt !== null,
    }),
  };
}
