import assert from 'node:assert/strict';
import { after, describe, test } from 'node:test';
import { useCard } from '../support/changes.ts';
import { createCheckout } from '../support/checkouts.ts';
import { readJson } from '../support/client.ts';
import { createCustomer, createPlan, type SubscriptionBody } from '../support/objects.ts';
import { changed } from '../support/subscribed.ts';
import { startTill } from '../support/till.ts';

const till = await startTill({ in: 'process', for: { after }, mustNotLogErrors: true });
const { call } = till;
const trialPeriodDays = 7;

type Id = { readonly id: string };

interface Buyer {
  /** Their trial of the first plan. */
  readonly subscription: SubscriptionBody;
  /** Whether they get a trial of a plan, which they then have had. */
  readonly getsTrial: (plan: Id) => Promise<boolean>;
}

async function createBuyer(first: Id): Promise<Buyer> {
  const { id: customerId } = await createCustomer(till);
  const orderOf = ({ id: planId }: Id) => ({ customerId, planId, trialPeriodDays, trialOnce: true });
  const subscribe = (plan: Id) =>
    till.post<{ subscription: SubscriptionBody }>('/subscriptions', orderOf(plan));
  const getsTrial = async (plan: Id) => {
    const { checkout } = await createCheckout(till, orderOf(plan));
    await readJson(await call('POST', `/checkouts/${checkout.id}/expire`), 200);
    const { subscription } = await subscribe(plan);
    await cancel(subscription);
    assert.equal(checkout.trialPeriodDays, subscription.trialEnd === null ? null : trialPeriodDays);
    return subscription.trialEnd !== null;
  };
  const { subscription } = await subscribe(first);
  assert.equal(subscription.status, 'trialing');
  return { subscription, getsTrial };
}

async function cancel({ id }: Id): Promise<void> {
  await readJson(await call('DELETE', `/subscriptions/${id}`), 200);
}

async function endTrial(subscription: SubscriptionBody): Promise<void> {
  await useCard(till, subscription, 'pm_card_visa');
  await till.stripe.subscriptions.update(subscription.processorSubscriptionId, { trial_end: 'now' });
  await till.settle();
}

describe('trialOnce after a change of the plan', () => {
  for (const groups of [[], ['trial-from', 'trial-to']])
    test(`in the trial, neither plan gives another one, ${groups.length === 0 ? 'without' : 'with'} groups`, async () => {
      const [first, second, third] = await Promise.all(
        [0, 1, 2].map((at) => createPlan(till, groups[at] === undefined ? {} : { group: groups[at] })),
      );
      assert(first && second && third);
      const { subscription, getsTrial } = await createBuyer(first);
      await changed(till, subscription, { planId: second.id });
      await cancel(subscription);
      assert.deepEqual([await getsTrial(first), await getsTrial(second)], [false, false]);
      assert.equal(await getsTrial(third), true);
    });

  test('in the trial and back, neither plan gives another one', async () => {
    const [first, second] = [await createPlan(till), await createPlan(till)];
    const { subscription, getsTrial } = await createBuyer(first);
    for (const { id: planId } of [second, first]) await changed(till, subscription, { planId });
    await cancel(subscription);
    assert.deepEqual([await getsTrial(first), await getsTrial(second)], [false, false]);
  });

  test('after the trial, only the new plan gives one, and once', async () => {
    const [first, second] = [await createPlan(till), await createPlan(till)];
    const { subscription, getsTrial } = await createBuyer(first);
    await endTrial(subscription);
    await changed(till, subscription, { planId: second.id });
    await cancel(subscription);
    assert.deepEqual([await getsTrial(first), await getsTrial(second)], [false, true]);
    assert.equal(await getsTrial(second), false);
  });
});
