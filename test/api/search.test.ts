import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import type { Queryable } from '#core/platform/postgres.ts';
import { createClient } from '../support/client.ts';
import type { EventPage } from '../support/event-feed.ts';
import {
  createCustomer,
  createPaidPayment,
  createPlan,
  type InvoiceBody,
  type PageBody,
  type RefundBody,
} from '../support/objects.ts';
import { readProblem } from '../support/problem.ts';
import { subscribe } from '../support/subscribed.ts';
import { openPool } from '../support/test-database.ts';
import { startTill } from '../support/till.ts';
import { eventOf, idOf } from '../support/webhook-events.ts';

interface Found {
  readonly objectType: string;
  readonly objectId: string;
  readonly customerId: string | null;
  readonly paymentId: string | null;
  readonly label: string;
  readonly description: string | null;
  readonly status: string | null;
  readonly amount: number | null;
  readonly currency: string | null;
  readonly matched: string;
  readonly exact: boolean;
}

const till = await startTill({ in: 'process', for: { after }, mustNotLogErrors: true });

async function search(text: string, client = till): Promise<readonly Found[]> {
  const { data } = await client.get<{ data: readonly Found[] }>(`/search?q=${encodeURIComponent(text)}`);
  return data;
}

const short = (found: readonly Found[]) =>
  found.map(({ objectType, objectId, matched, exact }) => [objectType, objectId, matched, exact]);

test('200: every kind of object is found by its id and by those of the processor', async () => {
  const customer = await createCustomer(till, { email: 'Ida@Example.com', name: 'Ida' });
  const plan = await createPlan(till, { name: 'Gold', interval: 'day' });
  const subscription = await subscribe(till, { plan, customerId: customer.id });
  const payment = await createPaidPayment(till, { customerId: customer.id, description: 'Order 7' });
  await till.post(`/payments/${payment.id}/refund`, { amount: 100 });
  await till.settle();
  const { data: refunds } = await till.get<PageBody<RefundBody>>(`/payments/${payment.id}/refunds`);
  const { data: invoices } = await till.get<PageBody<InvoiceBody>>(`/invoices?customerId=${customer.id}`);
  const [[refund], [invoice]] = [refunds, invoices];
  const [{ charge } = { charge: '' }] = await till.sql<{ charge: string }>(
    'select processor_charge_id as charge from till.payments where id = $1',
    [payment.id],
  );
  assert.ok(refund !== undefined && invoice !== undefined && charge !== '');
  const owned = { customerId: customer.id, description: 'Ida@Example.com' };
  const expected = {
    customer: { objectId: customer.id, ...owned, label: 'Ida', status: null, amount: null },
    plan: { objectId: plan.id, label: 'Gold', description: 'day', status: 'active', amount: plan.amount },
    payment: { objectId: payment.id, ...owned, label: 'Order 7', amount: payment.amount, currency: 'eur' },
    refund: {
      objectId: refund.id,
      ...owned,
      label: refund.processorRefundId,
      paymentId: payment.id,
      amount: 100,
    },
    subscription: { objectId: subscription.id, ...owned, label: 'Gold', status: 'active', amount: null },
    invoice: {
      objectId: invoice.id,
      ...owned,
      label: invoice.number,
      status: 'paid',
      amount: invoice.amountDue,
    },
  };
  for (const [objectType, ids] of Object.entries({
    customer: [customer.processorCustomerId],
    plan: [plan.processorPriceId, plan.processorProductId],
    payment: [payment.processorPaymentIntentId, charge],
    refund: [refund.processorRefundId],
    subscription: [subscription.processorSubscriptionId],
    invoice: [invoice.processorInvoiceId],
  } satisfies Record<keyof typeof expected, readonly string[]>)) {
    const wanted = expected[objectType as keyof typeof expected];
    for (const [text, matched] of [[wanted.objectId, 'id'], ...ids.map((id) => [id, 'processorId'])]) {
      const found = await search(text ?? '');
      assert.partialDeepStrictEqual(found, [{ objectType, ...wanted, matched, exact: true }]);
      assert.equal(found.length, 1);
    }
    assert.deepEqual(
      short(await search(wanted.objectId.slice(0, -2)))
        .at(0)
        ?.slice(2),
      ['id', false],
    );
  }
  assert.deepEqual(short(await search(invoice.number?.toLowerCase() ?? '')), [
    ['invoice', invoice.id, 'number', true],
  ]);
  const byBeginning = short(await search(invoice.number?.slice(0, 6) ?? ''));
  assert.deepEqual(byBeginning, [['invoice', invoice.id, 'number', false]]);
});

