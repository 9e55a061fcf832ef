import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { asOfEvent } from '#core/model/facts.ts';
import { eventFixture, eventFixtureWith } from '../../../../test/fixtures/event-fixture.ts';
import { plainSubscription } from '../../../../test/support/plain-subscription.ts';
import { UnmappableError } from '../../port/event-facts.ts';
import { eventTypes } from './event-types.ts';
import { mapEventEnvelope, readEvent } from './map-event.ts';

const eventTime = new Date('2026-01-01T00:01:00Z');

function read(name: string) {
  return readEvent(eventFixture(name));
}

function unmappable(name: string, field: string, value: unknown, reason: RegExp) {
  assert.throws(
    () => readEvent(eventFixtureWith(name, field, value)),
    (error) => error instanceof UnmappableError && reason.test(error.message),
  );
}

describe('payment events', () => {
  test('a payment intent becomes a payment, with its Till id and the time of the event, without its secret', () => {
    assert.deepEqual(read('payment_intent.succeeded'), {
      subject: 'payment',
      facts: [
        {
          processorPaymentIntentId: 'pi_1',
          localId: '0199d3a2-0000-7000-8000-00000000000c',
          processorCustomerId: 'cus_1',
          amount: 2000,
          amountReceived: 2000,
          amountCapturable: 0,
          failure: null,
          checkoutId: null,
          metadata: {},
          currency: 'eur',
          status: 'succeeded',
          createdAt: new Date('2026-01-01T00:00:00Z'),
          asOf: asOfEvent(eventTime),
        },
      ],
    });
  });

  for (const [name, status] of [
    ['payment_intent.payment_failed', 'requires_payment_method'],
    ['payment_intent.requires_action', 'requires_action'],
    ['payment_intent.canceled', 'canceled'],
    // The spec has no status for an authorised payment that is not captured yet.
    ['payment_intent.amount_capturable_updated', 'requires_action'],
  ] as const) {
    test(`${name} maps to ${status}`, () => {
      const facts = read(name);
      assert(facts.subject === 'payment');
      assert.equal(facts.facts[0]?.status, status);
    });
  }

  test('a failed attempt maps to its reason, and a success has none', () => {
    const failure = { code: 'card_declined', decline_code: 'generic_decline', message: 'Declined.' };
    const failureOf = (name: string, error: unknown) => {
      const facts = readEvent(eventFixtureWith(name, 'last_payment_error', error));
      assert(facts.subject === 'payment');
      return facts.facts[0]?.failure;
    };
    const failed = 'payment_intent.payment_failed';
    const mapped = { code: 'card_declined', declineCode: 'generic_decline', message: 'Declined.' };
    assert.deepEqual(failureOf(failed, failure), mapped);
    assert.deepEqual(failureOf('payment_intent.canceled', failure), mapped);
    assert.deepEqual(failureOf(failed, {}), { code: null, declineCode: null, message: null });
    assert.equal(failureOf('payment_intent.succeeded', failure), null);
    for (const odd of [null, undefined, 'odd', 7, []]) assert.equal(failureOf(failed, odd), null);
    assert.equal(failureOf(failed, { message: 'a'.repeat(9_000) })?.message?.length, 500);
    const secret = { message: 'See sk_test_123456789012.' };
    assert.equal(failureOf(failed, secret)?.message, 'See [struck out].');
  });

  test('only an authorised payment has an amount to capture', () => {
    const capturableOf = (name: string, amount: unknown) => {
      const facts = readEvent(eventFixtureWith(name, 'amount_capturable', amount));
      assert(facts.subject === 'payment');
      return facts.facts[0]?.amountCapturable;
    };
    assert.equal(capturableOf('payment_intent.amount_capturable_updated', 1500), 1500);
    assert.equal(capturableOf('payment_intent.canceled', 1500), 0);
    for (const odd of [undefined, null, -1, '1500'])
      assert.equal(capturableOf('payment_intent.amount_capturable_updated', odd), 0);
  });

  test('an expanded customer maps to its id', () => {
    const facts = readEvent(eventFixtureWith('payment_intent.succeeded', 'customer', { id: 'cus_2' }));
    assert(facts.subject === 'payment');
    assert.equal(facts.facts[0]?.processorCustomerId, 'cus_2');
  });

  for (const metadata of [{}, { till_id: 'not-a-uuid' }, { till_id: '' }, null]) {
    test(`metadata ${JSON.stringify(metadata)} holds no Till id`, () => {
      const facts = readEvent(eventFixtureWith('payment_intent.succeeded', 'metadata', metadata));
      assert(facts.subject === 'payment');
      assert.equal(facts.facts[0]?.localId, null);
    });
  }

  test('a value that no row can hold is refused by its field name, before the database fails on every retry', () => {
    unmappable('payment_intent.succeeded', 'currency', 'euro', /currency is "euro", not a currency/);
    unmappable('payment_intent.succeeded', 'amount', -1, /amount is -1, not an amount of at least 0/);
    unmappable('payment_intent.succeeded', 'amount_received', -1, /amount_received is -1/);
    unmappable('refund.created', 'amount', 0, /amount is 0, not an amount of at least 1/);
    unmappable('price.updated', 'unit_amount', -1, /unit_amount is -1/);
    unmappable('invoice.paid.newer', 'currency', 'e', /currency is "e"/);
    unmappable('customer.updated', 'email', 'a\ud800@example.com', /email contains an unpaired surrogate/);
  });

  test('an unknown status is refused by its name', () => {
    unmappable(
      'payment_intent.succeeded',
      'status',
      'half_paid',
      /payment_intent\.status is "half_paid", not one of/,
    );
    unmappable('payment_intent.succeeded', 'status', 'constructor', /status is "constructor"/);
  });

  test('a required field that is missing or invalid is refused by its name', () => {
    unmappable('payment_intent.succeeded', 'customer', undefined, /payment_intent\.customer is missing/);
    unmappable('payment_intent.succeeded', 'amount', undefined, /payment_intent\.amount is missing/);
    unmappable(
      'payment_intent.succeeded',
      'amount',
      12.5,
      /payment_intent\.amount is 12\.5, not a whole number/,
    );
    unmappable('payment_intent.succeeded', 'amount', '12', /payment_intent\.amount is "12"/);
    unmappable('payment_intent.succeeded', 'amount_received', undefined, /amount_received is missing/);
    unmappable('refund.created', 'payment_intent', undefined, /refund\.payment_intent is missing/);
    unmappable('payment_intent.succeeded', 'metadata', undefined, /payment_intent\.metadata is missing/);
    unmappable('payment_intent.succeeded', 'currency', 'e\0r', /payment_intent\.currency contains a NUL/);
    unmappable('payment_intent.succeeded', 'object', 'charge', /payment_intent is a charge/);
  });

  test('a decorative field that is missing or invalid is left out', () => {
    for (const [name, field] of [
      ['payment_intent.canceled', 'canceled_at'],
      ['payment_intent.requires_action', 'amount_received'],
      ['payment_intent.requires_action', 'client_secret'],
      ['product.updated', 'updated'],
      ['invoice.paid.newer', 'status_transitions'],
    ] as const) {
      for (const value of [undefined, null, 'odd', {}])
        assert.deepEqual(readEvent(eventFixtureWith(name, field, value)), read(name), `${name} ${field}`);
    }
  });

  test('an object without a creation time gets the time of the event', () => {
    for (const created of [undefined, null, 'odd', 1e15]) {
      for (const name of ['payment_intent.succeeded', 'refund.created', 'customer.subscription.paused']) {
        const payload = eventFixtureWith(name, 'created', created);
        assert.match(JSON.stringify(readEvent(payload)), /"createdAt":"2026-01-01T00:01:00.000Z"/);
      }
    }
  });

  test('unknown fields change nothing', () => {
    const strange = eventFixtureWith('payment_intent.succeeded', 'from_the_future', {
      deep: [1, { er: true }],
    });
    assert.deepEqual(readEvent(strange), read('payment_intent.succeeded'));
  });
});

