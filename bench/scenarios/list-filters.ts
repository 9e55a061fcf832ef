import type { BenchDatabase } from '../lab/database.ts';
import type { Lab, LoadRun } from '../lab/lab.ts';
import type { Finding } from '../lab/report.ts';
import { takeTurns } from '../lab/rounds.ts';
import type { Scenario } from '../lab/scenario.ts';
import { seedOwner } from '../lab/seed.ts';
import {
  customerOf,
  paymentsPerCustomer,
  seedCustomers,
  seedPayments,
  seedRows,
} from '../lab/seed-payments.ts';
import type { ServerProcess } from '../lab/server-process.ts';
import { apiKey } from '../load/requests.ts';

const rowsFew = 10_000;
const rowsFull = 5_000_000;
const rowsQuick = 500_000;
/** One request at a time, so that the time is that of the query, without queueing. */
const listsPerRound = 50;
const growthMax = 1.5;
const invoicesPerSubscription = 20;
const owner = `(select id from till.customers where processor_customer_id = 'cus_bench')`;
const planOf = (number: number) => `00000000-0000-7000-9100-00000000000${number}`;

/**
 * A table, and the lists of it to measure. One table at a time, because four tables of five million rows need much
 * disk.
 */
interface Case {
  readonly seed: (database: BenchDatabase, rows: number) => Promise<void>;
  readonly filters: (rows: number) => readonly string[];
  /** Lists to read by cursor. */
  readonly walks: readonly string[];
}

const cases: readonly Case[] = [
  {
    seed: seedPayments,
    filters: (rows) => [
      '/payments?status=succeeded',
      `/payments?createdBefore=${new Date(Date.now() - 365 * 86_400_000).toISOString()}`,
      `/payments?status=canceled&customerId=${customerOf(rows / paymentsPerCustomer / 2)}`,
    ],
    walks: ['/payments?', '/payments?status=succeeded&'],
  },
  {
    seed: seedSubscriptions,
    // Nine in ten rows have this plan, so that both totals are near the cap.
    filters: () => [
      '/subscriptions?status=active',
      `/subscriptions?planId=${planOf(1)}`,
      `/subscriptions?planId=${planOf(1)}&status=active`,
    ],
    walks: [`/subscriptions?planId=${planOf(1)}&`],
  },
  {
    seed: seedInvoices,
    filters: () => ['/invoices?status=paid', `/invoices?subscriptionId=${planOf(3)}`],
    walks: [],
  },
  {
    seed: seedCustomers,
    filters: (rows) => [`/customers?email=${rows / 2}@EXAMPLE.com`],
    walks: [],
  },
];

/** How much slower filters and cursors get with more rows. */
export const listFilters: Scenario = {
  names: ['list_filter_growth', 'list_cursor_growth'],
  async run(lab) {
    const filtered: Comparison[] = [];
    const walked: Comparison[] = [];
    for (const one of cases) {
      await using fewDatabase = await lab.database('till');
      await using manyDatabase = await lab.database('till');
      const rowsMany = lab.amount(rowsFull, rowsQuick);
      await one.seed(fewDatabase, rowsFew);
      await one.seed(manyDatabase, rowsMany);
      await using few = await lab.startTill(fewDatabase);
      await using many = await lab.startTill(manyDatabase);
      const [fewPaths, manyPaths] = [one.filters(rowsFew), one.filters(rowsMany)];
      for (const [index, path] of manyPaths.entries())
        filtered.push(
          await compare(lab, path, { till: few, path: fewPaths[index] ?? path }, { till: many, path }),
        );
      for (const path of one.walks)
        walked.push(
          await compare(
            lab,
            `${path}cursor=…`,
            { till: few, path: await middleOf(few, path, rowsFew) },
            { till: many, path: await middleOf(many, path, rowsMany) },
          ),
        );
    }
    const rows = `${lab.amount(rowsFull, rowsQuick).toLocaleString('en-US')} rows`;
    return [toFinding('list_filter_growth', filtered, rows), toFinding('list_cursor_growth', walked, rows)];
  },
};

interface Comparison {
  readonly what: string;
  readonly few: LoadRun;
  readonly many: LoadRun;
}

interface MeasuredList {
  readonly till: ServerProcess;
  readonly path: string;
}

