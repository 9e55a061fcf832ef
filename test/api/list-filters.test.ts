import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { after, test } from 'node:test';
import fc from 'fast-check';
import { totalMax } from '#engine/mirrors/row-window.ts';
import { CustomerStore } from '#features/customers/customer-store.ts';
import { readJson } from '../support/client.ts';
import {
  clearRows,
  insertOwners,
  insertRows,
  type Listed,
  listed,
  owners,
  pathOf,
  plainIds,
} from '../support/list-rows.ts';
import { createCustomer, onlyPage, type PageBody } from '../support/objects.ts';
import { readProblem } from '../support/problem.ts';
import { assertProperty } from '../support/seeds.ts';
import { startTill } from '../support/till.ts';

const till = await startTill({ in: 'process', for: { after }, mustNotLogErrors: true });
const { call, sql } = till;
await insertOwners(till);

interface Item {
  readonly id: string;
  readonly createdAt: string;
}

const [customer, otherCustomer] = owners.customers;
const [plan, otherPlan] = owners.plans;
const [subscription, otherSubscription] = owners.subscriptions;
const unknownId = '0199c1f0-6a3e-7c52-9d4b-2f6c1a7e8b90';

type Condition = readonly [value: string, condition: string];

const ofColumn = (column: string, ...values: readonly string[]): readonly Condition[] =>
  values.map((value) => [value, `${column} = '${value.toLowerCase()}'`]);
const times = ['2026-01-01T00:00:00Z', '2026-01-01T00:00:00.001500Z', '2026-01-01T01:00:00.002%2B01:00'];
const ofTime = (comparison: string): readonly Condition[] =>
  times.map((time) => [time, `created_at ${comparison} '${decodeURIComponent(time)}'`]);

const ofSubscriptions: readonly Condition[] = [
  ...[subscription, otherSubscription].map(
    (id): Condition => [id, `processor_subscription_id = 'sub_${id}'`],
  ),
  [unknownId, 'false'],
];

/** Without these filters, payments are those created through the API. */
const showsCreatedOnly = (list: Listed, queries: readonly string[]) =>
  list === 'payments' && !queries.some((query) => /^(source|subscriptionId)=/.test(query));

/** The values of each filter to try, with the condition of a plain query. */
const filters: Readonly<Record<Listed, Readonly<Record<string, readonly Condition[]>>>> = {
  customers: {
    email: ofColumn('lower(email)', 'ADA@example.com', 'bob@example.com', 'eve@example.com'),
    q: ['LOVE', 'l%20a', '@exa', 'com', '田中', 'J%C3%9CRGEN', 'jurgen', 'com%20%25_', 'nobody'].map(
      (text) => [
        text,
        decodeURIComponent(text)
          .split(' ')
          .map((word) => (/^[a-z%_]{1,2}$/.test(word) ? ` ${word}` : word.toLowerCase().replace('ü', 'u')))
          .map((word) => `position('${word}' in replace(lower(concat(' ', name, ' ', email)), 'ü', 'u')) > 0`)
          .join(' and '),
      ],
    ),
  },
  payments: {
    customerId: ofColumn('customer_id', customer, otherCustomer.toUpperCase(), unknownId),
    status: ofColumn('status', 'succeeded', 'canceled', 'refunded'),
    currency: ofColumn('currency', 'eur', 'USD', 'Jpy'),
    failed: [['true', `failure is not null and intent_status <> 'succeeded'`]],
    refunded: [
      ['true', 'amount_refunded > 0'],
      ['none', 'amount_refunded = 0'],
      ['partial', `amount_refunded > 0 and status <> 'refunded'`],
      ['full', `status = 'refunded'`],
    ],
    disputeStatus: [
      ...ofColumn(`dispute ->> 'status'`, 'won', 'needs_response', 'lost'),
      ['won,needs_response', `dispute ->> 'status' in ('won', 'needs_response')`],
    ],
    failureCode: ['card_declined', 'insufficient_funds', 'expired_card', 'unknown'].map((code) => [
      code,
      `intent_status <> 'succeeded' and (failure ->> 'code' = '${code}' or failure ->> 'declineCode' = '${code}')`,
    ]),
    amountMin: [['2500', 'amount >= 2500']],
    amountMax: [
      ['2500', 'amount <= 2500'],
      ['0', 'false'],
    ],
    disputed: [['true', 'dispute is not null']],
    subscriptionId: ofSubscriptions,
    source: [
      ['subscription', 'processor_invoice_id is not null'],
      ['all', 'true'],
    ],
  },
  subscriptions: {
    customerId: ofColumn('customer_id', customer, otherCustomer),
    status: ofColumn('status', 'active', 'trialing', 'unpaid'),
    planId: ofColumn('plan_id', plan, otherPlan.toUpperCase(), unknownId),
    addOnPlanId: [plan, otherPlan.toUpperCase(), unknownId].map((id) => [
      id,
      `add_ons @> '[{"planId": "${id.toLowerCase()}"}]'`,
    ]),
    currency: ['eur', 'USD', 'Jpy'].map((currency) => [
      currency,
      `(select plans.currency from till.plans where plans.id = plan_id) = '${currency.toLowerCase()}'`,
    ]),
  },
  invoices: {
    customerId: ofColumn('customer_id', customer, otherCustomer),
    status: ofColumn('status', 'paid', 'open', 'draft'),
    subscriptionId: ofSubscriptions,
    number: ofColumn('lower(number)', 'A1-0001', 'b2-0007', 'A1-0002'),
  },
  refunds: {},
};