describe('charge events', () => {
  const charge = {
    processorChargeId: 'ch_1',
    processorPaymentIntentId: 'pi_1',
    localId: '0199d3a2-0000-7000-8000-00000000000c',
    paymentMethod: { id: 'pm_1', type: 'card', brand: 'visa', last4: '4242', expMonth: 12, expYear: 2034 },
    captureBefore: null,
    isAuthorisationOver: true,
    createdAt: new Date('2026-01-01T00:00:50Z'),
    asOf: asOfEvent(eventTime),
  };
  const captureBefore = new Date('2026-01-08T00:00:50Z');

  for (const [name, change] of [
    ['charge.succeeded', {}],
    [
      'charge.failed',
      { isAuthorisationOver: false, paymentMethod: { ...charge.paymentMethod, last4: '0002' } },
    ],
    ['charge.captured', { captureBefore }],
    ['charge.expired', { captureBefore }],
  ] as const) {
    test(`${name} maps to how the payment was paid`, () => {
      assert.deepEqual(read(name), { subject: 'charge', facts: [{ ...charge, ...change }] });
    });
  }

  test('a payment method that is not a card has neither brand nor expiry', () => {
    const details = { type: 'sepa_debit', sepa_debit: { last4: '3000', country: 'DE' } };
    const facts = readEvent(eventFixtureWith('charge.succeeded', 'payment_method_details', details));
    assert(facts.subject === 'charge');
    assert.deepEqual(facts.facts[0]?.paymentMethod, {
      ...{ id: 'pm_1', type: 'sepa_debit', brand: null, last4: '3000', expMonth: null, expYear: null },
    });
  });

  test('details that are missing or invalid leave the payment method unknown', () => {
    for (const details of [null, undefined, 'odd', {}, { type: 7 }]) {
      const facts = readEvent(eventFixtureWith('charge.succeeded', 'payment_method_details', details));
      assert(facts.subject === 'charge');
      assert.equal(facts.facts[0]?.paymentMethod, null);
    }
  });

  test('a charge without a payment intent is not about a payment', () => {
    const facts = readEvent(eventFixtureWith('charge.succeeded', 'payment_intent', null));
    assert.deepEqual(facts, { subject: 'charge', facts: [] });
  });
});

