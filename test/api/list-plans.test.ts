/**
 * How PostgreSQL reads the lists: whatever the values and however they are spread, it walks the index of the filter.
 */

import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import type { FilterValues } from '#core/model/list-request.ts';
import type { List } from '#engine/mirrors/list.ts';
import { selectionOf } from '#engine/mirrors/list-filter.ts';
import { newestFirst, sortOf } from '#engine/mirrors/list-sort.ts';
import { listStatement } from '#engine/mirrors/list-statement.ts';
import { type RowWindow, totalMax } from '#engine/mirrors/row-window.ts';
import { customerList } from '#features/customers/customer-store.ts';
import { invoiceList } from '#features/invoices/invoice-store.ts';
import { allPaymentList, paymentList, subscriptionPaymentList } from '#features/payments/payment-store.ts';
import { allRefundLists } from '#features/payments/refund-store.ts';
import { subscriptionList } from '#features/subscriptions/subscription-store.ts';
import { insertOwners, insertRows, owners } from '../support/list-rows.ts';
import { openPool } from '../support/test-database.ts';
import { startTill } from '../support/till.ts';

const till = await startTill({ in: 'process', for: { after }, mustNotLogErrors: true });
// Among millions of rows, 10,000 entries of an index are cheaper than the whole table. Among the few of a test they are
// not, so this leaves only the choice of the index.
const pool = openPool({
  connectionString: till.databaseUrl,
  options: '-c enable_seqscan=off -c enable_bitmapscan=off -c enable_sort=off',
});
after(() => pool.end());

const limit = 21;
const rowCount = 9_000;
/** The rows have fewer facets. A page reads up to its limit of each. */
const facetsMax = 40;
/** The oldest rows have kind 0, the next ones kind 1, and so on: each value is found in one place only. */
const rows = Array.from({ length: rowCount }, (_, index) => ({
  id: `0199c1f0-0000-7000-b000-${String(index).padStart(12, '0')}`,
  micros: index * 1_000,
  kind: Math.floor((index * 36) / rowCount),
}));
const middle = new Date(Date.UTC(2026, 0, 1) + rowCount / 2).toISOString();
const unknownId = '0199c1f0-6a3e-7c52-9d4b-2f6c1a7e8b90';
const [customerId, planId] = [owners.customers[0], owners.plans[0]];

interface Case {
  readonly name: 'customers' | 'payments' | 'refunds' | 'subscriptions' | 'invoices';
  readonly list: List<object>;
  readonly selections: readonly FilterValues[];
}

const cases: readonly Case[] = [
  { name: 'customers', list: customerList, selections: [{ email: 'bob@example.com' }] },
  { name: 'payments', list: paymentList, selections: [{ status: 'succeeded' }, { status: 'refunded' }] },
  {
    name: 'payments',
    list: subscriptionPaymentList,
    selections: [{ status: 'succeeded' }, { subscriptionId: owners.subscriptions[0] }],
  },
  {
    name: 'payments',
    list: allPaymentList,
    selections: pairsOf({
      status: 'canceled',
      currency: 'usd',
      failed: 'true',
      failureCode: 'lost_card',
      refunded: 'partial',
      disputed: 'true',
      disputeStatus: 'needs_response',
      amountMax: '5000',
    }),
  },
  ...Object.values(allRefundLists).map((list) => ({
    name: 'refunds' as const,
    list,
    selections: [
      { status: 'succeeded' },
      { currency: 'eur' },
      { currency: 'usd' },
      { currency: 'eur', status: 'failed' },
    ],
  })),
  {
    name: 'subscriptions',
    list: subscriptionList,
    selections: [
      { status: 'active' },
      { planId },
      { planId, status: 'canceled' },
      // Each is frequent, and no row has both.
      { planId: owners.plans[1], status: 'past_due' },
      { addOnPlanId: planId },
      { addOnPlanId: owners.plans[1] },
      { addOnPlanId: unknownId },
      { addOnPlanId: planId, status: 'past_due' },
      { addOnPlanId: planId, planId: owners.plans[1] },
      { currency: 'eur', status: 'unpaid' },
      { currency: 'usd' },
    ],
  },
  {
    name: 'invoices',
    list: invoiceList,
    selections: [{ status: 'open' }, { subscriptionId: owners.subscriptions[0] }],
  },
];

/** Each filter alone, and with each other one. */
function pairsOf(values: Readonly<Record<string, string>>): readonly FilterValues[] {
  const entries = Object.entries(values);
  return entries.flatMap((one, index) =>
    entries.slice(index).map((other): FilterValues => Object.fromEntries([one, other])),
  );
}

interface PlanNode {
  readonly 'Node Type': string;
  readonly 'Relation Name'?: string;
  readonly 'Index Name'?: string;
  readonly 'Actual Rows': number;
  readonly 'Actual Loops': number;
  readonly 'Rows Removed by Filter'?: number;
  readonly Plans?: readonly PlanNode[];
}

/** Runs the statement. */
async function explain({ text, values }: ReturnType<typeof listStatement>): Promise<PlanNode | undefined> {
  const { rows: explained } = await pool.query<{ 'QUERY PLAN': readonly [{ Plan: PlanNode }] }>(
    `explain (analyze, format json) ${text}`,
    [...values],
  );
  return explained[0]?.['QUERY PLAN'][0].Plan;
}

/** The scans of the list's table that ran. */
function scansOf(node: PlanNode | undefined, table: string): readonly PlanNode[] {
  if (node === undefined || node['Actual Loops'] === 0) return [];
  const own = node['Relation Name'] === table ? [node] : [];
  return [...own, ...(node.Plans ?? []).flatMap((one) => scansOf(one, table))];
}