/** The orders of each list, with that of a plain query. */
const orders: Readonly<Record<string, string>> = {
  '': 'created_at desc, id desc',
  '-createdAt': 'created_at desc, id desc',
  createdAt: 'created_at, id',
};
const ordersByAmount: Readonly<Partial<Record<Listed, Readonly<Record<string, string>>>>> = {
  payments: { '-amount': 'amount desc, created_at desc, id desc', amount: 'amount, created_at, id' },
  invoices: {
    '-amountDue': 'amount_due desc, created_at desc, id desc',
    amountDue: 'amount_due, created_at, id',
  },
};

const requests = fc.constantFrom(...listed).chain((list) => {
  const all = { ...filters[list], createdAfter: ofTime('>='), createdBefore: ofTime('<') };
  const chosen = Object.entries(all).map(([name, conditions]) =>
    fc.option(
      fc.constantFrom(...conditions).map(([value, condition]) => ({ query: `${name}=${value}`, condition })),
      { nil: null },
    ),
  );
  return fc.record({
    list: fc.constant(list),
    filters: fc.tuple(...chosen).map((some) => withCurrency(some.filter((one) => one !== null))),
    sort: fc.constantFrom(...Object.entries({ ...orders, ...ordersByAmount[list] })),
    limit: fc.constantFrom(1, 5, 20, 100),
    page: fc.integer({ min: 1, max: 12 }),
  });
});

interface UsedFilter {
  readonly query: string;
  readonly condition: string;
}

/** A range of amounts needs a currency. */
function withCurrency(used: readonly UsedFilter[]): readonly UsedFilter[] {
  const needsCurrency = used.some(({ query }) => query.startsWith('amountM'));
  if (!needsCurrency || used.some(({ query }) => query.startsWith('currency='))) return used;
  return [...used, { query: 'currency=eur', condition: `currency = 'eur'` }];
}

test('every filter, alone and combined, in every order, shows what a plain query shows', async () => {
  const rows = fc.sample(
    fc.record({ id: fc.uuid(), micros: fc.integer({ min: 0, max: 3_000 }), kind: fc.nat(35) }),
    { seed: 1, numRuns: 60 },
  );
  for (const list of listed) await insertRows(till, list, rows);
  await assertProperty(
    fc.asyncProperty(requests, async ({ list, filters: used, sort: [sort, order], limit, page }) => {
      const isCreated = showsCreatedOnly(
        list,
        used.map((one) => one.query),
      );
      const conditions = [
        isCreated ? 'processor_invoice_id is null' : 'true',
        ...used.map((one) => one.condition),
      ];
      const ids = await plainIds(till, list, conditions.map((one) => `(${one})`).join(' and '), order);
      const sorted = sort === '' ? [] : [`sort=${sort}`];
      const query = [...used.map((one) => one.query), ...sorted, `limit=${limit}`, `page=${page}`].join('&');
      const response: PageBody<Item> = await readJson(await call('GET', `${pathOf(list)}?${query}`), 200);
      assert.deepEqual(
        { ...response, data: response.data.map(({ id }) => id), nextCursor: response.nextCursor !== null },
        {
          data: ids.slice((page - 1) * limit, page * limit),
          total: ids.length,
          totalCapped: false,
          page,
          limit,
          nextCursor: page * limit < ids.length,
        },
        query,
      );
    }),
    300,
  );
});

