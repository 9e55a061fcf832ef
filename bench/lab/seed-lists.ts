import type { BenchDatabase, BenchSession } from './database.ts';
import { seedOwner } from './seed.ts';

/** Independent of the number of customers: a larger table has more customers, not more payments per customer. */
export const paymentsPerCustomer = 50;
const invoicesPerSubscription = 20;
/** A statement keeps every row in memory for its triggers. The rows of three statements fit easily. */
const rowsPerStatement = 500_000;

/** The id of the customer with this number. */
export function customerOf(number: number): string {
  return `00000000-0000-7000-9000-${Math.floor(number).toString(16).padStart(12, '0')}`;
}

/** The id of the plan with this number: 0 is an older plan, 1 is the current one. */
export const planOf = (number: number) => `00000000-0000-7000-9100-00000000000${number}`;

/** The id of the one subscription whose invoices are listed. */
export const billedSubscription = '00000000-0000-7000-9100-000000000003';

/** The tables that are listed. */
const tables = ['customers', 'payments', 'subscriptions', 'invoices'].map((name) => `till.${name}`);

export interface ListSizes {
  /** In each list but that of payments. */
  readonly rows: number;
  readonly payments: number;
}

/** Fills the tables that are listed, three of them at the same time. */
export async function seedLists(database: BenchDatabase, { rows, payments }: ListSizes): Promise<void> {
  await seedPlans(database);
  await inBulk(database, async () => {
    await seedCustomers(database, rows);
    const seeds = [
      [seedPayments, payments],
      [seedSubscriptions, rows],
      [seedInvoices, rows],
    ] as const;
    await Promise.all(
      seeds.map(async ([seed, count]) => {
        await using session = await database.openSession();
        await seed(session, count);
      }),
    );
  });
  await database.query('vacuum analyze');
}

/**
 * Builds the indexes when all rows are there, and trusts their foreign keys: a fraction of the time of row after row.
 */
async function inBulk(database: BenchDatabase, load: () => Promise<void>): Promise<void> {
  const indexes = await database.query<{ name: string; definition: string }>(
    `select indexrelid::regclass::text as name, pg_get_indexdef(indexrelid) as definition
    from pg_index where indrelid = any($1::regclass[]) and not indisunique`,
    [tables],
  );
  for (const { name } of indexes) await database.query(`drop index ${name}`);
  // A foreign key is a trigger of the system. Those of users count rows.
  for (const table of tables)
    await database.query(`alter table ${table} disable trigger all, enable trigger user`);
  await load();
  for (const table of tables) await database.query(`alter table ${table} enable trigger all`);
  await database.query(`set maintenance_work_mem = '1GB'`);
  for (const { definition } of indexes) await database.query(definition);
}

async function seedPlans(database: BenchDatabase): Promise<void> {
  await seedOwner(database);
  for (const number of [0, 1, 2])
    await database.query(`
      insert into till.plans (id, processor_product_id, processor_price_id, name, amount, currency, interval,
        product_active, price_active, product_as_of, product_as_of_latest, price_as_of, price_as_of_latest,
        created_at, updated_at)
      values ('${planOf(number)}', 'prod_${number}', 'price_${number}', 'Gold', 900, 'eur', 'month', true, true,
        now(), now(), now(), now(), now(), now())`);
}

/** Customers, each with its own email. */
async function seedCustomers(session: BenchSession, count: number): Promise<void> {
  await seedRows(session, count, {
    into: `till.customers (id, processor_customer_id, email, processor_as_of, processor_as_of_latest, created_at,
      updated_at)`,
    values: `${customerId('n')}, 'cus_' || n, n || '@example.com', created, created, created, created`,
  });
}

/** The total of a filtered list is capped there. */
const subscriptionsWithAddOn = 10_000;

/**
 * Payments of many customers, created one after the other over the last two years. One in ten was canceled, some of
 * them after a failure. Few were refunded or disputed, or have another currency, which only old payments have.
 */
