import assert from 'node:assert/strict';
import { after, describe, test } from 'node:test';
import type Stripe from 'stripe';
import { readJson } from '../support/client.ts';
import { createPlan, createSubscription, saveCard } from '../support/objects.ts';
import { readProblem } from '../support/problem.ts';
import { startTill } from '../support/till.ts';

const till = await startTill({ in: 'process', for: { after }, mustNotLogErrors: true });
const { call, stripe } = till;

const daySeconds = 86_400;

/** A subscription in a trial with a card of its own, and another card. */
async function subscribed() {
  const plan = await createPlan(till, { interval: 'day' });
  const { subscription } = await createSubscription(till, { planId: plan.id, trialPeriodDays: 1 });
  const customer = { id: subscription.customerId };
  const { paymentMethodId: card } = await saveCard(till, customer);
  const { paymentMethodId: newCard } = await saveCard(till, customer, 'pm_card_mastercard');
  await setDefault(customer, card);
  const other = await createPlan(till, { interval: 'day', amount: 4_000 });
  return { subscription, customer, card, newCard, other };
}

function setDefault({ id }: { readonly id: string }, paymentMethodId: string): Promise<Response> {
  return call('PUT', `/customers/${id}/default-payment-method`, { paymentMethodId });
}

/** A change that is planned in the dashboard, whose phases may name a card. */
async function schedule(
  subscription: string,
  price: string,
  ...cards: readonly [string | undefined, string | undefined]
): Promise<Stripe.SubscriptionSchedule> {
  const created = await stripe.subscriptionSchedules.create({ from_subscription: subscription });
  const [phase] = created.phases;
  const cardOf = (card: string | undefined) => (card === undefined ? {} : { default_payment_method: card });
  return stripe.subscriptionSchedules.update(created.id, {
    end_behavior: 'release',
    phases: [
      {
        ...{ start_date: Number(phase?.start_date), end_date: Number(phase?.end_date) },
        ...{ trial_end: Number(phase?.trial_end), ...cardOf(cards[0]) },
        items: [{ price: String(phase?.items[0]?.price), quantity: 1 }],
      },
      {
        ...{ items: [{ price, quantity: 2 }], proration_behavior: 'none', ...cardOf(cards[1]) },
        metadata: { planned: 'yes' },
      },
    ],
  });
}

describe('a new default payment method', () => {
  for (const names of ['no card', 'the old card'])
    test(`stays after a planned change whose phases name ${names}`, async () => {
      const { subscription, customer, card, newCard, other } = await subscribed();
      const id = subscription.processorSubscriptionId;
      const named = names === 'no card' ? undefined : card;
      const before = await schedule(id, other.processorPriceId, named, named);
      await readJson(await setDefault(customer, newCard), 200);
      const { phases } = await stripe.subscriptionSchedules.retrieve(before.id);
      assert.deepEqual(
        phases.map(({ items, start_date, end_date, trial_end, metadata }) => ({
          ...{ items, start_date, end_date, trial_end, metadata },
        })),
        before.phases.map(({ items, start_date, end_date, trial_end, metadata }) => ({
          ...{ items, start_date, end_date, trial_end, metadata },
        })),
      );
      const updates = { operation: 'subscription_schedules.update' };
      const created = await till.count('processor_request_duration_seconds', updates);
      await readJson(await setDefault(customer, newCard), 200);
      assert.equal(await till.count('processor_request_duration_seconds', updates), created);
      await till.control('clock', { advanceSeconds: daySeconds + 60 });
      const changed = await stripe.subscriptions.retrieve(id);
      assert.equal(changed.default_payment_method, newCard);
      assert.deepEqual(
        [changed.items.data[0]?.price.id, changed.items.data[0]?.quantity, changed.metadata['planned']],
        [other.processorPriceId, 2, 'yes'],
      );
    });

  test('can replace the card of a subscription whose schedule has ended', async () => {
    const { subscription, customer, newCard, other } = await subscribed();
    const id = subscription.processorSubscriptionId;
    const { id: scheduleId } = await schedule(id, other.processorPriceId, undefined, undefined);
    await stripe.subscriptionSchedules.cancel(scheduleId);
    assert.equal((await stripe.subscriptions.retrieve(id)).status, 'canceled');
    await readJson(await setDefault(customer, newCard), 200);
  });
});

test('409: a card that only a planned change will charge cannot be removed', async () => {
  const { subscription, customer, newCard, card, other } = await subscribed();
  const id = subscription.processorSubscriptionId;
  const { id: scheduleId } = await schedule(id, other.processorPriceId, card, newCard);
  const remove = () => call('DELETE', `/customers/${customer.id}/payment-methods/${newCard}`);
  await readProblem(await remove(), 409, 'payment_method_in_use');
  await stripe.subscriptionSchedules.release(scheduleId);
  assert.equal((await remove()).status, 204);
});
