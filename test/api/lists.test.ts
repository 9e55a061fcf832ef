import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import fc from 'fast-check';
import { readJson } from '../support/client.ts';
import { createCustomer, onlyPage, type PageBody } from '../support/objects.ts';
import { assertProperty } from '../support/seeds.ts';
import { startTill } from '../support/till.ts';

const till = await startTill({ in: 'process', for: { after }, mustNotLogErrors: true });
const { call, sql } = till;

interface Item {
  readonly id: string;
  readonly createdAt: string;
}

const resources = ['customers', 'payments', 'subscriptions', 'invoices'] as const;
const ofCustomers = ['payments', 'subscriptions', 'invoices'] as const;
type Resource = (typeof resources)[number];

const [firstCustomer, secondCustomer] = [await createCustomer(till), await createCustomer(till)];
const plan = '0199c1f0-7b11-7d0e-8a52-6f0a3c9d2e11';
await sql(
  `insert into till.plans (id, processor_product_id, processor_price_id, name, amount, currency, interval,
     product_active, price_active, product_as_of, product_as_of_latest, price_as_of, price_as_of_latest,
     created_at, updated_at)
   values ($1, 'prod_x', 'price_x', 'Gold', 1, 'eur', 'month', true, true, now(), now(), now(), now(), now(), now())`,
  [plan],
);

/** Every third row shares its time with two others, so that only the id tells them apart. */
const times = `timestamptz '2026-01-01' + interval '1 second' * (n / 3)`;
const inserts: Readonly<Record<Resource, string>> = {
  customers: `insert into till.customers (id, processor_customer_id, email, processor_as_of, processor_as_of_latest,
      created_at, updated_at)
    select gen_random_uuid(), 'cus_' || gen_random_uuid(), 'x@example.com', now(), now(), ${times}, now()
    from generate_series(1, $1) n, (select $2::uuid) as unused`,
  payments: `insert into till.payments (id, processor_payment_intent_id, customer_id, amount, currency, intent_status,
      processor_as_of, processor_as_of_latest, created_at, updated_at)
    select gen_random_uuid(), 'pi_' || gen_random_uuid(), $2, 2000, 'eur', 'processing', now(), now(), ${times}, now()
    from generate_series(1, $1) n`,
  subscriptions: `insert into till.subscriptions (id, processor_subscription_id, processor_main_item_id, customer_id,
      plan_id, status, processor_as_of, processor_as_of_latest, created_at, updated_at)
    select gen_random_uuid(), 'sub_' || gen_random_uuid(), 'si_1', $2, '${plan}', 'active', now(), now(), ${times}, now()
    from generate_series(1, $1) n`,
  invoices: `insert into till.invoices (id, processor_invoice_id, customer_id, amount_due, amount_paid, amount_remaining, currency,
      status, attempt_count, processor_as_of, processor_as_of_latest, created_at, updated_at)
    select gen_random_uuid(), 'in_' || gen_random_uuid(), $2, 1, 1, 0, 'eur', 'paid', 1, now(), now(), ${times}, now()
    from generate_series(1, $1) n`,
};

async function list(resource: Resource, query: string): Promise<PageBody<Item>> {
  return readJson(await call('GET', `/${resource}?${query}`), 200);
}

/** The ids in the order in which every list shows them, by the plainest of queries. */
async function idsOf(resource: Resource, customerId?: string): Promise<readonly string[]> {
  const live = resource === 'customers' ? 'deleted_at is null' : 'true';
  const owned = customerId === undefined ? '$1::uuid is null' : 'customer_id = $1';
  const rows = await sql<{ id: string }>(
    `select id from till.${resource} where ${live} and ${owned} order by created_at desc, id desc`,
    [customerId ?? null],
  );
  return rows.map(({ id }) => id);
}

test('a list of nothing is empty, and its total is 0', async () => {
  for (const resource of ofCustomers) {
    assert.deepEqual(await list(resource, ''), { ...onlyPage, data: [], total: 0 });
    assert.deepEqual(await list(resource, 'page=7'), { ...onlyPage, data: [], total: 0, page: 7 });
  }
});

test('every page of every list shows what a plain query in the same order shows, whatever its size', async () => {
  for (const resource of resources) {
    for (const owner of [firstCustomer, secondCustomer]) await sql(inserts[resource], [31, owner.id]);
    const filters = resource === 'customers' ? [undefined] : [undefined, firstCustomer.id];
    for (const customerId of filters) {
      const ids = await idsOf(resource, customerId);
      const filter = customerId === undefined ? '' : `&customerId=${customerId}`;
      await assertProperty(
        fc.asyncProperty(fc.integer({ min: 1, max: 100 }), fc.nat(), async (limit, number) => {
          const pages = Math.ceil(ids.length / limit);
          // Up to the last page, and one beyond it.
          const page = 1 + (number % (pages + 1));
          const response = await list(resource, `page=${page}&limit=${limit}${filter}`);
          assert.deepEqual(
            {
              ...response,
              data: response.data.map(({ id }) => id),
              nextCursor: response.nextCursor !== null,
            },
            {
              data: ids.slice((page - 1) * limit, page * limit),
              total: ids.length,
              totalCapped: false,
              page,
              limit,
              nextCursor: page < pages,
            },
          );
        }),
        40,
      );
    }
  }
});

