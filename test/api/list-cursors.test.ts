import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import fc from 'fast-check';
import { readJson } from '../support/client.ts';
import {
  clearRows,
  insertOwners,
  insertRows,
  type Listed,
  type ListRow,
  listed,
  owners,
  pathOf,
  plainIds,
} from '../support/list-rows.ts';
import { createCustomer, type PageBody } from '../support/objects.ts';
import { readProblem } from '../support/problem.ts';
import { assertProperty } from '../support/seeds.ts';
import { startTill } from '../support/till.ts';

const till = await startTill({ in: 'process', for: { after }, mustNotLogErrors: true });
const { call } = till;
await insertOwners(till);

interface Item {
  readonly id: string;
}

/** Payments created through the API. */
const created = '(processor_invoice_id is null)';

/** Some filters of each list, with the condition that a plain query has for them. */
const filters: Readonly<Record<Listed, readonly (readonly [query: string, condition: string])[]>> = {
  customers: [
    ['', 'true'],
    ['email=ADA@example.com', `lower(email) = 'ada@example.com'`],
  ],
  payments: [
    ['', created],
    [`customerId=${owners.customers[0]}`, `${created} and customer_id = '${owners.customers[0]}'`],
    ['status=succeeded', `${created} and status = 'succeeded'`],
    ['createdAfter=2026-01-01T00:00:00.001Z', `${created} and created_at >= '2026-01-01T00:00:00.001Z'`],
    ['source=all', 'true'],
    ['source=subscription&status=succeeded', `not ${created} and status = 'succeeded'`],
    [
      `subscriptionId=${owners.subscriptions[0]}`,
      `processor_subscription_id = 'sub_${owners.subscriptions[0]}'`,
    ],
  ],
  subscriptions: [
    ['', 'true'],
    [`status=active&planId=${owners.plans[1]}`, `status = 'active' and plan_id = '${owners.plans[1]}'`],
    [`addOnPlanId=${owners.plans[0]}`, `add_ons @> '[{"planId": "${owners.plans[0]}"}]'`],
  ],
  invoices: [
    ['', 'true'],
    [
      `subscriptionId=${owners.subscriptions[0]}`,
      `processor_subscription_id = 'sub_${owners.subscriptions[0]}'`,
    ],
  ],
  refunds: [['', 'true']],
};

/** The orders whose values never change. */
const orders = [
  ['', 'created_at desc, id desc'],
  ['&sort=createdAt', 'created_at, id'],
] as const;
const orderByAmount = {
  payments: ['&sort=-amount', 'amount desc, created_at desc, id desc'],
  invoices: ['&sort=amountDue', 'amount_due, created_at, id'],
} as const;

const walks = fc.constantFrom(...listed).chain((list) =>
  fc.record({
    list: fc.constant(list),
    filter: fc.constantFrom(...filters[list]),
    order: fc.constantFrom(
      ...orders,
      ...(list === 'payments' || list === 'invoices' ? [orderByAmount[list]] : []),
    ),
    limits: fc.array(fc.constantFrom(1, 2, 3, 7, 20), { minLength: 1, maxLength: 5 }),
    before: fc.array(rowsOf(), { minLength: 1, maxLength: 30 }),
    meanwhile: fc.array(fc.array(rowsOf(), { minLength: 1, maxLength: 5 }), { minLength: 1, maxLength: 8 }),
  }),
);

/** Times within three milliseconds: rows share them, come between those that are shown, before and after them. */
function rowsOf(): fc.Arbitrary<ListRow> {
  return fc.record({ id: fc.uuid(), micros: fc.integer({ min: 0, max: 3_000 }), kind: fc.nat(35) });
}

test('a walk shows each row that existed when it began exactly once, while others are inserted', async () => {
  await assertProperty(
    fc.asyncProperty(walks, async ({ list, filter, order: [sort, order], limits, before, meanwhile }) => {
      const [query, condition] = filter;
      await clearRows(till, list);
      await insertRows(till, list, before);
      const existing = await plainIds(till, list, condition, order);
      const shown: string[] = [];
      let response: PageBody<Item> | undefined;
      for (let number = 1; response?.nextCursor !== null; number += 1) {
        const limit = limits[number % limits.length];
        const cursor = response === undefined ? '' : `&cursor=${response.nextCursor}`;
        const reading = call('GET', `${pathOf(list)}?limit=${limit}&${query}${sort}${cursor}`);
        // Some are inserted while the page is read, and all of them before the next one.
        await insertRows(till, list, meanwhile[number % (3 * meanwhile.length)] ?? []);
        const next: PageBody<Item> = await readJson(await reading, 200);
        assert.equal(next.page, number);
        assert.ok(next.nextCursor === null || next.data.length === limit);
        shown.push(...next.data.map(({ id }) => id));
        response = next;
      }
      assert.equal(new Set(shown).size, shown.length, 'a row is shown twice');
      const known = new Set(existing);
      assert.deepEqual(
        shown.filter((id) => known.has(id)),
        existing,
        'a row is missing, or out of order',
      );
      const matching = new Set(await plainIds(till, list, condition));
      assert.ok(
        shown.every((id) => matching.has(id)),
        'a row does not match',
      );
    }),
    60,
  );
});

test('a walk goes on after the last row of its page was deleted', async () => {
  const created = [];
  for (let count = 0; count < 4; count += 1) created.push((await createCustomer(till)).id);
  const [oldest, third, second, newest] = created;
  const first = await readJson<PageBody<Item>>(await call('GET', '/customers?limit=2'), 200);
  assert.deepEqual(
    first.data.map(({ id }) => id),
    [newest, second],
  );
  assert.equal((await call('DELETE', `/customers/${second}`)).status, 204);
  const next = await readJson<PageBody<Item>>(
    await call('GET', `/customers?limit=2&cursor=${first.nextCursor}`),
    200,
  );
  assert.deepEqual(
    next.data.map(({ id }) => id),
    [third, oldest],
  );
  assert.equal(next.total, first.total - 1);
});

