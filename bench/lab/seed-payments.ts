import type { BenchDatabase } from './database.ts';

/** Independent of the number of customers: a larger table has more customers, not more payments per customer. */
export const paymentsPerCustomer = 50;
/** A statement keeps every row in memory for its triggers. A million rows fit easily. */
const rowsPerStatement = 500_000;

/** The id of the customer with this number. */
export function customerOf(number: number): string {
  return `00000000-0000-7000-9000-${Math.floor(number).toString(16).padStart(12, '0')}`;
}

/** Payments of many customers, created one after the other over the last two years. One in ten was canceled. */
export async function seedPayments(database: BenchDatabase, count: number): Promise<void> {
  const customers = Math.ceil(count / paymentsPerCustomer);
  await seedCustomers(database, customers);
  await seedRows(database, count, {
    into: `till.payments (id, processor_payment_intent_id, customer_id, amount, amount_received, currency,
      intent_status, processor_as_of, processor_as_of_latest, created_at, updated_at)`,
    values: `uuidv7(), 'pi_' || n, ${customerId(`n % ${customers}`)}, 2000, 2000, 'eur',
      case n % 10 when 0 then 'canceled' else 'succeeded' end, created, created, created, created`,
  });
  await database.query('vacuum analyze');
}

/** Customers, each with its own email. */
export async function seedCustomers(database: BenchDatabase, count: number): Promise<void> {
  await seedRows(database, count, {
    into: `till.customers (id, processor_customer_id, email, processor_as_of, processor_as_of_latest, created_at,
      updated_at)`,
    values: `${customerId('n')}, 'cus_' || n, n || '@example.com', created, created, created, created`,
  });
  await database.query('vacuum analyze');
}

/** The SQL for the id of the customer with this number. */
function customerId(number: string): string {
  return `('00000000-0000-7000-9000-' || lpad(to_hex(${number}), 12, '0'))::uuid`;
}

/** Rows for the numbers `n` from 0. Each is `created` after the one before, over the last two years. */
export async function seedRows(
  database: BenchDatabase,
  count: number,
  { into, values }: { readonly into: string; readonly values: string },
): Promise<void> {
  for (let from = 0; from < count; from += rowsPerStatement) {
    const to = Math.min(from + rowsPerStatement, count) - 1;
    await database.query(`
      insert into ${into} select ${values}
      from generate_series(${from}, ${to}) as n,
        lateral (select now() - interval '730 days' * (1 - n::float8 / ${count}) as created) as times`);
  }
}