describe('refund events', () => {
  const refund = {
    processorRefundId: 're_1',
    localId: '0199d3a2-0000-7000-8000-00000000000e',
    processorPaymentIntentId: 'pi_1',
    amount: 500,
    currency: 'eur',
    status: 'succeeded',
    reason: 'requested_by_customer',
    createdAt: new Date('2026-01-01T00:00:50Z'),
    asOf: asOfEvent(eventTime),
  };

  test('a refund maps to its amount and reason', () => {
    assert.deepEqual(read('refund.created'), {
      subject: 'refund',
      facts: [{ ...refund, status: 'pending' }],
    });
    assert.deepEqual(read('refund.failed'), { subject: 'refund', facts: [{ ...refund, status: 'failed' }] });
  });

  test('a missing or unknown reason maps to null', () => {
    for (const reason of [undefined, null, 7, '', 'because']) {
      const facts = readEvent(eventFixtureWith('refund.created', 'reason', reason));
      assert.deepEqual(facts, { subject: 'refund', facts: [{ ...refund, status: 'pending', reason: null }] });
    }
  });

  test('a reason that only the processor can give maps to null', () => {
    assert.deepEqual(read('charge.refund.updated'), {
      subject: 'refund',
      facts: [{ ...refund, localId: null, reason: null }],
    });
  });

  test('the older charge shape lists its refunds, and for the newer one they must be fetched', () => {
    assert.deepEqual(read('charge.refunded.older'), { subject: 'refund', facts: [refund] });
    assert.deepEqual(read('charge.refunded.newer'), {
      subject: 'refundedPayment',
      facts: [{ processorPaymentIntentId: 'pi_1' }],
    });
    const unrelated = readEvent(eventFixtureWith('charge.refunded.newer', 'payment_intent', null));
    assert.deepEqual(unrelated, { subject: 'refundedPayment', facts: [] });
  });

  test('an incomplete list of refunds must be fetched too', () => {
    const more = { object: 'list', data: [], has_more: true };
    const facts = readEvent(eventFixtureWith('charge.refunded.older', 'refunds', more));
    assert.deepEqual(facts, { subject: 'refundedPayment', facts: [{ processorPaymentIntentId: 'pi_1' }] });
  });

  test('a refund with an unknown status is refused', () => {
    unmappable('refund.created', 'status', null, /refund\.status is null/);
    unmappable('refund.created', 'status', 'lost_in_the_mail', /refund\.status is "lost_in_the_mail"/);
  });
});

