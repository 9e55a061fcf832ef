/** What a GET with include=customer adds, and that it costs one statement for each page. */
import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { startBackend } from '../support/backend.ts';
import { createCheckout } from '../support/checkouts.ts';
import { readJson } from '../support/client.ts';
import {
  createCustomer,
  createPaidPayment,
  type InvoiceBody,
  type PageBody,
  type RefundBody,
} from '../support/objects.ts';
import { readProblem } from '../support/problem.ts';
import { countStatements } from '../support/statement-counter.ts';
import { subscribe } from '../support/subscribed.ts';
import { startTill } from '../support/till.ts';

const backend = await startBackend({ after });
const counter = await countStatements(backend);
const till = await startTill({
  in: 'process',
  on: backend,
  databaseUrl: counter.databaseUrl,
  mustNotLogErrors: true,
});

const newestEvents = '/events?sort=-createdAt&limit=20';

interface Item {
  readonly id: string;
  readonly customerId?: string;
}

const ada = await createCustomer(till, { email: 'ada@example.com', name: 'Ada', externalId: 'user-1' });
const bob = await createCustomer(till, { email: 'bob@example.com' });
const gone = await createCustomer(till, { email: 'gone@example.com' });
for (const { id } of [ada, bob, gone]) {
  const payment = await createPaidPayment(till, { customerId: id });
  await till.post(`/payments/${payment.id}/refund`, { amount: 100 });
  await subscribe(till, { customerId: id });
  await createCheckout(till, { customerId: id, saveCard: true });
}
assert.equal((await till.call('DELETE', `/customers/${gone.id}`)).status, 204);
await till.settle();

const summaries = new Map<string, object>([
  [ada.id, { id: ada.id, externalId: 'user-1', email: 'ada@example.com', name: 'Ada' }],
  [bob.id, { id: bob.id, externalId: null, email: 'bob@example.com', name: bob.name }],
]);

/** The response as text, and the number of statements that it took. */
async function read(path: string): Promise<{ readonly body: string; readonly statements: number }> {
  const before = counter.count();
  const response = await till.call('GET', path);
  assert.equal(response.status, 200, path);
  return { body: await response.text(), statements: counter.count() - before };
}

test('each object of a list gains its customer, null for a deleted one, with one statement more', async () => {
  const { data: payments } = await till.get<PageBody<Item>>('/payments');
  const owners = new Map(payments.map(({ id, customerId }) => [id, customerId]));
  const { data: refunds } = await till.get<PageBody<RefundBody>>('/refunds');
  const ofRefund = new Map(refunds.map(({ id, paymentId }) => [id, owners.get(paymentId)]));
  const ofPayment = `/payments/${payments[0]?.id}/refunds`;
  const others = [
    '/refunds',
    ofPayment,
    '/subscriptions',
    '/invoices',
    '/checkouts',
    '/events',
    newestEvents,
  ];
  for (const path of ['/payments?source=all', ...others]) {
    const join = path.includes('?') ? '&' : '?';
    const plain = await read(path);
    const included = await read(`${path}${join}include=customer`);
    assert.equal(included.statements, plain.statements + 1, path);
    const { data, ...page }: PageBody<Item> = JSON.parse(plain.body);
    const expected = data.map((item) => {
      const owner = item.customerId ?? ofRefund.get(item.id) ?? '';
      return { ...item, customer: summaries.get(owner) ?? null };
    });
    assert.deepEqual(JSON.parse(included.body), { ...page, data: expected }, path);
    assert.ok(data.length > 0);
    assert.ok(!plain.body.includes('"customer":'));
  }
});

test('one object gains its customer too', async () => {
  for (const list of ['payments', 'subscriptions', 'invoices']) {
    const { data } = await till.get<PageBody<Item>>(`/${list}`);
    for (const { id, customerId = '' } of data) {
      const plain = await read(`/${list}/${id}`);
      const included = await read(`/${list}/${id}?include=customer`);
      assert.equal(included.statements, plain.statements + 1);
      assert.deepEqual(JSON.parse(included.body), {
        ...JSON.parse(plain.body),
        customer: summaries.get(customerId) ?? null,
      });
      assert.ok(!plain.body.includes('"customer":'));
    }
  }
});

interface Line {
  readonly description: string | null;
  readonly planId: string | null;
  readonly quantity: number | null;
  readonly amount: number;
}

interface LinePage {
  readonly data: readonly Line[];
  readonly nextCursor: string | null;
}

test('the lines of an invoice are those of the processor, with their plans, page by page', async () => {
  const subscription = await subscribe(till, { customerId: ada.id });
  const { processorSubscriptionId, planId } = subscription;
  for (const amount of [500, -200])
    await till.stripe.invoiceItems.create({
      customer: ada.processorCustomerId,
      subscription: processorSubscriptionId,
      amount,
      currency: 'eur',
      description: `Item of ${amount}`,
    });
  const { id: created } = await till.stripe.invoices.create({
    customer: ada.processorCustomerId,
    subscription: processorSubscriptionId,
  });
  await till.settle();
  const { data } = await till.get<PageBody<InvoiceBody>>('/invoices?limit=100');
  const ofSubscription = data.filter((invoice) => invoice.subscriptionId === subscription.id);
  const first = ofSubscription.find(({ processorInvoiceId }) => processorInvoiceId !== created);
  const second = ofSubscription.find(({ processorInvoiceId }) => processorInvoiceId === created);
  const lines = await till.get<LinePage>(`/invoices/${first?.id}/lines`);
  const there = await till.stripe.invoices.listLineItems(first?.processorInvoiceId ?? '');
  const moment = (seconds = 0) => new Date(seconds * 1_000).toISOString();
  assert.deepEqual(lines, {
    data: there.data.map((line) => ({
      description: line.description,
      planId,
      quantity: 1,
      amount: line.amount,
      currency: 'eur',
      periodStart: moment(line.period.start),
      periodEnd: moment(line.period.end),
      proration: false,
    })),
    nextCursor: null,
  });
  const shown: unknown[] = [];
  let cursor = '';
  for (let pages = 0; pages < 2; pages += 1) {
    const page = await till.get<LinePage>(`/invoices/${second?.id}/lines?limit=1${cursor}`);
    shown.push(...page.data.map(({ planId, amount, quantity }) => [planId, amount, quantity]));
    cursor = page.nextCursor === null ? '' : `&cursor=${page.nextCursor}`;
  }
  assert.deepEqual(new Set(shown.map(String)), new Set([',-200,1', ',500,1']));
  assert.equal(cursor, '');
  const { nextCursor } = await till.get<LinePage>(`/invoices/${second?.id}/lines?limit=1`);
  for (const [path, named] of [
    [`/invoices/${first?.id}/lines?cursor=${nextCursor}`, 'query.cursor'],
    [`/invoices/${second?.id}/lines?cursor=x`, 'query.cursor'],
    [`/invoices/${second?.id}/lines?limit=0`, 'query.limit'],
    [`/invoices/${second?.id}/lines?page=1`, 'query.page'],
  ] as const) {
    const { errors } = await readProblem(await till.call('GET', path), 400, 'invalid_request');
    assert.equal(errors?.[0]?.path, named);
  }
  await readProblem(await till.call('GET', `/invoices/${ada.id}/lines`), 404, 'not_found');
  assert.ok(
    await readJson(await till.call('GET', `/invoices/${second?.id}/lines?cursor=${nextCursor}`), 200),
  );
});
