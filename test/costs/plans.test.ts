import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Payment } from '#core/model/payment.ts';
import { newId } from '#core/platform/id.ts';
import { Database } from '#core/platform/postgres.ts';
import { CustomerStore } from '#features/customers/customer-store.ts';
import { InvoiceStore } from '#features/invoices/invoice-store.ts';
import { PaymentStore } from '#features/payments/payment-store.ts';
import { PlanStore } from '#features/plans/plan-store.ts';
import { EntitlementStore } from '#features/subscriptions/entitlements/entitlement-store.ts';
import { SubscriptionStore } from '#features/subscriptions/subscription-store.ts';
import { startBackend } from '../support/backend.ts';
import { silentLogger } from '../support/log-capture.ts';

/** PostgreSQL plans the first executions for their values, and then compares the costs. */
const plannedMax = 5;
const executions = 20;

test('PostgreSQL plans updates and lookups of one row once per connection', async (t) => {
  const { databaseUrl } = await startBackend(t);
  // With one connection, every statement runs on the same one.
  const database = new Database({ url: databaseUrl, poolSize: 1, logger: silentLogger });
  t.after(() => database.close());
  // With few rows, PostgreSQL expects every plan to cost about the same.
  await database.query(`
    insert into till.customers (id, processor_customer_id, email, processor_as_of, processor_as_of_latest, created_at,
      updated_at)
    select gen_random_uuid(), 'cus_' || number, 'ada@example.com', now(), now(), now(), now()
    from generate_series(1, 5000) as number`);
  await database.query(`
    insert into till.external_ids (external_id, customer_id)
    select id::text, id from till.customers`);
  await database.query('analyze');
  const payments = new PaymentStore();
  const mirrors = [
    payments,
    new SubscriptionStore(),
    new InvoiceStore(),
    new CustomerStore(),
    new PlanStore(),
  ];
  const entitlements = new EntitlementStore();
  // There is no such row, so the other fields do not matter.
  const row = { id: newId(new Date()) } as Payment;
  for (let count = 0; count < executions; count += 1) {
    await database.transaction(async (tx) => payments.update(tx, [{ before: row, after: row }]));
    for (const mirror of mirrors) {
      await mirror.find(database, [row.id]);
      await mirror.findByKeys(database, [row.id]);
      await mirror.lockByKeys(database, [row.id]);
    }
    for (const by of ['id', 'externalId'] as const) {
      await entitlements.find(database, { by, ids: [row.id] });
      await entitlements.findWithUsage(database, { by, ids: [row.id] }, new Date());
    }
  }
  const plans = await database.query<{ name: string; custom: number; generic: number }>(
    'select name, custom_plans as custom, generic_plans as generic from pg_prepared_statements',
  );
  assert.equal(plans.length, 1 + 3 * mirrors.length + 4);
  for (const { name, ...counts } of plans)
    assert.deepEqual(counts, { custom: plannedMax, generic: executions - plannedMax }, name);
});