describe('customer and plan events', () => {
  const customer = {
    processorCustomerId: 'cus_1',
    localId: '0199d3a2-0000-7000-8000-00000000000a',
    email: 'ada@example.com',
    name: 'Ada',
    phone: null,
    externalId: null,
    metadata: {},
    deleted: false,
    createdAt: new Date('2025-12-31T23:50:00Z'),
    asOf: asOfEvent(eventTime),
  };

  test('a customer is mapped; a deleted one, marked only by the event type, without personal data', () => {
    assert.deepEqual(read('customer.updated'), { subject: 'customer', facts: [customer] });
    assert.deepEqual(read('customer.deleted'), {
      subject: 'customer',
      facts: [{ ...customer, email: null, name: null, phone: null, deleted: true }],
    });
  });

  test('an empty or missing name, phone or address maps to null; another type is refused', () => {
    for (const field of ['name', 'phone', 'email'] as const) {
      unmappable('customer.updated', field, 7, new RegExp(`customer\\.${field} is hidden`));
      for (const value of ['', undefined, null]) {
        const facts = readEvent(eventFixtureWith('customer.updated', field, value));
        assert.deepEqual(facts, { subject: 'customer', facts: [{ ...customer, [field]: null }] });
      }
    }
  });

  test('a product is mapped, and a deleted one is not active', () => {
    const product = {
      processorProductId: 'prod_1',
      localId: '0199d3a2-0000-7000-8000-00000000000b',
      name: 'Gold',
      metadata: {},
      features: {},
      groupName: null,
      active: true,
      createdAt: new Date('2025-12-31T23:50:00Z'),
      asOf: asOfEvent(eventTime),
    };
    assert.deepEqual(read('product.updated'), { subject: 'product', facts: [product] });
    assert.deepEqual(read('product.deleted'), {
      subject: 'product',
      facts: [{ ...product, metadata: null, active: false, deleted: true }],
    });
  });

  test('a product without a readable name leaves the name as it is', () => {
    for (const name of [undefined, null, 7, '']) {
      const facts = readEvent(eventFixtureWith('product.updated', 'name', name));
      assert(facts.subject === 'product');
      assert.equal(facts.facts[0]?.name, null);
    }
  });

  test('a price is mapped, and a deleted one is not active', () => {
    const price = {
      processorPriceId: 'price_1',
      processorProductId: 'prod_1',
      localId: '0199d3a2-0000-7000-8000-00000000000b',
      amount: 900,
      currency: 'eur',
      interval: 'month',
      intervalCount: 1,
      addOn: false,
      repeatable: true,
      active: false,
      createdAt: new Date('2025-12-31T23:50:00Z'),
      asOf: asOfEvent(eventTime),
    };
    assert.deepEqual(read('price.updated'), { subject: 'price', facts: [price] });
    assert.deepEqual(read('price.deleted'), { subject: 'price', facts: [{ ...price, deleted: true }] });
  });

  for (const [what, recurring] of [
    ['paid once', null],
    ['that does not say how it is paid', undefined],
    ['paid every four years', { interval: 'day', interval_count: 1_461 }],
    ['paid every zero months', { interval: 'month', interval_count: 0 }],
    ['paid every decade', { interval: 'decade', interval_count: 1 }],
  ] as const) {
    test(`a price ${what} has no interval that Till supports`, () => {
      const facts = readEvent(eventFixtureWith('price.updated', 'recurring', recurring));
      assert(facts.subject === 'price');
      assert.equal(facts.facts[0]?.interval, null);
    });
  }
});