test('200: an email is found in upper or lower case, the whole one first, then its beginning', async () => {
  const [longer, whole] = [
    await createCustomer(till, { email: 'grace@example.com.au' }),
    await createCustomer(till, { email: 'Grace@Example.com' }),
  ];
  await createCustomer(till, { email: 'grac@example.com' });
  assert.deepEqual(short(await search('  GRACE@example.com ')), [
    ['customer', whole.id, 'email', true],
    ['customer', longer.id, 'email', false],
  ]);
  assert.equal((await search('grac')).length, 3);
  // No wildcards.
  for (const text of ['gr%', 'gr_ce', 'grace%', '*', 'ra', 'c@']) assert.deepEqual(await search(text), []);
  assert.deepEqual(short(await search('race@EXAMPLE.com')), [
    ['customer', whole.id, 'email', false],
    ['customer', longer.id, 'email', false],
  ]);
});

test('200: parts of names, and the names of plans; beginnings first, the newest first', async () => {
  const [older, newer, third] = [
    await createCustomer(till, { email: 'one@part.test', name: 'Zoë Quimby-Öztürk' }),
    await createCustomer(till, { email: 'two@part.test', name: 'Ann Öztürk-Quimby' }),
    await createCustomer(till, { email: 'three@part.test', name: 'Quimby' }),
  ];
  const plan = await createPlan(till, { name: 'The Quimby plan' });
  assert.deepEqual(short(await search('quimby')), [
    ['customer', third.id, 'name', true],
    ['plan', plan.id, 'name', false],
    ['customer', newer.id, 'name', false],
    ['customer', older.id, 'name', false],
  ]);
  assert.deepEqual(short(await search('ÖZTÜRK')), [
    ['customer', newer.id, 'name', false],
    ['customer', older.id, 'name', false],
  ]);
  assert.deepEqual(short(await search('zo')), [['customer', older.id, 'name', false]]);
  assert.deepEqual(short(await search('the Q')), [['plan', plan.id, 'name', false]]);
  assert.equal((await till.call('DELETE', `/customers/${older.id}`)).status, 204);
  assert.deepEqual(short(await search('ztürk-q')), [['customer', newer.id, 'name', false]]);
  assert.deepEqual(await search('mby-ö'), []);
});

test('200: names that differ only in case are found as in the list of customers', async () => {
  await createCustomer(till, { email: 'kaya@example.com', name: 'İbrahim Kaya' });
  await createCustomer(till, { email: 'homer@example.com', name: 'ΟΔΥΣΣΕΑΣ' });
  for (const text of ['İbrahim', 'ibrahim', 'him ka', 'ΟΔΥΣΣΕΑΣ', 'ΟΔΥΣ', 'οδυσσεασ', 'οδυσσεας']) {
    const list = await till.get<PageBody<{ id: string }>>(`/customers?q=${encodeURIComponent(text)}`);
    const found = await search(text);
    assert.deepEqual(
      found.map(({ objectId, matched }) => [objectId, matched]),
      list.data.map(({ id }) => [id, 'name']),
      text,
    );
  }
});

