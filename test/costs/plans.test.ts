import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Payment } from '../../src/model/payment.ts';
import { PaymentStore } from '../../src/payments/payment-store.ts';
import { newId } from '../../src/platform/id.ts';
import { Database } from '../../src/platform/postgres.ts';
import { startBackend } from '../support/backend.ts';
import { silentLogger } from '../support/log-capture.ts';

/** PostgreSQL plans the first executions for their values, and then compares the costs. */
const plannedMax = 5;
const executions = 20;

test('PostgreSQL plans the update of one row once per connection', async (t) => {
  const { databaseUrl } = await startBackend(t);
  // With one connection, every statement runs on the same one.
  const database = new Database({ url: databaseUrl, poolSize: 1, logger: silentLogger });
  t.after(() => database.close());
  const store = new PaymentStore();
  // There is no such row, so the other fields do not matter.
  const row = { id: newId(new Date()) } as Payment;
  for (let count = 0; count < executions; count += 1)
    await database.transaction(async (tx) => store.update(tx, [{ before: row, after: row }]));
  const plans = await database.query<{ custom: number; generic: number }>(
    `select custom_plans as custom, generic_plans as generic from pg_prepared_statements where name = 'update_payments'`,
  );
  assert.deepEqual(plans, [{ custom: plannedMax, generic: executions - plannedMax }]);
});
