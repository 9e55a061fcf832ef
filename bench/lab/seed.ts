import { objectCount } from '../load/events.ts';
import type { BenchDatabase } from './database.ts';

/** The local id for a number, the same as `localId` of the events. */
const idOf = (number: string) => `('00000000-0000-7000-8000-' || lpad(to_hex(${number}), 12, '0'))::uuid`;
/** The rows are older than the first event, and too old for a recheck by recovery. */
const long = `now() - interval '60 days'`;
const customerId = idOf('281474976710655');

/** The customer and the plan that all objects belong to. */
export async function seedOwner(database: BenchDatabase): Promise<void> {
  await database.query(`
    insert into till.customers (id, processor_customer_id, email, processor_as_of, processor_as_of_latest,
      created_at, updated_at)
    values (${customerId}, 'cus_bench', 'bench@example.com', ${long}, ${long}, ${long}, ${long})`);
  await database.query(`
    insert into till.plans (id, processor_product_id, processor_price_id, name, amount, currency, interval,
      product_active, price_active, product_as_of, product_as_of_latest, price_as_of, price_as_of_latest,
      created_at, updated_at)
    values (${customerId}, 'prod_bench', 'price_bench', 'Bench', 900, 'eur', 'month', true, true,
      ${long}, ${long}, ${long}, ${long}, ${long}, ${long})`);
}

/** The objects that the events change. */
export async function seedObjects(database: BenchDatabase): Promise<void> {
  await seedOwner(database);
  const numbers = `generate_series(0, ${objectCount - 1}) as n`;
  await seedSubscriptions(database, `${numbers} where n % 3 = 0`);
  await database.query(`
    insert into till.payments (id, processor_payment_intent_id, customer_id, amount, currency, intent_status,
      processor_as_of, processor_as_of_latest, created_at, updated_at)
    select ${idOf('n')}, 'pi_bench_' || n, ${customerId}, 2000, 'eur', 'requires_payment_method',
      ${long}, ${long}, ${long}, ${long}
    from ${numbers} where n % 3 = 1`);
  await database.query(`
    insert into till.invoices (id, processor_invoice_id, customer_id, processor_customer_id, processor_subscription_id,
      amount_due, amount_paid, amount_remaining, currency, status, attempt_count, processor_as_of,
      processor_as_of_latest, created_at, updated_at)
    select ${idOf('n')}, 'in_bench_' || n, ${customerId}, 'cus_bench', 'sub_bench_' || n, 800, 0, 800, 'eur', 'draft', 0,
      ${long}, ${long}, ${long}, ${long}
    from ${numbers} where n % 3 = 2`);
  await database.query('vacuum analyze');
}

/** Also creates as many customers, each with one subscription, with the same ids as the subscriptions. */
export async function seedManySubscriptions(database: BenchDatabase, count: number): Promise<void> {
  await seedOwner(database);
  const numbers = `generate_series(0, ${count - 1}) as n`;
  await database.query(`
    insert into till.customers (id, processor_customer_id, email, processor_as_of, processor_as_of_latest,
      created_at, updated_at)
    select ${idOf('n')}, 'cus_bench_' || n, 'bench@example.com', ${long}, ${long}, ${long}, ${long} from ${numbers}`);
  await seedSubscriptions(database, numbers, idOf('n'));
  await database.query('vacuum analyze');
}

async function seedSubscriptions(
  database: BenchDatabase,
  numbers: string,
  owner = customerId,
): Promise<void> {
  await database.query(`
    insert into till.subscriptions (id, processor_subscription_id, processor_main_item_id, customer_id, plan_id,
      status, current_period_start, current_period_end, processor_as_of, processor_as_of_latest, created_at, updated_at)
    select ${idOf('n')}, 'sub_bench_' || n, 'si_bench_' || n, ${owner}, ${customerId}, 'incomplete',
      ${long}, now() + interval '60 days', ${long}, ${long}, ${long}, ${long}
    from ${numbers}`);
}
