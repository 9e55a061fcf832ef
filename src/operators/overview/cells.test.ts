import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { Queryable } from '#core/platform/postgres.ts';
import { TimeZone } from '#core/platform/time-zone.ts';
import type { Contribution, CountedKind } from '#engine/overview/counted-kind.ts';
import type { PaymentView } from '#features/payments/payment-fields.ts';
import { countedPayments } from '#features/payments/payment-overview.ts';
import { countedRefunds } from '#features/payments/refund-overview.ts';
import type { SubscriptionView } from '#features/subscriptions/subscription-fields.ts';
import { countedSubscriptions, type PricedPlan } from '#features/subscriptions/subscription-overview.ts';
import { CellSum, type CountedEvent, changeOf, completeChanges } from './cells.ts';

const none = async () => [];
const payments = countedPayments({ listAfter: none });
const refunds = countedRefunds({ listAfter: none });

/** No statement is run. */
const nowhere = {} as Queryable;
const utc = new TimeZone('UTC');

const payment: PaymentView = {
  id: '0199c1f1-02ab-7e31-b1c4-5d8e9f0a1b2c',
  processorPaymentIntentId: 'pi_1',
  customerId: '0199c1f0-6a3e-7c52-9d4b-2f6c1a7e8b90',
  amount: 5_000,
  currency: 'jpy',
  status: 'requires_payment_method',
  amountReceived: 0,
  amountRefunded: 0,
  amountCapturable: 0,
  captureBefore: null,
  description: null,
  metadata: {},
  failure: null,
  paymentMethod: null,
  invoiceId: null,
  subscriptionId: null,
  checkoutId: null,
  dispute: null,
  createdAt: '2026-11-15T23:59:59.999Z',
  updatedAt: '2026-11-16T09:30:00.000Z',
};
const paid = { ...payment, status: 'succeeded', amountReceived: 5_000 } as const;

const monthly: PricedPlan = { amount: 900, currency: 'eur', interval: 'month', intervalCount: 1 };
const subscriptions = countedSubscriptions({
  subscriptions: { listByCustomer: none },
  plans: {
    find: async (_db, ids) =>
      [
        { id: 'plan-1', ...monthly },
        { id: 'plan-2', ...monthly, amount: 50, interval: 'year' as const, currency: 'usd' },
      ].filter(({ id }) => ids.includes(id)),
  },
  invoices: { findPaidSubscriptions: none },
});
const kinds = new Map(
  [payments, refunds, subscriptions].map((kind): [string, CountedKind] => [kind.type, kind]),
);
const noAddOns: SubscriptionView['addOns'] = [];
const subscription = {
  planId: 'plan-1',
  quantity: 3,
  addOns: noAddOns,
  status: 'active',
  createdAt: '2026-11-15T09:30:00.000Z',
} as SubscriptionView;

function ofPayment(view: PaymentView, zone = utc): readonly string[] {
  return show(payments.contributionsOf(view, zone));
}

function ofSubscription(view: SubscriptionView, plan = monthly): readonly string[] {
  return show(subscriptions.contributionsOf({ view, plan, addOnPlans: [] }, utc));
}

function show(cells: readonly Contribution[]): readonly string[] {
  return cells.map(({ day, currency, metric, count, amount }) =>
    [day ?? 'now', currency, metric, count, amount].join(' '),
  );
}