async function compare(lab: Lab, what: string, few: MeasuredList, many: MeasuredList): Promise<Comparison> {
  const read = ({ till, path }: MeasuredList) => {
    const requests = { kind: 'same' as const, path: `/api/v1${path}`, count: listsPerRound };
    return lab.load({ targets: [{ url: till.url, connections: 1, requests }], expected: [200] }, [till.pid]);
  };
  for (const target of [few, many]) await read(target);
  const runs = await takeTurns(lab.scale.rounds, { many: () => read(many), few: () => read(few) });
  return { what, ...runs };
}

/** The list from its middle on, by the cursor of the page before. */
async function middleOf(till: ServerProcess, path: string, rows: number): Promise<string> {
  // A filter may select only some of the rows. Its total is capped, so its middle is assumed to be near the start.
  const page = path.includes('=') ? 100 : Math.floor(rows / 20 / 2);
  const response = await fetch(`${till.url}/api/v1${path}page=${page}`, { headers: { 'x-api-key': apiKey } });
  const { nextCursor } = (await response.json()) as { readonly nextCursor: string | null };
  if (nextCursor === null) throw new Error(`${path} ends before page ${page}`);
  return `${path}cursor=${nextCursor}`;
}

function toFinding(name: string, comparisons: readonly Comparison[], rows: string): Finding {
  const growth = ({ few, many }: Comparison) => many.p50Ms / few.p50Ms;
  const [worst] = [...comparisons].sort((one, other) => growth(other) - growth(one));
  if (worst === undefined) throw new Error(`${name} compared nothing`);
  const all = comparisons.map((one) => `${one.what} ${growth(one).toFixed(2)}`).join('; ');
  return {
    name,
    value: worst.many.p50Ms,
    unit: 'ms p50',
    baseline: worst.few.p50Ms,
    cpu: worst.many,
    baselineCpu: worst.few,
    goal: { atMost: growthMax },
    note: `${rows} against ${rowsFew.toLocaleString('en-US')}: ${all}`,
  };
}

async function seedPlans(database: BenchDatabase): Promise<void> {
  await seedOwner(database);
  for (const number of [0, 1])
    await database.query(`
      insert into till.plans (id, processor_product_id, processor_price_id, name, amount, currency, interval,
        product_active, price_active, product_as_of, product_as_of_latest, price_as_of, price_as_of_latest,
        created_at, updated_at)
      values ('${planOf(number)}', 'prod_${number}', 'price_${number}', 'Gold', 900, 'eur', 'month', true, true,
        now(), now(), now(), now(), now(), now())`);
}

/** Nine in ten have the current plan. The first tenth has an older plan. */
async function seedSubscriptions(database: BenchDatabase, count: number): Promise<void> {
  await seedPlans(database);
  await seedRows(database, count, {
    into: `till.subscriptions (id, processor_subscription_id, customer_id, plan_id, status, current_period_end,
      processor_as_of, processor_as_of_latest, created_at, updated_at)`,
    values: `uuidv7(), 'sub_' || n, ${owner},
      case when n < ${count} / 10 then '${planOf(0)}' else '${planOf(1)}' end::uuid,
      case n % 20 when 0 then 'canceled' else 'active' end, now() + interval '60 days', created, created, created, created`,
  });
  await database.query('vacuum analyze');
}

/** Every subscription has the same number of invoices. Only the middle subscription has a row. */
async function seedInvoices(database: BenchDatabase, count: number): Promise<void> {
  await seedPlans(database);
  const middle = Math.floor(count / invoicesPerSubscription / 2);
  await database.query(`
    insert into till.subscriptions (id, processor_subscription_id, customer_id, plan_id, status, current_period_end,
      processor_as_of, processor_as_of_latest, created_at, updated_at)
    values ('${planOf(3)}', 'sub_${middle}', ${owner}, '${planOf(0)}', 'active', now() + interval '60 days',
      now(), now(), now(), now())`);
  await seedRows(database, count, {
    into: `till.invoices (id, processor_invoice_id, customer_id, processor_customer_id, processor_subscription_id,
      amount_due, amount_paid, amount_remaining, currency, status, attempt_count, processor_as_of,
      processor_as_of_latest, created_at, updated_at)`,
    values: `uuidv7(), 'in_' || n, ${owner}, 'cus_bench', 'sub_' || n % ${count / invoicesPerSubscription}, 800, 800,
      0, 'eur', case n % 20 when 0 then 'open' else 'paid' end, 1, created, created, created, created`,
  });
  await database.query('vacuum analyze');
}