describe('subscription events', () => {
  const subscription = {
    processorSubscriptionId: 'sub_1',
    localId: '0199d3a2-0000-7000-8000-00000000000d',
    processorCustomerId: 'cus_1',
    items: [
      {
        processorItemId: 'si_1',
        processorPriceId: 'price_1',
        planLocalId: '0199d3a2-0000-7000-8000-00000000000b',
        nickname: null,
        quantity: 1,
        createdAt: new Date('2026-01-01T00:00:00Z'),
        currentPeriodStart: new Date('2026-01-01T00:00:00Z'),
        currentPeriodEnd: new Date('2026-02-01T00:00:00Z'),
      },
    ],
    mainMark: null,
    status: 'active',
    ...plainSubscription,
    processorLatestInvoiceId: 'in_1',
    metadata: {},
    createdAt: new Date('2026-01-01T00:00:00Z'),
    asOf: asOfEvent(eventTime),
  };

  test('the period is read from the items in the newer shape and from the subscription in the older one', () => {
    assert.deepEqual(read('customer.subscription.updated.newer'), {
      subject: 'subscription',
      facts: [subscription],
    });
    assert.deepEqual(read('customer.subscription.updated.older'), {
      subject: 'subscription',
      facts: [subscription],
    });
  });

  test('paused maps to unpaid, and a trial has an end', () => {
    assert.deepEqual(read('customer.subscription.paused'), {
      subject: 'subscription',
      facts: [{ ...subscription, status: 'unpaid', trialEnd: new Date('2026-01-01T00:00:00Z') }],
    });
  });

  test('a deleted subscription is canceled', () => {
    assert.deepEqual(read('customer.subscription.deleted'), {
      subject: 'subscription',
      facts: [{ ...subscription, status: 'canceled', canceledAt: eventTime, endedAt: eventTime }],
    });
  });

  test('a cancellation to come, a payment method, a quantity and the latest invoice are read', () => {
    const event = JSON.parse(eventFixture('customer.subscription.updated.newer'));
    const { object } = event.data;
    const [item] = object.items.data;
    const changed = {
      ...object,
      ...{ cancel_at_period_end: true, cancel_at: 1_769_904_000, canceled_at: 1_767_225_660 },
      ...{ default_payment_method: { id: 'pm_1', object: 'payment_method' }, latest_invoice: 'in_2' },
      items: { ...object.items, data: [{ ...item, quantity: 7 }] },
    };
    const facts = readEvent(JSON.stringify({ ...event, data: { object: changed } }));
    assert(facts.subject === 'subscription');
    assert.deepEqual(facts.facts[0], {
      ...subscription,
      items: [{ ...subscription.items[0], quantity: 7 }],
      ...{ cancelAtPeriodEnd: true, cancelAt: new Date('2026-02-01T00:00:00Z'), canceledAt: eventTime },
      ...{ defaultPaymentMethodId: 'pm_1', processorLatestInvoiceId: 'in_2' },
    });
  });

  test('events about its schedule, its discount or a lost payment method name their objects', () => {
    for (const [type, object, facts] of [
      ['subscription_schedule.updated', { subscription: 'sub_1' }, [{ processorSubscriptionId: 'sub_1' }]],
      [
        'subscription_schedule.released',
        { subscription: null, released_subscription: 'sub_1' },
        [{ processorSubscriptionId: 'sub_1' }],
      ],
      ['customer.discount.deleted', { subscription: 'sub_1' }, [{ processorSubscriptionId: 'sub_1' }]],
      ['customer.discount.created', { subscription: null }, []],
    ] as const) {
      const [kind] = type.split('.').slice(type.startsWith('customer') ? 1 : 0);
      const event = { ...JSON.parse(eventFixture('customer.updated')), type };
      const { payload } = mapEventEnvelope({
        ...event,
        data: { object: { id: 'x_1', object: kind, ...object } },
      });
      assert.deepEqual(readEvent(payload), { subject: 'changedSubscription', facts });
    }
    const expired = { ...JSON.parse(eventFixture('customer.subscription.updated.newer')) };
    const { payload: expiry } = mapEventEnvelope({
      ...expired,
      type: 'customer.subscription.pending_update_expired',
    });
    assert.deepEqual(readEvent(expiry), {
      subject: 'expiredChange',
      facts: [{ processorSubscriptionId: expired.data.object.id }],
    });
    const detached = {
      ...JSON.parse(eventFixture('customer.updated')),
      type: 'payment_method.detached',
      data: {
        object: { id: 'pm_1', object: 'payment_method', customer: null, card: { last4: '4242' } },
        previous_attributes: { customer: 'cus_1' },
      },
    };
    const { payload } = mapEventEnvelope(detached);
    assert.doesNotMatch(payload, /4242/);
    assert.deepEqual(readEvent(payload), {
      subject: 'detachedMethod',
      facts: [{ processorCustomerId: 'cus_1', paymentMethodId: 'pm_1' }],
    });
  });

  test('a period that is in neither place is an error, not a null', () => {
    const name = 'customer.subscription.updated.older';
    unmappable(name, 'current_period_end', undefined, /items\.data\[0\]\.current_period_start is missing/);
    unmappable(name, 'items', { data: [] }, /subscription\.items\.data\[0\]/);
    unmappable(name, 'customer', undefined, /subscription\.customer is missing/);
    unmappable(name, 'status', 'dormant', /subscription\.status is "dormant"/);
  });

  test('the end of a trial is required while the trial runs, and optional at other times', () => {
    const name = 'customer.subscription.updated.newer';
    const event = JSON.parse(eventFixture(name));
    for (const trial_end of [undefined, null, 'soon']) {
      const object = { ...event.data.object, trial_end };
      assert.deepEqual(readEvent(JSON.stringify({ ...event, data: { object } })), read(name));
      const trialing = { ...event, data: { object: { ...object, status: 'trialing' } } };
      assert.throws(() => readEvent(JSON.stringify(trialing)), /subscription\.trial_end is/);
    }
  });

  const itemOf = (price: string, created: unknown, start: number) => ({
    ...{ id: `si_${price}`, object: 'subscription_item', created, price: { id: price, object: 'price' } },
    ...{ current_period_start: start, current_period_end: start + 60 },
  });
  const itemsIn = (name: string, data: readonly object[]) => {
    const facts = readEvent(eventFixtureWith(name, 'items', { object: 'list', data, has_more: true }));
    assert(facts.subject === 'subscription');
    return facts.facts[0]?.items.map(({ processorPriceId, currentPeriodStart }) => [
      processorPriceId,
      currentPeriodStart.getTime() / 1_000,
    ]);
  };

  test('all items are mapped, oldest first, each with its own period', () => {
    const items = [itemOf('addon', 30, 3), itemOf('first', 10, 1), itemOf('second', 20, 2)];
    assert.deepEqual(itemsIn('customer.subscription.updated.newer', items), [
      ['first', 1],
      ['second', 2],
      ['addon', 3],
    ]);
  });

  test('items of the same age, or of unknown age, are in the order of their ids', () => {
    for (const created of [10, undefined, 'long ago']) {
      const items = [itemOf('b', created, 1), itemOf('a', created, 2)];
      assert.deepEqual(itemsIn('customer.subscription.updated.newer', items), [
        ['a', 2],
        ['b', 1],
      ]);
    }
  });

  test('a metered item has no quantity, and its price may have a name', () => {
    const metered = { ...itemOf('traffic', 10, 1), price: { id: 'traffic', nickname: 'Traffic' } };
    const name = 'customer.subscription.updated.newer';
    const facts = readEvent(eventFixtureWith(name, 'items', { object: 'list', data: [metered] }));
    assert(facts.subject === 'subscription');
    const [item] = facts.facts[0]?.items ?? [];
    assert.deepEqual([item?.quantity, item?.nickname], [null, 'Traffic']);
  });

  test('an event says whether it shows all items', () => {
    const name = 'customer.subscription.updated.newer';
    for (const [has_more, hasMoreItems] of [
      [true, true],
      [false, undefined],
      [undefined, undefined],
    ]) {
      const items = { object: 'list', data: [itemOf('a', 10, 1)], has_more };
      const facts = readEvent(eventFixtureWith(name, 'items', items));
      assert(facts.subject === 'subscription');
      assert.equal(facts.facts[0]?.hasMoreItems, hasMoreItems);
    }
  });

  test('the mark of the main plan is read from the metadata, and not shown with it', () => {
    const name = 'customer.subscription.updated.newer';
    const facts = readEvent(eventFixtureWith(name, 'metadata', { till_main: 'si_2', a: '1' }));
    assert(facts.subject === 'subscription');
    const [one] = facts.facts;
    assert.deepEqual([one?.mainMark, one?.metadata], ['si_2', { a: '1' }]);
  });

  test('in the older shape every item has the period of the subscription', () => {
    const items = [itemOf('a', 10, 1), itemOf('b', 20, 2)];
    const start = Date.UTC(2026, 0, 1) / 1_000;
    assert.deepEqual(itemsIn('customer.subscription.updated.older', items), [
      ['a', start],
      ['b', start],
    ]);
  });
});