describe('a payment', () => {
  const at = '2026-11-15 jpy';
  const failure = { code: 'card_declined', declineCode: null, message: null };
  const dispute = { status: 'needs_response', amount: 4_000, reason: null, evidenceDueBy: null };

  test('counts on the day on which it was created, in the time zone of the overview', () => {
    assert.deepEqual(ofPayment(payment), [`${at} payments 1 0`]);
    assert.deepEqual(ofPayment(payment, new TimeZone('Asia/Tokyo')), ['2026-11-16 jpy payments 1 0']);
  });

  test('counts what was received, in the smallest unit of its currency', () => {
    assert.deepEqual(ofPayment(paid), [`${at} payments 1 5000`, `${at} payments.succeeded 1 5000`]);
  });

  test('counts as failed while its last attempt failed', () => {
    assert.deepEqual(ofPayment({ ...payment, failure }), [
      `${at} payments 1 0`,
      `${at} payments.failed 1 5000`,
    ]);
  });

  test('counts as refunded with what was refunded, and no longer as succeeded if that is all', () => {
    assert.deepEqual(ofPayment({ ...paid, amountRefunded: 1 }), [
      ...ofPayment(paid),
      `${at} payments.refunded 1 1`,
    ]);
    assert.deepEqual(ofPayment({ ...paid, status: 'refunded', amountRefunded: 5_000 }), [
      `${at} payments 1 5000`,
      `${at} payments.refunded 1 5000`,
    ]);
  });

  test('counts as disputed with the amount in its own currency', () => {
    const disputed = (view: typeof dispute | { status: string; amount: null }) =>
      ofPayment({ ...paid, dispute: { ...dispute, ...view } }).slice(2);
    assert.deepEqual(disputed({ ...dispute, status: 'won' }), [`${at} payments.disputed 1 4000`]);
    assert.deepEqual(disputed({ status: 'won', amount: null }), [`${at} payments.disputed 1 0`]);
    for (const status of ['needs_response', 'under_review', 'lost'])
      assert.deepEqual(disputed({ ...dispute, status }), [
        `${at} payments.disputed 1 4000`,
        `${at} payments.withdrawn 1 4000`,
      ]);
    assert.equal(disputed({ ...dispute, status: 'warning_needs_response' }).length, 1);
  });
});

test('a refund counts on its own day, by its status, and a release does not count', () => {
  const view = {
    id: '0199c1f2-4c7d-7a90-a3b1-0e9f8d7c6b5a',
    processorRefundId: 're_1',
    paymentId: payment.id,
    amount: 70,
    currency: 'eur',
    reason: null,
    kind: 'refund' as const,
    createdAt: '2026-11-16T00:00:00.000Z',
    updatedAt: '2026-11-16T00:00:00.000Z',
  };
  for (const status of ['pending', 'requires_action', 'succeeded', 'failed', 'canceled'] as const)
    assert.deepEqual(show(refunds.contributionsOf({ ...view, status }, utc)), [
      `2026-11-16 eur refunds.${status} 1 70`,
    ]);
  const release = { ...view, kind: 'release', status: 'succeeded' } as const;
  assert.deepEqual(refunds.contributionsOf(release, utc), []);
});

describe('a subscription', () => {
  test('counts now, and charges the amount of its plan times its quantity', () => {
    assert.deepEqual(ofSubscription(subscription), [
      'now eur subscriptions.active 1 0',
      'now eur recurring.active.month.1 1 2700',
    ]);
    assert.deepEqual(
      ofSubscription(
        { ...subscription, status: 'past_due' },
        { ...monthly, interval: 'week', intervalCount: 2 },
      ),
      ['now eur subscriptions.past_due 1 0', 'now eur recurring.past_due.week.2 1 2700'],
    );
  });

  test('charges its add-ons too, each in its own interval, and is one subscription', () => {
    const view = {
      ...subscription,
      addOns: [
        { planId: 'plan-2', quantity: 2 },
        { planId: 'plan-3', quantity: 1 },
      ],
    };
    const yearly = { ...monthly, amount: 100, interval: 'year' } as const;
    const charged = subscriptions.contributionsOf(
      { view, plan: monthly, addOnPlans: [{ ...monthly, amount: 50 }, yearly] },
      utc,
    );
    assert.deepEqual(show(charged), [
      'now eur subscriptions.active 1 0',
      'now eur recurring.active.month.1 1 2700',
      'now eur recurring.active.month.1 1 100',
      'now eur recurring.active.year.1 1 100',
    ]);
  });

  test('charges nothing in a trial, or unpaid', () => {
    for (const status of ['trialing', 'unpaid'] as const)
      assert.deepEqual(ofSubscription({ ...subscription, status }), [`now eur subscriptions.${status} 1 0`]);
  });

  test('does not count before its start or after its end', () => {
    for (const status of ['incomplete', 'incomplete_expired', 'canceled'] as const)
      assert.deepEqual(ofSubscription({ ...subscription, status }), []);
  });

  test('of a large amount and quantity is exact', () => {
    const large = { ...subscription, quantity: 999_999 };
    assert.equal(
      ofSubscription(large, { ...monthly, amount: 999_999_999_999 })[1],
      'now eur recurring.active.month.1 1 999998999999000001',
    );
  });
});