test('a customer is found by the email in upper or lower case, and not once it is deleted', async () => {
  const grace = await createCustomer(till, { email: 'Grace.Hopper@Example.com' });
  const find = async (email: string) => readJson(await call('GET', `/customers?email=${email}`), 200);
  for (const email of [grace.email, 'grace.hopper@example.com', 'GRACE.HOPPER@EXAMPLE.COM'])
    assert.deepEqual(await find(email), { ...onlyPage, data: [grace], total: 1 });
  assert.deepEqual(await find('grace@example.com'), { ...onlyPage, data: [], total: 0 });
  assert.equal((await call('DELETE', `/customers/${grace.id}`)).status, 204);
  assert.deepEqual(await find(grace.email), { ...onlyPage, data: [], total: 0 });
});

test('createdAfter includes its time and createdBefore excludes it', async () => {
  const { id, createdAt } = await createCustomer(till);
  const ids = async (query: string) => {
    const { data } = await readJson<PageBody<Item>>(await call('GET', `/customers?${query}`), 200);
    return data.filter((one) => one.id === id).length;
  };
  const next = new Date(Date.parse(createdAt) + 1).toISOString();
  assert.equal(await ids(`createdAfter=${createdAt}&createdBefore=${next}`), 1);
  assert.equal(await ids(`createdBefore=${createdAt}`), 0);
  assert.equal(await ids(`createdAfter=${next}`), 0);
});

test('400: the problem says how long a text may be', async () => {
  const { detail } = await readProblem(await till.call('GET', '/customers?q='), 400, 'invalid_request');
  assert.equal(detail, 'query.q must have 1 to 255 characters, and no control characters');
});

test('400: a range of amounts without a currency', async () => {
  for (const query of ['amountMin=1', 'amountMax=1', 'amountMin=1&amountMax=2&status=succeeded']) {
    const { errors } = await readProblem(await call('GET', `/payments?${query}`), 400, 'invalid_request');
    assert.deepEqual(
      errors?.map(({ path }) => path),
      ['query.currency'],
    );
  }
});

test('a part that many customers have shows the same customers as one that is found by the index', async () => {
  const [usual, indexed, walked] = [
    new CustomerStore(),
    new CustomerStore({ share: 2, min: 1_000 }),
    new CustomerStore({ share: 2, min: 0 }),
  ];
  for (const q of [
    'ada',
    '@example',
    'LOVE',
    'nobody',
    'ada@example.com',
    'x'.repeat(255),
    'com ada',
    'a',
    '´',
  ])
    for (const sort of ['-createdAt', 'createdAt'])
      for (const page of [1, 2]) {
        const request = { limit: 7, page, sort, filters: { q, createdAfter: times[1] } };
        const expected = await walked.list(till.database, request);
        for (const store of [usual, indexed])
          assert.deepEqual(await store.list(till.database, request), expected);
        const { nextCursor: cursor } = expected;
        if (cursor === null) continue;
        const next = { limit: 7, cursor, sort, filters: request.filters };
        assert.deepEqual(
          await indexed.list(till.database, next),
          await walked.list(till.database, next),
          'a cursor fits both',
        );
      }
});