test('200: a payment by the last four digits of its card, and payments and invoices by their amount', async () => {
  const payment = await createPaidPayment(till, { amount: 123_456 });
  const yen = await createPaidPayment(till, { amount: 1_234, currency: 'jpy' });
  const plan = await createPlan(till, { amount: 123_400 });
  const { customerId } = await subscribe(till, { plan });
  await till.settle();
  const { data: invoices } = await till.get<PageBody<InvoiceBody>>(`/invoices?customerId=${customerId}`);
  const byCard = await search('4242');
  assert.deepEqual(
    byCard.slice(0, 3).map(({ objectType, matched, exact }) => [objectType, matched, exact]),
    Array.from({ length: 3 }, () => ['payment', 'last4', true]),
  );
  assert.deepEqual(await search('4241'), []);
  for (const text of ['1234.56', '1234,56', '1,234.56'])
    assert.deepEqual(short(await search(text)), [['payment', payment.id, 'amount', true]]);
  for (const text of ['€1234.56', '1.234,56 €', 'EUR 1,234.56', '1234.56eur'])
    assert.deepEqual(short(await search(text)), [['payment', payment.id, 'amount', true]], text);
  assert.deepEqual(await search('$1,234.56'), []);
  for (const text of ['¥1234', '1,234 ¥', '￥1234', 'JPY 1234', '1234円', '¥1,234.00'])
    assert.deepEqual(short(await search(text)), [['payment', yen.id, 'amount', true]], text);
  const inEuros = await search('1234 €');
  assert.deepEqual(new Set(inEuros.map(({ objectType }) => objectType)), new Set(['payment', 'invoice']));
  assert.deepEqual(
    inEuros.map(({ amount, currency }) => [amount, currency]),
    [
      [123_400, 'eur'],
      [123_400, 'eur'],
    ],
  );
  // 12.34 is no amount in a currency without decimals.
  const twelve = await createPaidPayment(till, { amount: 1_234 });
  assert.deepEqual(short(await search('12.34')), [['payment', twelve.id, 'amount', true]]);
  const found = await search('1234,00');
  assert.deepEqual(
    new Set(found.map(({ objectType, matched }) => `${objectType} ${matched}`)),
    new Set(['payment amount', 'invoice amount']),
  );
  assert.deepEqual(
    new Set(found.map(({ objectId }) => objectId).filter((id) => id === yen.id || id === invoices[0]?.id)),
    new Set([yen.id, invoices[0]?.id]),
  );
  assert.equal(found.length, 3);
});

test('200: an external id is found in its own case, and an exact match comes before all others', async () => {
  const whole = await createCustomer(till, { externalId: 'user-9' });
  const longer = await createCustomer(till, { externalId: 'user-91' });
  const byEmail = await createCustomer(till, { email: 'user-9@example.com' });
  assert.deepEqual(short(await search('user-9')), [
    ['customer', whole.id, 'externalId', true],
    ['customer', byEmail.id, 'email', false],
    ['customer', longer.id, 'externalId', false],
  ]);
  assert.deepEqual(short(await search('USER-9')), [['customer', byEmail.id, 'email', false]]);
});

test('200: at most 20 objects, the exact one among them', async () => {
  await till.sql(
    `insert into till.customers (id, processor_customer_id, email, processor_as_of, processor_as_of_latest,
       created_at, updated_at)
     select gen_random_uuid(), 'cus_many_' || number, 'many' || number || '@example.com', now(), now(), now(), now()
     from generate_series(1, 30) as number`,
  );
  const found = await search('many');
  assert.deepEqual([found.length, found.every(({ exact }) => !exact)], [20, true]);
  assert.deepEqual(
    [(await search('many29@example.com')).length, (await search('cus_many_30')).length],
    [1, 1],
  );
});

test('200: a deleted customer is found by its ids alone, and nothing shows personal data', async () => {
  const customer = await createCustomer(till, {
    email: 'gone@example.com',
    name: 'Gone',
    externalId: 'gone',
  });
  const payment = await createPaidPayment(till, { customerId: customer.id, description: 'For Gone' });
  assert.equal((await till.call('DELETE', `/customers/${customer.id}`)).status, 204);
  await till.settle();
  for (const text of ['gone@example.com', 'gone', 'Gone']) assert.deepEqual(await search(text), []);
  for (const text of [customer.id, customer.processorCustomerId]) {
    const label = customer.processorCustomerId;
    assert.partialDeepStrictEqual(await search(text), [{ label, description: null, status: 'deleted' }]);
  }
  const label = payment.processorPaymentIntentId;
  assert.partialDeepStrictEqual(await search(payment.id), [
    { label, description: null, status: 'succeeded' },
  ]);
});

test('200: an event by its id, and a webhook event only with the scope operate', async () => {
  const webhookEvent = eventOf('balance.available');
  await till.take(webhookEvent);
  const customer = await createCustomer(till);
  const { data } = await till.get<EventPage>(`/events?objectId=${customer.id}`);
  const [event] = data;
  const { key } = await till.post<{ key: string }>('/api-keys', {
    name: 'reader',
    scopes: ['write', 'refund'],
  });
  const reader = { ...till, ...createClient(till, key) };
  for (const client of [till, reader])
    assert.partialDeepStrictEqual(await search(event?.id ?? '', client), [
      { objectType: 'event', objectId: event?.id, customerId: customer.id, label: 'customer.created' },
    ]);
  const id = idOf(webhookEvent);
  assert.partialDeepStrictEqual(await search(id), [
    {
      objectType: 'webhook_event',
      objectId: id,
      label: 'balance.available',
      status: 'ignored',
      customerId: null,
    },
  ]);
  assert.deepEqual(await search(id, reader), []);
});

