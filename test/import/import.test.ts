import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { assertMirrored, listAll } from '../support/checks/mirrors.ts';
import { assertEventsComplete, readEvents } from '../support/checks/outbox.ts';
import { type ForeignAccount, makeForeignAccount, makePayer } from '../support/foreign-account.ts';
import { allAdopted, allUnchanged, dumpRows, runImport } from '../support/imports.ts';
import {
  type CustomerBody,
  confirmSecret,
  createPaidPayment,
  createSubscription,
  type PageBody,
  type PaymentBody,
  type PlanBody,
  type SubscriptionBody,
} from '../support/objects.ts';
import { startTill } from '../support/till.ts';
import type { TillInProcess } from '../support/till-in-process.ts';

/** Everything that the account has is mirrored. */
async function assertAdopted(till: TillInProcess, { gone }: ForeignAccount): Promise<void> {
  const customers = await listAll(till.stripe.customers.list());
  const intents = await listAll(till.stripe.paymentIntents.list());
  await assertMirrored(till.stripe, till.sql, {
    customers: new Set([...customers.map(({ id }) => id), gone]),
    paymentIntents: new Set(intents.map(({ id }) => id)),
  });
}

const everything = {
  plan: allAdopted(2),
  customer: allAdopted(2),
  subscription: allAdopted(3),
  invoice: allAdopted(4),
  payment: allAdopted(7),
  refund: allAdopted(1),
  dispute: allAdopted(1),
};

describe('an import', () => {
  test('adopts everything that the account has, and writes nothing there', async (t) => {
    const till = await startTill({ in: 'process', for: t, mustNotLogErrors: true });
    const account = await makeForeignAccount(till);
    const before = await listAll(till.stripe.events.list());
    assert.deepEqual(await runImport(till), { counts: everything, skips: [] });
    assert.equal((await listAll(till.stripe.events.list())).length, before.length);
    await assertAdopted(till, account);

    const plans = await till.get<PlanBody[]>('/plans');
    const monthly = plans.find(({ processorPriceId }) => processorPriceId === account.monthly);
    assert.partialDeepStrictEqual(monthly, {
      ...{ name: 'Pro', amount: 900, currency: 'eur', interval: 'month', active: true },
      ...{ metadata: { tier: 'gold' }, features: {}, group: null },
    });
    const [ada] = (await till.get<PageBody<CustomerBody>>('/customers?email=ada@example.com')).data;
    assert.ok(ada);
    const [subscription] = (await till.get<PageBody<SubscriptionBody>>(`/subscriptions?customerId=${ada.id}`))
      .data;
    assert.partialDeepStrictEqual(subscription, {
      ...{ planId: monthly?.id, quantity: 2, status: 'active', entitled: true },
      processorSubscriptionId: account.subscription,
    });
    const charges = await till.get<PageBody<PaymentBody>>(`/payments?subscriptionId=${subscription?.id}`);
    assert.partialDeepStrictEqual(charges.data, [
      { amount: 1_800, invoiceId: subscription?.latestInvoiceId },
    ]);
    const own = await till.get<PageBody<PaymentBody>>('/payments');
    assert.deepEqual(
      own.data.map(({ processorPaymentIntentId }) => processorPaymentIntentId).sort(),
      [account.paid, account.open, account.disputed, account.ofGone, account.oneOff].sort(),
    );

    // Adopted objects have their events, and the overview counts them.
    const events = await readEvents(till.sql);
    assert.ok(events.length > 20);
    assert.deepEqual([...new Set(events.map(({ cause }) => cause.kind))], ['import']);
    await assertEventsComplete(till, till.sql);
  });

  test('that is run twice changes nothing', async (t) => {
    const till = await startTill({ in: 'process', for: t });
    const account = await makeForeignAccount(till);
    await runImport(till, { externalIdFrom: 'user' });
    await till.settle();
    const before = await dumpRows(till);
    const again = await runImport(till, { externalIdFrom: 'user' });
    assert.deepEqual(again, {
      counts: {
        plan: allUnchanged(2),
        customer: allUnchanged(2),
        external_id: allUnchanged(2),
        subscription: allUnchanged(3),
        invoice: allUnchanged(4),
        payment: allUnchanged(7),
        refund: allUnchanged(1),
        dispute: allUnchanged(1),
      },
      skips: [],
    });
    assert.equal(await dumpRows(till), before);

    await till.stripe.customers.update(account.ada, { name: 'Ada L.' });
    const corrected = await runImport(till);
    assert.deepEqual(corrected.counts['customer'], { found: 2, updated: 1, unchanged: 1 });
    await till.settle();
    await assertAdopted(till, account);
  });

  test('also adopts what webhooks have stored without its customer, and a dry run foresees it', async (t) => {
    const till = await startTill({ in: 'process', for: t });
    const account = await makeForeignAccount(till);
    await till.settle();
    const [stored] = await till.sql<{ count: number }>('select count(*) as count from till.invoices');
    assert.equal(stored?.count, 4);
    const foreseen = await runImport(till, { isDryRun: true });
    assert.deepEqual(foreseen, { counts: everything, skips: [] });
    assert.deepEqual(await runImport(till), foreseen);
    await assertAdopted(till, account);
  });

  test('leaves what Till created as it is, and gives lost rows the same ids again', async (t) => {
    const till = await startTill({ in: 'process', for: t });
    await createPaidPayment(till);
    const { clientSecret } = await createSubscription(till);
    await confirmSecret(till, clientSecret);
    await till.settle();
    const account = await makeForeignAccount(till);
    await runImport(till);
    const ids = async () =>
      till.sql(
        `select id from (select id from till.customers where deleted_at is null union all select id from till.plans
         union all select id from till.payments union all select id from till.subscriptions
         union all select id from till.invoices union all select id from till.refunds) as ids order by id`,
      );
    const before = await ids();
    await till.sql(`truncate till.customers, till.plans, till.payments, till.subscriptions, till.invoices,
      till.refunds, till.external_ids cascade`);
    await runImport(till);
    assert.deepEqual(await ids(), before);
    await assertAdopted(till, account);
  });

  test('adopts what belongs to test clocks, which the lists of customers and subscriptions leave out', async (t) => {
    const till = await startTill({ in: 'process', for: t });
    const { monthly } = await makeForeignAccount(till);
    const { id: test_clock } = await till.stripe.testHelpers.testClocks.create({
      frozen_time: Math.floor(Date.now() / 1_000),
    });
    const customer = await makePayer(till.stripe, { email: 'clock@example.com', test_clock });
    const { id } = await till.stripe.subscriptions.create({ customer, items: [{ price: monthly }] });
    const report = await runImport(till);
    assert.deepEqual(report.skips, []);
    const [clocked] = (await till.get<PageBody<CustomerBody>>('/customers?email=clock@example.com')).data;
    const { data } = await till.get<PageBody<SubscriptionBody>>(`/subscriptions?customerId=${clocked?.id}`);
    assert.deepEqual(
      data.map(({ processorSubscriptionId }) => processorSubscriptionId),
      [id],
    );
    const charges = await till.get<PageBody<PaymentBody>>(`/payments?subscriptionId=${data[0]?.id}`);
    assert.equal(charges.total, 1);
    assert.deepEqual((await runImport(till)).counts['invoice'], allUnchanged(5));
  });
});