describe('an event', () => {
  const eventOf = (type: string, data: object, previous: object): CountedEvent => ({
    createdAtMs: Date.parse('2026-12-24T12:00:00Z'),
    type,
    objectType: type.slice(0, type.indexOf('.')),
    data: JSON.stringify(data),
    previous: JSON.stringify(previous),
  });
  const sumOf = async (...events: readonly CountedEvent[]) => {
    const sum = new CellSum();
    const changes = events.map((event) => changeOf(event, kinds)).filter((change) => change !== undefined);
    for (const change of await completeChanges(nowhere, changes)) sum.addChange(change, utc);
    return sum
      .all()
      .map(({ day, currency, metric, count, amount }) => `${day} ${currency} ${metric} ${count} ${amount}`);
  };

  test('adds the difference from the earlier state of its object', async () => {
    const { status, amountReceived } = payment;
    const change = eventOf('payment.succeeded', paid, { status, amountReceived });
    assert.deepEqual(await sumOf(change), [
      '2026-11-15 jpy payments 0 5000',
      '2026-11-15 jpy payments.succeeded 1 5000',
    ]);
    assert.deepEqual(await sumOf(eventOf('payment.created', payment, {}), change), [
      '2026-11-15 jpy payments 1 5000',
      '2026-11-15 jpy payments.succeeded 1 5000',
    ]);
  });

  test('about other fields, or without old values, adds nothing', () => {
    for (const previous of [{}, { description: 'Other', updatedAt: '2026-11-15T09:30:00.000Z' }]) {
      const event = eventOf('payment.updated', paid, previous);
      assert.equal(changeOf(event, kinds), undefined);
    }
    assert.equal(changeOf(eventOf('plan.created', {}, {}), kinds), undefined);
  });

  test('of a subscription changes the numbers now, and those of the day of the event', async () => {
    const change = eventOf(
      'subscription.updated',
      { ...subscription, planId: 'plan-2' },
      { planId: 'plan-1' },
    );
    const expected = [
      'usd subscriptions.active 1 0',
      'usd recurring.active.year.1 1 150',
      'eur subscriptions.active -1 0',
      'eur recurring.active.month.1 -1 -2700',
    ];
    assert.deepEqual(
      await sumOf(change),
      expected.flatMap((cell) => [`infinity ${cell}`, `2026-12-24 ${cell}`]),
    );
  });

  test('of a subscription that gets add-ons adds what they charge', async () => {
    const addOns = [{ planId: 'plan-2', quantity: 4 }];
    assert.deepEqual(
      await sumOf(eventOf('subscription.updated', { ...subscription, addOns }, { addOns: [] })),
      ['infinity usd recurring.active.year.1 1 200', '2026-12-24 usd recurring.active.year.1 1 200'],
    );
  });

  test('cannot change a number without changing one of the counted fields', () => {
    const seen = new Set<string>();
    const watch = <View extends object>(view: View): View =>
      new Proxy(view, {
        get: (target, field) => {
          seen.add(String(field));
          return Reflect.get(target, field);
        },
      });
    const failure = { code: null, declineCode: null, message: null };
    payments.contributionsOf(watch({ ...paid, failure, amountRefunded: 1 }), utc);
    assert.deepEqual([...seen].sort(), [...payments.fields].sort());
    seen.clear();
    const watched = { view: watch(subscription), plan: monthly, addOnPlans: [] };
    subscriptions.contributionsOf(watched, utc);
    subscriptions.recurring?.monthlyAmountsOf(watched);
    assert.deepEqual([...seen, 'planId'].sort(), [...subscriptions.fields].sort());
  });
});
