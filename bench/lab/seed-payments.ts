import type { BenchDatabase } from './database.ts';

/** Independent of the number of customers: the table grows, not the payments per customer. */
export const paymentsPerCustomer = 50;
/** One statement remembers every row for its triggers; a million of them stay well within memory. */
const rowsPerStatement = 500_000;

/** The id of the customer with this number. */
export function customerOf(number: number): string {
  return `00000000-0000-7000-9000-${Math.floor(number).toString(16).padStart(12, '0')}`;
}

/** Payments of many customers, created one after the other over the last two years. */
export async function seedPayments(database: BenchDatabase, count: number): Promise<void> {
  const customers = Math.ceil(count / paymentsPerCustomer);
  const customerId = (number: string) =>
    `('00000000-0000-7000-9000-' || lpad(to_hex(${number}), 12, '0'))::uuid`;
  await database.query(`
    insert into till.customers (id, processor_customer_id, email, processor_as_of, created_at, updated_at)
    select ${customerId('n')}, 'cus_' || n, n || '@example.com', now(), now(), now()
    from generate_series(0, ${customers - 1}) as n`);
  for (let from = 0; from < count; from += rowsPerStatement) {
    const to = Math.min(from + rowsPerStatement, count) - 1;
    await database.query(`
      insert into till.payments (id, processor_payment_intent_id, customer_id, amount, amount_received, currency,
        intent_status, processor_as_of, created_at, updated_at)
      select uuidv7(), 'pi_' || n, ${customerId(`n % ${customers}`)}, 2000, 2000, 'eur', 'succeeded', made, made, made
      from generate_series(${from}, ${to}) as n,
        lateral (select now() - interval '730 days' * (1 - n::float8 / ${count}) as made) as times`);
  }
  await database.query('vacuum analyze');
}