test('with a filter other than customerId a total stops at 10,000', async () => {
  await clearRows(till, 'payments');
  const insert = (count: number) =>
    sql(
      `insert into till.payments (id, processor_payment_intent_id, amount, currency, customer_id, intent_status,
         processor_as_of, processor_as_of_latest, created_at, updated_at)
       select gen_random_uuid(), 'pi_' || gen_random_uuid(), 1, 'eur', $1, 'processing', now(), now(),
         timestamptz '2026-01-01' + n * interval '1 second', now()
       from generate_series(1, ${count}) as n`,
      [otherCustomer],
    );
  const totals = async (query: string) => {
    const response = await readJson<PageBody<Item>>(await call('GET', `/payments?${query}`), 200);
    return [response.total, response.totalCapped, response.data.length];
  };
  await insert(totalMax);
  assert.deepEqual(await totals('status=processing'), [10_000, false, 20]);
  await insert(30);
  assert.deepEqual(await totals('status=processing'), [10_000, true, 20]);
  assert.deepEqual(await totals('createdAfter=2026-01-01T00:00:00Z'), [10_000, true, 20]);
  assert.deepEqual(await totals(`status=processing&customerId=${otherCustomer}`), [10_000, true, 20]);
  // Pages behind the cap are there.
  assert.deepEqual(await totals('status=processing&limit=100&page=101'), [10_000, true, 30]);
  assert.deepEqual(await totals('status=processing&limit=100&page=102'), [10_000, true, 0]);
  assert.deepEqual(await totals(`customerId=${otherCustomer}`), [10_030, false, 20]);
  assert.deepEqual(await totals(''), [10_031, false, 20]);
  // A source is a filter.
  assert.deepEqual(await totals('source=all'), [10_000, true, 20]);
  assert.deepEqual(await totals(`source=all&customerId=${otherCustomer}`), [10_000, true, 20]);
  assert.deepEqual(await totals('source=subscription'), [0, false, 0]);
  // The headers of a file say the same.
  for (const query of ['status=processing', `customerId=${otherCustomer}`, '', 'source=subscription']) {
    const file = await call('GET', `/payments?${query}`, undefined, { accept: 'text/csv' });
    await file.text();
    const [total, totalCapped] = await totals(query);
    assert.deepEqual(
      [file.headers.get('x-total-count'), file.headers.get('x-total-capped')],
      [String(total), String(totalCapped)],
      query,
    );
  }
});

test('a range of amounts shows the same payments, whether few or many are within it', async () => {
  // More payments than a total counts. These few are of another facet, or of another amount.
  await insertRows(
    till,
    'payments',
    Array.from({ length: 36 }, (_, kind) => ({ id: randomUUID(), micros: kind * 1_000_000, kind })),
  );
  // The amounts of a range are read one by one, unless there are many.
  for (const amounts of [1, 3, 150]) {
    await sql(
      `update till.payments set amount = 1 + mod(extract(epoch from created_at)::bigint, ${amounts})
       where intent_status = 'processing'`,
    );
    await showsAmounts();
  }
});

async function showsAmounts(): Promise<void> {
  for (const range of [
    'amountMin=1',
    'amountMax=1',
    'amountMin=1&amountMax=2500',
    'amountMin=2000',
    'amountMin=9000',
  ])
    for (const others of [
      '',
      '&status=succeeded',
      '&status=canceled&source=all',
      '&refunded=partial&source=all',
    ]) {
      const conditions = [...`${range}${others}`.split('&')].map(conditionOfAmounts);
      const ids = await plainIds(till, 'payments', ["currency = 'eur'", ...conditions].join(' and '));
      const only = others.includes('source') ? ids : await onlyCreated(ids);
      for (const page of [1, 2]) {
        const query = `currency=eur&${range}${others}&limit=7&page=${page}`;
        const response = await readJson<PageBody<Item>>(await call('GET', `/payments?${query}`), 200);
        assert.deepEqual(
          [response.data.map(({ id }) => id), response.total],
          [only.slice((page - 1) * 7, page * 7), Math.min(only.length, totalMax)],
          query,
        );
      }
    }
}

function conditionOfAmounts(query: string): string {
  const [name, value] = query.split('=');
  if (name === 'amountMin') return `amount >= ${value}`;
  if (name === 'amountMax') return `amount <= ${value}`;
  if (name === 'status') return `status = '${value}'`;
  return name === 'refunded' ? `amount_refunded > 0 and status <> 'refunded'` : 'true';
}

async function onlyCreated(ids: readonly string[]): Promise<readonly string[]> {
  const created = new Set(await plainIds(till, 'payments', 'processor_invoice_id is null'));
  return ids.filter((id) => created.has(id));
}