test('a page by its number also has a cursor, and the walk goes on from there', async () => {
  const rows = Array.from({ length: 9 }, (_, index) => ({
    id: `0199c1f0-0000-7000-9000-00000000000${index}`,
    micros: index,
    kind: 0,
  }));
  await insertRows(till, 'invoices', rows);
  const numbered = await readJson<PageBody<Item>>(await call('GET', '/invoices?limit=2&page=3'), 200);
  const walked = await readJson<PageBody<Item>>(
    await call('GET', `/invoices?limit=2&cursor=${numbered.nextCursor}`),
    200,
  );
  assert.deepEqual(walked, await readJson(await call('GET', '/invoices?limit=2&page=4'), 200));
});

test('400: a cursor with a page, with other filters, of another list, or tampered with', async () => {
  const rows = Array.from({ length: 4 }, (_, index) => ({
    id: `0199c1f0-0000-7000-a000-00000000000${index}`,
    micros: index,
    kind: 0,
  }));
  for (const list of ['payments', 'subscriptions'] as const) await insertRows(till, list, rows);
  const filter = 'status=succeeded&createdAfter=2026-01-01T00:00:00Z';
  const { nextCursor } = await readJson<PageBody<Item>>(
    await call('GET', `/payments?limit=2&${filter}`),
    200,
  );
  assert.ok(nextCursor !== null);
  const path = `/payments?cursor=${nextCursor}`;
  // The same filters in another spelling and order, and another limit, are the same walk.
  const same =
    '&limit=1&createdAfter=2026-01-01T02:00:00.000%2B02:00&status=succeeded&sort=-createdAt&include=customer';
  assert.equal((await call('GET', path + same)).status, 200);
  const middle = nextCursor.length / 2;
  for (const [refused, named] of [
    [`${path}&${filter}&page=1`, 'query.page'],
    [`${path}&${filter}&page=2`, 'query.page'],
    [path, 'query.cursor'],
    [`${path}&status=succeeded`, 'query.cursor'],
    [`${path}&${filter}&createdBefore=2027-01-01T00:00:00Z`, 'query.cursor'],
    [`${path}&${filter.replace('succeeded', 'canceled')}`, 'query.cursor'],
    [`${path}&${filter.replace('00Z', '01Z')}`, 'query.cursor'],
    [`${path}&${filter}&customerId=${owners.customers[0]}`, 'query.cursor'],
    [`${path}&${filter}&customerId=x`, 'query.cursor'],
    [`${path}&${filter}&source=all`, 'query.cursor'],
    [`${path}&${filter}&source=subscription`, 'query.cursor'],
    [`${path}&${filter}&subscriptionId=${owners.subscriptions[0]}`, 'query.cursor'],
    [`${path}&${filter}&sort=createdAt`, 'query.cursor'],
    [`${path}&${filter}&sort=-amount`, 'query.cursor'],
    [`/invoices?cursor=${nextCursor}`, 'query.cursor'],
    [`/subscriptions?cursor=${nextCursor}`, 'query.cursor'],
    [`/payments/${owners.payments[0]}/refunds?cursor=${nextCursor}`, 'query.cursor'],
    [`/payments?${filter}&cursor=`, 'query.cursor'],
    [`/payments?${filter}&cursor=x`, 'query.cursor'],
    [`/payments?${filter}&cursor=${'A'.repeat(60)}`, 'query.cursor'],
    [`/payments?${filter}&cursor=${'A'.repeat(1_000)}`, 'query.cursor'],
    [`/payments?${filter}&cursor=%00`, 'query.cursor'],
    [`/payments?${filter}&cursor=${nextCursor}&cursor=${nextCursor}`, 'query.cursor'],
    [`/payments?${filter}&cursor=${nextCursor}A`, 'query.cursor'],
    [`/payments?${filter}&cursor=${nextCursor.slice(0, -1)}`, 'query.cursor'],
    [`/payments?${filter}&cursor=${nextCursor.slice(middle)}${nextCursor.slice(0, middle)}`, 'query.cursor'],
  ] as const) {
    const { errors } = await readProblem(await call('GET', refused), 400, 'invalid_request');
    assert.deepEqual(
      errors?.map(({ path: mistaken }) => mistaken),
      [named],
      refused,
    );
  }
});

test('a cursor of one source is a 400 for another, and with subscriptionId the default source is all', async () => {
  const rows = Array.from({ length: 3 }, (_, index) => ({
    id: `0199c1f0-0000-7000-c000-00000000000${index}`,
    micros: index,
    kind: 6,
  }));
  await insertRows(till, 'payments', rows);
  const of = `subscriptionId=${owners.subscriptions[0]}`;
  const status = async (query: string) => (await call('GET', `/payments?${query}`)).status;
  for (const [query, ...others] of [
    ['source=all', '', 'source=subscription', `source=all&${of}`, of],
    ['source=subscription', '', 'source=all', of],
    [of, '', 'source=all', `source=subscription&${of}`],
  ] as const) {
    const { nextCursor } = await readJson<PageBody<Item>>(
      await call('GET', `/payments?limit=1&${query}`),
      200,
    );
    assert.equal(await status(`${query}&cursor=${nextCursor}`), 200, query);
    for (const other of others) assert.equal(await status(`${other}&cursor=${nextCursor}`), 400, other);
  }
  const { nextCursor } = await readJson<PageBody<Item>>(await call('GET', `/payments?limit=1&${of}`), 200);
  assert.equal(await status(`${of}&source=all&cursor=${nextCursor}`), 200);
});