describe('invoice events', () => {
  const invoice = {
    processorInvoiceId: 'in_1',
    processorCustomerId: 'cus_1',
    processorSubscriptionId: 'sub_1',
    subscriptionLocalId: null,
    amountDue: 900,
    amountPaid: 900,
    currency: 'eur',
    status: 'paid',
    hostedInvoiceUrl: 'https://invoice.example.com/i/1',
    amountRemaining: 0,
    createdAt: new Date('2026-01-01T00:00:00Z'),
    asOf: asOfEvent(eventTime),
  };

  test('the subscription is found in the newer and in the older shape', () => {
    assert.deepEqual(read('invoice.paid.newer'), { subject: 'invoice', facts: [invoice] });
    assert.deepEqual(read('invoice.paid.older'), { subject: 'invoice', facts: [invoice] });
  });

  test('the Till id of the subscription is found in the metadata that both shapes copy', () => {
    const subscriptionLocalId = '0199d3a2-0000-7000-8000-00000000000d';
    const details = { metadata: { till_id: subscriptionLocalId }, subscription: 'sub_1' };
    const newer = eventFixtureWith('invoice.paid.newer', 'parent', { subscription_details: details });
    const older = eventFixtureWith('invoice.paid.older', 'subscription_details', details);
    for (const event of [newer, older])
      assert.deepEqual(readEvent(event), {
        subject: 'invoice',
        facts: [{ ...invoice, subscriptionLocalId }],
      });
  });

  test('an invoice without customer, subscription or page keeps the nulls that the processor sent', () => {
    assert.deepEqual(read('invoice.payment_failed'), {
      subject: 'invoice',
      facts: [
        {
          ...invoice,
          processorCustomerId: null,
          processorSubscriptionId: null,
          amountPaid: 0,
          status: 'open',
          hostedInvoiceUrl: null,
        },
      ],
    });
  });

  test('a subscription in neither place is an error, not a null', () => {
    unmappable('invoice.paid.newer', 'parent', undefined, /invoice\.parent is missing/);
    unmappable('invoice.paid.newer', 'status', null, /invoice\.status is null/);
  });

  test('a deleted invoice is void, even if only its status shows it, and in events of other types', () => {
    const events = [
      eventFixture('invoice.deleted'),
      eventFixture('invoice.deleted.older'),
      eventFixtureWith('invoice.paid.older', 'status', 'deleted'),
    ];
    for (const event of events) {
      const facts = readEvent(event);
      assert(facts.subject === 'invoice');
      assert.equal(facts.facts[0]?.status, 'void');
    }
  });

  test('the details of an invoice are mapped', () => {
    const event = JSON.parse(eventFixture('invoice.paid.newer'));
    const details = {
      ...{ number: 'A-0001', invoice_pdf: 'https://invoice.example.com/i/1/pdf', attempt_count: 2 },
      ...{ next_payment_attempt: null, period_start: 1767225600, period_end: 1769904000 },
    };
    const object = { ...event.data.object, ...details };
    assert.deepEqual(readEvent(JSON.stringify({ ...event, data: { object } })), {
      subject: 'invoice',
      facts: [
        {
          ...{ ...invoice, number: 'A-0001', invoicePdfUrl: details.invoice_pdf, attemptCount: 2 },
          nextPaymentAttemptAt: null,
          periodStart: new Date('2026-01-01T00:00:00Z'),
          periodEnd: new Date('2026-02-01T00:00:00Z'),
        },
      ],
    });
  });

  test('an unreadable detail is unknown, and does not lose the event', () => {
    for (const field of ['number', 'invoice_pdf', 'attempt_count', 'period_start', 'period_end']) {
      for (const value of [null, -1, '', 'x'.repeat(3), {}, 2 ** 40, true].filter(
        (one) => !(typeof one === 'string' && one !== '' && ['number', 'invoice_pdf'].includes(field)),
      )) {
        const facts = readEvent(eventFixtureWith('invoice.paid.newer', field, value));
        assert.deepEqual(facts, { subject: 'invoice', facts: [invoice] }, `${field} ${value}`);
      }
    }
  });

  test('an unreadable page URL maps to null', () => {
    for (const url of [undefined, null, 7, '']) {
      const facts = readEvent(eventFixtureWith('invoice.paid.newer', 'hosted_invoice_url', url));
      assert.deepEqual(facts, { subject: 'invoice', facts: [{ ...invoice, hostedInvoiceUrl: null }] });
    }
  });
});

