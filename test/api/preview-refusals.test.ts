import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import fc from 'fast-check';
import { newestInvoice, type PreviewBody, useCard } from '../support/changes.ts';
import { readJson } from '../support/client.ts';
import { effort } from '../support/effort.ts';
import { createCustomer, createPlan, createSubscription, type SubscriptionBody } from '../support/objects.ts';
import { createActive, createPastDue, createUnpaid, endSubscriptions } from '../support/past-due.ts';
import { assertProperty } from '../support/seeds.ts';
import { changed, patch } from '../support/subscribed.ts';
import { startTill } from '../support/till.ts';

const till = await startTill({ in: 'process', for: { after }, mustNotLogErrors: true });
const { call, stripe, control } = till;

const group = 'tiers';
const plans = {
  same: await createPlan(till, { name: 'Same', amount: 900 }),
  cheaper: await createPlan(till, { name: 'Silver', amount: 100 }),
  dearer: await createPlan(till, { name: 'Platinum', amount: 5_000 }),
  free: await createPlan(till, { name: 'Free', amount: 0 }),
  yearly: await createPlan(till, { name: 'Yearly', amount: 9_000, interval: 'year' }),
  dollars: await createPlan(till, { name: 'Dollars', currency: 'usd' }),
  archived: await createPlan(till, { name: 'Old' }),
  archivedInGroup: await createPlan(till, { name: 'Old tier', group }),
  inGroup: await createPlan(till, { name: 'Tier', group }),
  unknown: { id: '0199c1f0-6a3e-7c52-9d4b-2f6c1a7e8b90' },
};
for (const { id } of [plans.archived, plans.archivedInGroup])
  await readJson(await call('POST', `/plans/${id}/archive`), 200);
const otherOfGroup = await createPlan(till, { name: 'Other tier', amount: 0, group });

const daySeconds = 86_400;
const changesCount = effort({ short: 3, long: 6 });

async function pausedTrial(): Promise<SubscriptionBody> {
  const { subscription } = await createSubscription(till, {
    trialPeriodDays: 1,
    trialEndWithoutCard: 'pause',
  });
  await control('clock', { advanceSeconds: daySeconds + 3_600 });
  return subscription;
}

async function pausedRenewal(): Promise<SubscriptionBody> {
  await control('dunning', { firstFailure: 'pause' });
  const { subscription } = await createPastDue(till);
  await control('dunning', { firstFailure: 'past_due' });
  return subscription;
}

async function withInvoice(change: (invoiceId: string) => Promise<unknown>): Promise<SubscriptionBody> {
  const { subscription, invoiceIds } = await createUnpaid(till, 1);
  await change(invoiceIds[0]);
  return subscription;
}

async function active(body?: object): Promise<SubscriptionBody> {
  const { subscription } = await createActive(till);
  if (body !== undefined) await changed(till, subscription, body);
  return subscription;
}

/** An active subscription whose invoices are settled in another way. */
async function collectionPaused(): Promise<SubscriptionBody> {
  const { subscription } = await createActive(till);
  await stripe.subscriptions.update(subscription.processorSubscriptionId, {
    pause_collection: { behavior: 'keep_as_draft' },
  });
  return subscription;
}

const states: Readonly<Record<string, () => Promise<SubscriptionBody>>> = {
  active: () => active(),
  'on a free plan': () => active({ planId: plans.free.id, proration: 'none' }),
  ending: () => active({ cancelAtPeriodEnd: true }),
  'with a planned change': () => active({ planId: plans.yearly.id, when: 'periodEnd' }),
  'with its collection paused': collectionPaused,
  trialing: async () => (await createSubscription(till, { trialPeriodDays: 7 })).subscription,
  incomplete: async () => (await createSubscription(till)).subscription,
  ended: async () => {
    const subscription = await active();
    await readJson(await call('DELETE', `/subscriptions/${subscription.id}`), 200);
    return subscription;
  },
  'past due': async () => (await createPastDue(till)).subscription,
  'past due and ending': async () => {
    const { subscription } = await createPastDue(till);
    await changed(till, subscription, { cancelAtPeriodEnd: true });
    return subscription;
  },
  'unpaid for one period': async () => (await createUnpaid(till, 1)).subscription,
  'unpaid for two periods': async () => (await createUnpaid(till, 2)).subscription,
  'unpaid, its invoice void': () => withInvoice((id) => stripe.invoices.voidInvoice(id)),
  'unpaid, its invoice given up': () => withInvoice((id) => stripe.invoices.markUncollectible(id)),
  'paused after its trial': pausedTrial,
  'paused after a failed renewal': pausedRenewal,
};

