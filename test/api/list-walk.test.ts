/** Every list with every filter, alone and in pairs, in every order, as pages and as a file. */
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { after, test } from 'node:test';
import { filterRequests, type ListDocument } from '../../bench/lab/filter-requests.ts';
import { createCheckout } from '../support/checkouts.ts';
import { readCsv } from '../support/csv.ts';
import { effort, rotation } from '../support/effort.ts';
import { insertOwners, insertRows, listed, owners } from '../support/list-rows.ts';
import { createCustomer, createPlan, type PageBody } from '../support/objects.ts';
import { withoutReferences } from '../support/openapi.ts';
import { readProblem } from '../support/problem.ts';
import { startTill } from '../support/till.ts';

interface Document extends ListDocument {
  readonly paths: Readonly<
    Record<string, ListDocument['paths'][string] & { readonly get?: { readonly responses: object } }>
  >;
}

const openapi = new URL('../../openapi.json', import.meta.url);
const document = withoutReferences<Document>(JSON.parse(readFileSync(openapi, 'utf8')));

/** The lists that are also files. */
const lists = Object.entries(document.paths).flatMap(([path, { get }]) => {
  const sorts = get?.parameters?.find(({ name }) => name === 'sort')?.schema.enum;
  const isFile = JSON.stringify(get?.responses ?? {}).includes('"text/csv"');
  return isFile && sorts !== undefined ? [{ list: path.replace('/api/v1', ''), sorts }] : [];
});

const till = await startTill({
  in: 'process',
  for: { after },
  // One file follows the other, and a process notices the end of a response a little later than its reader.
  csvLimits: { pageRows: 15, exportsMax: 1_000 },
  mustNotLogErrors: true,
});
const unknownId = '0199c1f0-6a3e-7c52-9d4b-2f6c1a7e8b90';
const rows = Array.from({ length: 40 }, (_, index) => ({
  id: `0199c1f0-0000-7000-b000-${String(index).padStart(12, '0')}`,
  micros: index - (index % 2),
  kind: index,
}));
await insertOwners(till);
for (const list of listed) await insertRows(till, list, rows);
const { id: buyer } = await createCustomer(till, { externalId: 'user-1' });
const { id: planId } = await createPlan(till);
await createCheckout(till, { customerId: buyer, planId });

/** Of each filter without fixed values: some that match rows, and one that does not. */
const values = {
  customerId: [owners.customers[0], buyer, unknownId],
  currency: ['eur', 'xxx'],
  failureCode: ['expired_card', 'unknown'],
  disputeStatus: ['won', 'lost'],
  amountMin: ['2000', '999999'],
  amountMax: ['2500', '0'],
  subscriptionId: [owners.subscriptions[0], unknownId],
  // That of a payment of a subscription.
  invoiceId: [rows[18]?.id ?? '', unknownId],
  planId: [owners.plans[0], unknownId],
  addOnPlanId: [owners.plans[0], unknownId],
  createdAfter: ['2026-01-01T00:00:00.000020Z', '2100-01-01T00:00:00Z'],
  createdBefore: ['2026-01-01T00:00:00.000020Z', '2100-01-01T00:00:00Z', '2001-01-01T00:00:00Z'],
  number: ['A1-0001', 'X'],
  externalId: ['user-1', 'unknown'],
  email: ['ada@example.com', 'unknown@example.com'],
  q: ['love', 'unknown'],
};

/** The total of a list, whose pages and file must have the same rows. */
async function totalOf(path: string): Promise<number> {
  const ids: string[] = [];
  let page: PageBody<{ readonly id: string }>;
  for (let cursor = ''; ; cursor = `&cursor=${page.nextCursor}`) {
    page = await till.get(`${path}&limit=30${cursor}`);
    ids.push(...page.data.map(({ id }) => id));
    if (page.nextCursor === null) break;
  }
  const numbered = await till.get<typeof page>(`${path}&limit=30&page=2`);
  assert.deepEqual(
    numbered.data.map(({ id }) => id),
    ids.slice(30, 60),
    path,
  );
  const csv = await till.call('GET', path, undefined, { accept: 'text/csv' });
  const text = await csv.text();
  assert.equal(csv.status, 200, `${path}: ${text}`);
  const exported = readCsv(text).map(({ id }) => id);
  assert.deepEqual([exported, csv.headers.get('x-total-count')], [ids, String(ids.length)], path);
  assert.equal(page.total, ids.length, path);
  return ids.length;
}

test('500: a statement that PostgreSQL refuses is a defect with a request id, and no outage', async (t) => {
  const broken = await startTill({ in: 'process', for: t });
  await broken.sql('alter table till.payments rename column description to renamed');
  const problem = await readProblem(await broken.call('GET', '/payments'), 500, 'internal_error');
  const logged = broken.lines.find(({ msg }) => msg === 'request failed');
  assert.equal(logged?.['requestId'], problem.requestId);
  assert.match(JSON.stringify(logged), /42703/);
  assert.equal((await broken.fetch('/health')).status, 200);
});

/** Each filter alone shows what its part of a statement does. */
const pairsPerTried = effort({ short: 11, long: 1 });
const ofPayment = (list: string) => list.replace('{id}', owners.payments[0]);

for (const { list, sorts } of lists) {
  const requests = filterRequests(document, [list], values).map((request) => request.slice(list.length + 1));
  const isPair = (query: string) => query.replace('&currency=eur', '').includes('&');

  test(`${list}: a page and a file show the same with each filter in each order`, async () => {
    const matched = new Map<string, number>();
    for (const query of ['', ...requests.filter((one) => !isPair(one))])
      for (const sort of sorts) {
        const total = await totalOf(`${ofPayment(list)}?${query}&sort=${sort}`);
        const [name = ''] = query.split('=');
        matched.set(name, (matched.get(name) ?? 0) + total);
      }
    // A filter that matches nothing shows nothing about its statement.
    assert.deepEqual(
      [...matched].filter(([, total]) => total === 0),
      [],
    );
  });

  test(`${list}: the same with each pair of filters`, async () => {
    const someSorts = rotation(sorts, 1);
    for (const query of requests.filter(isPair).filter((_, index) => index % pairsPerTried === 0))
      for (const sort of someSorts()) await totalOf(`${ofPayment(list)}?${query}&sort=${sort}`);
  });
}