describe('invoice payment events', () => {
  test('name the payment intent and its invoice', () => {
    const facts = [{ processorInvoiceId: 'in_1', processorPaymentIntentId: 'pi_1' }];
    assert.deepEqual(read('invoice_payment.paid'), { subject: 'invoicePayment', facts });
    const payment = { type: 'payment_intent', payment_intent: { id: 'pi_1', object: 'payment_intent' } };
    const expanded = readEvent(eventFixtureWith('invoice_payment.paid', 'payment', payment));
    assert.deepEqual(expanded, { subject: 'invoicePayment', facts });
  });

  test('have no facts if the invoice was paid in another way', () => {
    const payment = { type: 'charge', charge: 'ch_1' };
    const facts = readEvent(eventFixtureWith('invoice_payment.paid', 'payment', payment));
    assert.deepEqual(facts, { subject: 'invoicePayment', facts: [] });
  });

  test('without an invoice or a payment are errors', () => {
    unmappable('invoice_payment.paid', 'invoice', null, /invoice/);
    unmappable('invoice_payment.paid', 'payment', undefined, /payment is missing/);
    unmappable('invoice_payment.paid', 'payment', { type: 'payment_intent' }, /payment_intent is missing/);
  });

  test('only older payment intents name their invoice', () => {
    const invoiceOf = (value: unknown) => {
      const facts = readEvent(eventFixtureWith('payment_intent.succeeded', 'invoice', value));
      assert(facts.subject === 'payment' && facts.facts[0] !== undefined);
      return facts.facts[0].processorInvoiceId;
    };
    assert.equal(invoiceOf('in_1'), 'in_1');
    assert.equal(invoiceOf(null), null);
    assert.equal(invoiceOf(undefined), undefined);
  });
});