const changeArbitrary = fc
  .record({
    plan: fc.option(fc.constantFrom(...(Object.keys(plans) as (keyof typeof plans)[]))),
    quantity: fc.option(fc.constantFrom(1, 3)),
    when: fc.constantFrom('now', 'now', 'periodEnd'),
    proration: fc.constantFrom('nextInvoice', 'invoice', 'none'),
    isTooEarly: fc.constantFrom(false, false, false, true),
  })
  .map(({ plan, quantity, when, proration, isTooEarly }) => ({
    ...(plan === null ? {} : { planId: plans[plan].id }),
    ...(quantity === null && plan !== null ? {} : { quantity: quantity ?? 2 }),
    ...{ when, proration },
    ...(isTooEarly ? { prorationDate: '2020-01-01T00:00:00Z' } : {}),
  }));

interface Outcome {
  readonly status: number;
  readonly code: unknown;
  readonly body: unknown;
}

async function outcomeOf(response: Response): Promise<Outcome> {
  const body: unknown = await response.json();
  return { status: response.status, code: Object(body).code, body };
}

/** Preview and change agree, and what the preview says about now is what happens. */
async function assertAgree(subscription: SubscriptionBody, change: object): Promise<void> {
  const preview = await outcomeOf(await call('POST', `/subscriptions/${subscription.id}/preview`, change));
  const before = await newestInvoice(till, subscription);
  const created = await outcomeOf(await patch(till, subscription, change));
  const text = JSON.stringify({ change, preview, created });
  assert.deepEqual([preview.status, preview.code], [created.status, created.code], text);
  const after = await newestInvoice(till, subscription);
  const isBilled = created.status === 200 && (preview.body as PreviewBody).billedNow;
  assert.equal(after.id !== before.id, isBilled, text);
}

for (const [state, create] of Object.entries(states))
  test(`a preview is refused exactly when the change is, with the same code: ${state}`, async () => {
    await assertProperty(
      fc.asyncProperty(
        fc.array(changeArbitrary, { minLength: changesCount, maxLength: changesCount }),
        fc.boolean(),
        async (changes, hasOther) => {
          const subscription = await create();
          const { customerId, processorSubscriptionId } = subscription;
          if (hasOther) await createSubscription(till, { customerId, planId: otherOfGroup.id });
          const { ended_at: endedAt } = await stripe.subscriptions.retrieve(processorSubscriptionId);
          if (endedAt === null) await useCard(till, subscription, 'pm_card_visa');
          await till.settle();
          for (const change of changes) await assertAgree(subscription, change);
          await endSubscriptions(till);
        },
      ),
      2,
    );
  });

test('a change that only drops a planned one is not prorated, so its date does not matter', async () => {
  for (const planned of [{ quantity: 3 }, { planId: plans.yearly.id }]) {
    const subscription = await active();
    await changed(till, subscription, { ...planned, when: 'periodEnd' });
    await assertAgree(subscription, { quantity: 1, when: 'now', prorationDate: '2020-01-01T00:00:00Z' });
  }
});

test('a customer with several subscriptions is refused alike', async () => {
  const { id: customerId } = await createCustomer(till);
  const { subscription } = await createSubscription(till, { customerId, planId: plans.free.id });
  await createSubscription(till, { customerId, planId: otherOfGroup.id });
  // The group is taken, whatever else is wrong with the plan or the subscription.
  await assertAgree(subscription, { planId: plans.archivedInGroup.id });
  await call('DELETE', `/subscriptions/${subscription.id}`);
  await assertAgree(subscription, { planId: plans.inGroup.id });
});