test('200: a text that matches nothing, whatever it contains', async () => {
  for (const text of [
    'x'.repeat(255),
    `  ${'é'.repeat(255)}\n`,
    '0199c1f0-6a3e-7c52-9d4b-2f6c1a7e8b90',
    'ffffffff-ffff-ffff-ffff-ffffffffffff',
    'evt_________________',
    'evt_AAAAAAAAAAAAAAAA',
    'pi_unknown',
    "'; drop table till.customers; --",
    '\u{10ffff}\u{10ffff}',
    '\\',
    'a\tb\u0001',
    '$1 {} [] ()',
  ])
    assert.deepEqual(await search(text), [], text);
});

test('400: the problem says how long a text may be', async () => {
  const { detail } = await readProblem(await till.call('GET', '/search?q='), 400, 'invalid_request');
  assert.equal(detail, 'query.q must have 1 to 255 characters, and no U+0000');
});

interface PlanNode {
  readonly 'Node Type': string;
  readonly 'Relation Name'?: string;
  readonly 'Index Name'?: string;
  readonly 'Scan Direction'?: string;
  readonly 'Index Cond'?: string;
  readonly Plans?: readonly PlanNode[];
}

function scansOf(node: PlanNode): readonly PlanNode[] {
  const own = /^(Seq|Index|Index Only|Bitmap Index|Tid.*) Scan$/.test(node['Node Type']) ? [node] : [];
  return [...own, ...(node.Plans ?? []).flatMap(scansOf)];
}

/**
 * Few plans exist. Of the customers, only the newest are walked, up to a limit. A loose scan begins at the first entry.
 */
const isBounded = (scan: PlanNode) =>
  scan['Relation Name'] === 'plans' ||
  scan['Index Name'] === 'customers_created_at_id_idx' ||
  (scan['Index Name']?.endsWith('_amount_idx') === true && scan['Scan Direction'] === 'Forward');

test('every statement finds its rows by a condition on an index', async (t) => {
  // Among the few rows of a test, PostgreSQL would not use an index.
  const pool = openPool({ connectionString: till.databaseUrl, options: '-c enable_seqscan=off' });
  t.after(() => pool.end());
  await pool.query(
    `insert into till.customers (id, processor_customer_id, email, processor_as_of, processor_as_of_latest,
       created_at, updated_at)
     select gen_random_uuid(), 'cus_more_' || n, 'more' || n || '@example.com', now(), now(), now(), now()
     from generate_series(1, 1000) as n`,
  );
  await pool.query('analyze till.customers');
  const scans: PlanNode[] = [];
  let statements = 0;
  const explained: Queryable = {
    query: async (text, values = []) => {
      const { rows } = await pool.query<{ 'QUERY PLAN': readonly [{ Plan: PlanNode }] }>(
        `explain (format json) ${text}`,
        [...values],
      );
      statements += 1;
      scans.push(...rows.flatMap((row) => scansOf(row['QUERY PLAN'][0].Plan)));
      return till.database.query(text, values);
    },
  };
  for (const text of [
    '0199c1f0',
    'evt_AAAAAAAAAAAAAAAA',
    'ida@',
    'Lovelace Ida',
    '山田',
    'xu',
    '4242',
    '58.00',
    '$58',
  ])
    await till.services.search.searchIn(explained, text, { withWebhookEvents: true });
  assert.ok(statements > 40, `${statements} statements`);
  const wrong = scans.filter(
    (scan) => (scan['Node Type'] === 'Seq Scan' || scan['Index Cond'] === undefined) && !isBounded(scan),
  );
  assert.deepEqual(wrong, []);
  const used = new Set(scans.map((scan) => scan['Index Name']));
  const wanted = [
    'customers_email_prefix_idx',
    'customers_name_prefix_idx',
    'customers_part_idx',
    'payments_last4_idx',
    'payments_amount_idx',
    'invoices_amount_idx',
    'external_ids_prefix_idx',
    'invoices_number_idx',
    'payments_charge_idx',
  ];
  assert.deepEqual(
    wanted.filter((name) => !used.has(name)),
    [],
  );
});