for (const { name, list, selections } of cases) {
  const tables = name === 'subscriptions' ? [name, 'subscription_add_ons'] : [name];
  test(`a page of ${name} ${list.variant ?? ''} reads only rows that its filters select`, async () => {
    if (name === 'customers') await insertOwners(till);
    await insertRows(till, name, rows);
    // Without a vacuum no page counts as visible, and PostgreSQL expects an index alone to be worth little.
    for (const table of tables) await pool.query(`analyze till.${table}`);
    const withTimes = selections.flatMap((values) => [
      values,
      { ...values, createdBefore: middle },
      { ...values, createdAfter: middle },
    ]);
    const byAmount = (list.amounts ?? []).map((amount) => sortOf(list, `-${amount}`));
    for (const values of [...withTimes, { createdBefore: middle }, { createdAfter: middle }]) {
      const selection = selectionOf(list.filters, values);
      assert.ok(selection !== undefined);
      const row = rows[rowCount / 3];
      const position = { amount: 2_500n, createdAt: 1_767_225_603_000_000n, id: row?.id ?? '', page: 2 };
      const places: readonly RowWindow[] = [
        { limit, offset: 0 },
        { limit, position },
      ];
      // What other filters select is sorted, in any way.
      const isFaceted = selection.used.every(({ filter }) => 'isFacet' in filter || 'bound' in filter);
      const sorts = [newestFirst, ...(isFaceted ? byAmount : [])];
      for (const [place, sort] of places.flatMap((one) => sorts.map((order) => [one, order] as const))) {
        const plan = await explain(listStatement(list, selection, place, sort));
        const scans = tables.flatMap((table) => scansOf(plan, table));
        const what = `${name} ${JSON.stringify({ values, at: Object.keys(place), sort: sort.name })}: ${JSON.stringify(scans, null, 1)}`;
        const read = scans.map(
          (node) => (node['Actual Rows'] + (node['Rows Removed by Filter'] ?? 0)) * node['Actual Loops'],
        );
        // Each range may select few rows, so it is read up to the cap.
        const ranges = ['amountMax', 'createdBefore', 'createdAfter'].filter((range) => range in values);
        const readMax = (1 + ranges.length) * (totalMax + 1) + (2 + facetsMax) * limit;
        assert.ok(read.reduce((sum, one) => sum + one, 0) <= readMax, what);
        assert.ok(!scans.some((node) => node['Node Type'] === 'Seq Scan'), what);
        assert.ok(!scans.some((node) => (node['Rows Removed by Filter'] ?? 0) > 0), what);
      }
    }
  });
}

test('a customer with another filter reads only the rows of the customer', async () => {
  const selection = selectionOf(paymentList.filters, { customerId, status: 'canceled' });
  assert.ok(selection !== undefined);
  const statement = listStatement(paymentList, selection, { limit, offset: 0 });
  const explained = await pool.query<{ 'QUERY PLAN': string }>(`explain ${statement.text}`, [
    ...statement.values,
  ]);
  const plan = explained.rows.map((line) => line['QUERY PLAN']).join('\n');
  assert.match(plan, /payments_customer_id_created_at_id_idx/);
  assert.doesNotMatch(plan, /Seq Scan on payments|payments_created_at_id_idx/);
});

test('the list of all payments merges those of the API and those of subscriptions', async () => {
  const selection = selectionOf(allPaymentList.filters, {});
  assert.ok(selection !== undefined);
  for (const offset of [0, rowCount - limit]) {
    const plan = await explain(listStatement(allPaymentList, selection, { limit, offset }));
    const scans = scansOf(plan, 'payments').filter((node) => node['Node Type'] === 'Index Only Scan');
    assert.deepEqual(
      new Set(scans.map((node) => node['Index Name'])),
      new Set(['payments_made_idx', 'payments_charged_idx']),
    );
    const read = scans.reduce((sum, node) => sum + node['Actual Rows'] * node['Actual Loops'], 0);
    // All rows for the total, and those of the page. A merge reads the next row of each index, in both halves of the
    // page.
    assert.ok(read <= rowCount + limit + 4, `${read} rows, page at ${offset}`);
  }
});

test('a price of long ago reads no newer payments, however many have it', async () => {
  await pool.query(
    `insert into till.payments (id, processor_payment_intent_id, amount, currency, customer_id, intent_status,
       processor_as_of, processor_as_of_latest, created_at, updated_at)
     select gen_random_uuid(), 'pi_old_' || n, 1, 'usd', $1, 'canceled', now(), now(),
       timestamptz '2025-01-01' + n * interval '1 second', now()
     from generate_series(1, ${totalMax + limit}) as n`,
    [customerId],
  );
  await pool.query('analyze till.payments');
  const selection = selectionOf(allPaymentList.filters, { currency: 'usd', amountMax: '2' });
  assert.ok(selection !== undefined);
  const plan = await explain(listStatement(allPaymentList, selection, { limit, offset: 0 }));
  const scans = scansOf(plan, 'payments');
  const read = scans.reduce((sum, node) => sum + node['Actual Rows'] * node['Actual Loops'], 0);
  assert.ok(read <= totalMax + 1 + (2 + facetsMax) * limit, `${read} rows`);
  assert.ok(!scans.some((node) => (node['Rows Removed by Filter'] ?? 0) > 0), JSON.stringify(scans));
});