test('walking through the pages meets every row once, newest first, and equal times in the order of ids', async () => {
  for (const resource of resources) {
    const walked: Item[] = [];
    for (let page = 1; ; page += 1) {
      const { data } = await list(resource, `page=${page}&limit=7`);
      if (data.length === 0) break;
      walked.push(...data);
    }
    assert.deepEqual(
      walked.map(({ id }) => id),
      await idsOf(resource),
    );
    for (const [index, next] of walked.slice(1).entries()) {
      const one = walked[index];
      assert.ok(one !== undefined);
      assert.ok(one.createdAt > next.createdAt || (one.createdAt === next.createdAt && one.id > next.id));
    }
  }
});

test('the default is the first page of twenty, and page and limit go to their limits', async () => {
  for (const resource of resources) {
    const first = await list(resource, '');
    assert.deepEqual([first.page, first.limit, first.data.length], [1, 20, 20]);
    assert.equal((await list(resource, 'limit=100')).data.length, Math.min(100, first.total));
    assert.equal((await list(resource, 'limit=1')).data.length, 1);
    const last = await list(resource, 'page=2147483647&limit=100');
    assert.deepEqual([last.data, last.total], [[], first.total]);
  }
});

test('the list of one customer holds what is of this customer, and its total counts nothing else', async () => {
  for (const resource of ofCustomers) {
    const mine = await list(resource, `customerId=${secondCustomer.id}&limit=100`);
    assert.deepEqual(
      mine.data.map(({ id }) => id),
      await idsOf(resource, secondCustomer.id),
    );
    assert.equal(mine.total, 31);
    assert.equal((await list(resource, `customerId=${secondCustomer.id.toUpperCase()}`)).total, 31);
  }
});

test('an unknown customer, or an id that is not a UUID, has an empty list', async () => {
  const unknown = ['0199c1f0-6a3e-7c52-9d4b-2f6c1a7e8b90', 'cus_123', '', '%27', '{}', 'null'];
  for (const resource of ofCustomers) {
    for (const customerId of unknown) {
      const empty = await list(resource, `customerId=${customerId}&page=2`);
      assert.deepEqual(empty, { ...onlyPage, data: [], total: 0, page: 2 }, `${resource} of ${customerId}`);
    }
  }
});

test('a total always agrees with its page, while customers come and go', async () => {
  const before = (await list('customers', '')).total;
  let busy = true;
  const comeAndGo = async () => {
    const customers = await Promise.all(Array.from({ length: 20 }, () => createCustomer(till)));
    const leaving = customers.slice(0, 10);
    await Promise.all(leaving.map(({ id }) => call('DELETE', `/customers/${id}`)));
  };
  const watch = async () => {
    // Responses of a hundred rows a page show the whole list as it was at one moment.
    while (busy) {
      const [first, second] = [
        await list('customers', 'limit=100'),
        await list('customers', 'limit=100&page=2'),
      ];
      assert.equal(first.data.length, Math.min(first.total, 100));
      assert.equal(second.data.length, Math.max(Math.min(second.total - 100, 100), 0));
    }
  };
  const writers = Promise.all([comeAndGo(), comeAndGo(), comeAndGo()]).finally(() => {
    busy = false;
  });
  await Promise.all([writers, watch()]);
  assert.equal((await list('customers', '')).total, before + 30);
  assert.equal((await idsOf('customers')).length, before + 30);
});

test('a total is right after inserts on many connections at once, even when some are rolled back', async () => {
  for (const resource of ofCustomers) {
    const before = (await list(resource, '')).total;
    const insertTwo = inserts[resource].replace('$1', '2').replace('$2', `'${firstCustomer.id}'`);
    const statements = Array.from({ length: 30 }, (_, index) =>
      index % 3 === 0
        ? assert.rejects(
            sql(`do $$ begin ${insertTwo}; raise exception 'changed my mind'; end $$`),
            /changed my mind/,
          )
        : sql(inserts[resource], [2, firstCustomer.id]),
    );
    await Promise.all(statements);
    assert.equal((await list(resource, '')).total, before + 40);
    assert.equal((await idsOf(resource)).length, before + 40);
  }
});