async function seedPayments(session: BenchSession, count: number): Promise<void> {
  await seedRows(session, count, {
    into: `till.payments (id, processor_payment_intent_id, customer_id, amount, amount_received, amount_refunded, currency,
      intent_status, failure, dispute, processor_as_of, processor_as_of_latest, created_at, updated_at)`,
    values: `uuidv7(), 'pi_' || n, ${customerId(`n % ${Math.ceil(count / paymentsPerCustomer)}`)}, 2000, 2000,
      case n % 50 when 3 then 1000 when 4 then 2000 else 0 end,
      case when n % 100 < 97 then 'eur' when n % 100 < 99 then 'usd' when n < ${count} / 10 then 'jpy' else 'gbp' end,
      case n % 10 when 0 then 'canceled' else 'succeeded' end,
      case n % 30 when 0 then jsonb_build_object('code', 'card_declined', 'declineCode', 'insufficient_funds',
        'message', null) end,
      case n % 200 when 7 then jsonb_build_object('processorDisputeId', 'dp_' || n, 'createdAt', created,
        'asOf', jsonb_build_object('earliest', created, 'latest', created), 'status', 'won', 'amount', 2000,
        'currency', 'eur', 'reason', null, 'evidenceDueBy', null) end,
      created, created, created, created`,
  });
}

/**
 * One of each customer. Nine in ten have the current plan. The first tenth has an older plan. Subscriptions of all ages
 * have an add-on, as many as a total counts, however many there are.
 */
async function seedSubscriptions(session: BenchSession, count: number): Promise<void> {
  await seedRows(session, count, {
    into: `till.subscriptions (id, processor_subscription_id, customer_id, plan_id, status, current_period_end,
      add_ons, processor_as_of, processor_as_of_latest, created_at, updated_at)`,
    values: `case when n = ${middleSubscription(count)} then '${billedSubscription}' else uuidv7() end,
      'sub_' || n, ${customerId('n')}, case when n < ${count} / 10 then '${planOf(0)}' else '${planOf(1)}' end::uuid,
      case n % 20 when 0 then 'canceled' else 'active' end, now() + interval '60 days',
      case n % ${Math.ceil(count / subscriptionsWithAddOn)} when 0 then '[{"planId": "${planOf(2)}", "quantity": 1}]' else '[]' end::jsonb,
      created, created, created, created`,
  });
}

/** Every subscription that is billed has the same number of invoices. */
async function seedInvoices(session: BenchSession, count: number): Promise<void> {
  const billed = count / invoicesPerSubscription;
  await seedRows(session, count, {
    into: `till.invoices (id, processor_invoice_id, customer_id, processor_customer_id, processor_subscription_id,
      amount_due, amount_paid, amount_remaining, currency, status, attempt_count, processor_as_of,
      processor_as_of_latest, created_at, updated_at)`,
    values: `uuidv7(), 'in_' || n, ${customerId(`n % ${billed}`)}, 'cus_' || n % ${billed}, 'sub_' || n % ${billed}, 800,
      800, 0, 'eur', case n % 20 when 0 then 'open' else 'paid' end, 1, created, created, created, created`,
  });
}

/** The number of the subscription in the middle of those that are billed. */
function middleSubscription(count: number): number {
  return Math.floor(count / invoicesPerSubscription / 2);
}

/** The SQL for the id of the customer with this number. */
function customerId(number: string): string {
  return `('00000000-0000-7000-9000-' || lpad(to_hex(${number}), 12, '0'))::uuid`;
}

/** Rows for the numbers `n` from 0. Each is `created` after the one before, over the last two years. */
async function seedRows(
  session: BenchSession,
  count: number,
  { into, values }: { readonly into: string; readonly values: string },
): Promise<void> {
  for (let from = 0; from < count; from += rowsPerStatement) {
    const to = Math.min(from + rowsPerStatement, count) - 1;
    await session.query(`
      insert into ${into} select ${values}
      from generate_series(${from}, ${to}) as n,
        lateral (select now() - interval '730 days' * (1 - n::float8 / ${count}) as created) as times`);
  }
}