describe('events that change no mirror', () => {
  test('an unknown type is ignored', () => {
    assert.deepEqual(read('balance.available'), { subject: 'none', reason: 'unknown_type' });
    assert.deepEqual(read('invoice.upcoming'), { subject: 'none', reason: 'unknown_type' });
  });

  test('an object without an id is ignored', () => {
    const preview = eventFixtureWith('invoice.paid.newer', 'id', undefined);
    assert.deepEqual(readEvent(preview), { subject: 'none', reason: 'object_without_id' });
  });

  test('every event type that changes a mirror is read', () => {
    for (const type of eventTypes) {
      const event = { ...JSON.parse(eventFixture('balance.available')), type };
      assert.deepEqual(readEvent(JSON.stringify(event)), { subject: 'none', reason: 'object_without_id' });
    }
  });

  test('a stored payload that is not an event is refused with a reason', () => {
    for (const payload of ['', '[]', '"text"', '{}', '{"object":"event","id":"evt_1"}']) {
      assert.throws(() => readEvent(payload), UnmappableError);
    }
  });
});

describe('the envelope of an event', () => {
  test('the envelope has what the inbox needs', () => {
    const text = eventFixture('invoice.paid.older');
    assert.deepEqual(mapEventEnvelope(JSON.parse(text)), {
      id: 'evt_invoice_paid_older',
      type: 'invoice.paid',
      createdAt: eventTime,
      livemode: false,
      apiVersion: '2024-06-20',
      objectId: 'in_1',
      customerKey: null,
      payload: JSON.stringify(JSON.parse(text)),
      erasedPayload: null,
    });
  });

  test('its payload contains no secret and maps to the same facts', () => {
    const text = eventFixture('payment_intent.requires_action');
    const { payload } = mapEventEnvelope(JSON.parse(text));
    assert.doesNotMatch(payload, /hush/);
    const { subject, facts } = Object(readEvent(text));
    assert.deepEqual(readEvent(payload), { subject, facts: [{ ...facts[0], metadata: {} }] });
  });

  test('it names the customer of a payment or subscription, and of nothing else', () => {
    const ownerOf = (name: string, customer: unknown) =>
      mapEventEnvelope(JSON.parse(eventFixtureWith(name, 'customer', customer))).customerKey;
    for (const name of ['payment_intent.succeeded', 'customer.subscription.updated.older']) {
      assert.equal(ownerOf(name, 'cus_2'), 'cus_2');
      assert.equal(ownerOf(name, { id: 'cus_3', object: 'customer' }), 'cus_3');
      for (const odd of [null, undefined, 7, '', 'c'.repeat(300), {}]) assert.equal(ownerOf(name, odd), null);
    }
    assert.equal(ownerOf('charge.succeeded', 'cus_2'), null);
  });

  test('its payload contains no secret that a duplicate JSON key would hide', () => {
    const text = eventFixture('invoice.paid.older').replace(
      '"in_1"',
      '"in_1", "client_secret": "hush", "client_secret": null',
    );
    assert.doesNotMatch(mapEventEnvelope(JSON.parse(text)).payload, /hush/);
  });

  test('an object without an id has none in the envelope', () => {
    assert.equal(mapEventEnvelope(JSON.parse(eventFixture('balance.available'))).objectId, null);
  });
});
