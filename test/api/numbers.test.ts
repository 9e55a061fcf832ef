import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { fieldsOf, queryOf } from '../fuzz/operation-parts.ts';
import { createCheckout } from '../support/checkouts.ts';
import { testKey } from '../support/client.ts';
import { effort, rotation } from '../support/effort.ts';
import {
  createCustomer,
  createPaidPayment,
  createPayment,
  createPlan,
  createSubscription,
  type PageBody,
} from '../support/objects.ts';
import { type Documented, loadOpenapi, type Schema } from '../support/openapi-document.ts';
import { readProblem } from '../support/problem.ts';
import { startTill } from '../support/till.ts';

const till = await startTill({ in: 'process', for: { after }, mustNotLogErrors: true });
const { operations } = await loadOpenapi(till.url);
const api = operations.filter(({ isApi }) => isApi);

/** Every other way to write a number in a query: only plain digits are accepted. */
const wrongTexts = [
  ...['1e400', '-1e400', '1e2', '1E0', '1.0', '1.5', '.5', '1.', '0x10', '0b1', '0o7', '1_0', '1,0', '01'],
  ...['%201', '1%20', '%0a1', '%2b1', '+1', '-0', '--1', '', '%20', 'x', 'null', 'true', 'NaN', 'Infinity'],
  ...['[1]', '%D9%A1', '%EF%BC%91', '9'.repeat(400), '12345678901234567890', '9007199254740993', '1e15'],
];

/** Numbers in JSON that are neither an amount nor a number of days. */
const wrongNumbers = [
  ...['1e400', '-1e400', '1e15', '-0', '-0.0', '-1', '1.5', '0.1', '-1e-400'],
  ...['12345678901234567890', '9007199254740993', '1000000000000', '9'.repeat(400)],
  ...['"1"', '""', 'null', 'true', '[]', '[1]', '{}'],
];

/** All operations share the parser of numbers, so each meets only a few of them in the short form. */
const nextTexts = rotation(wrongTexts, 5);
const nextNumbers = rotation(wrongNumbers, 5);

const isInteger = ([, { type }]: readonly [string, Schema]) => type === 'integer';
const integersOf = (fields: Readonly<Record<string, Schema>>) =>
  Object.entries(fields)
    .filter(isInteger)
    .map(([name]) => name);

test('400: every integer parameter of every operation takes decimal digits and nothing else', async () => {
  let tried = 0;
  for (const operation of api) {
    const names = integersOf(queryOf(operation));
    if (names.length === 0) continue;
    const path = await pathOf(operation);
    const required = await requiredOf(operation);
    for (const name of names) {
      const queries = [...nextTexts().map((text) => `${name}=${text}`), `${name}=1&${name}=1`, name];
      for (const query of queries) {
        const response = await send(operation.method, `${path}?${query}${required}`);
        await assertNames(response, `query.${name}`, `${operation.name}?${query}`);
        tried += 1;
      }
      // A range of amounts needs a currency.
      const currency = name.startsWith('amount') ? '&currency=eur' : '';
      assert.equal(
        (await send(operation.method, `${path}?${name}=1${currency}${required}`)).status,
        200,
        operation.name,
      );
    }
  }
  const triedMin = effort({ short: 100, long: 400 });
  assert.ok(tried > triedMin, `only ${tried} queries were tried`);
});

test('400: every integer field of every body takes whole numbers within its limits, and no negative zero', async () => {
  let tried = 0;
  for (const operation of api) {
    for (const name of integersOf(fieldsOf(operation))) {
      const path = await pathOf(operation);
      const body = await bodyOf(operation);
      // Usage is also counted in bytes.
      const largest = operation.path.startsWith('/api/v1/usage') ? '1000000000000' : undefined;
      for (const number of nextNumbers().filter((one) => one !== largest)) {
        // By hand: most of these numbers would not survive JSON.stringify.
        const text = JSON.stringify({ ...body, [name]: '<number>' }).replace('"<number>"', number);
        const response = await send(operation.method, path, text);
        await assertNames(response, `body.${name}`, `${operation.name} ${text.slice(0, 300)}`);
        tried += 1;
      }
    }
  }
  const triedMin = effort({ short: 40, long: 60 });
  assert.ok(tried > triedMin, `only ${tried} bodies were tried`);
});

test('a JSON number may be written in any way that is the same whole number', async () => {
  const { id } = await createCustomer(till);
  for (const amount of ['2000', '2000.0', '2e3', '200000e-2']) {
    const text = `{"customerId":"${id}","amount":${amount},"currency":"eur","idempotencyKey":"written-${id}"}`;
    const response = await send('POST', '/api/v1/payments', text);
    assert.equal(response.status, 201, await response.text());
  }
});

function send(method: string, path: string, body?: string): Promise<Response> {
  return fetch(`${till.url}${path}`, {
    method,
    headers: {
      'x-api-key': testKey,
      ...(body === undefined ? {} : { 'content-type': 'application/json' }),
    },
    ...(body === undefined ? {} : { body }),
  });
}

async function assertNames(response: Response, path: string, what: string): Promise<void> {
  assert.equal(response.status, 400, `${what}: ${await response.clone().text()}`);
  const { errors, detail } = await readProblem(response, 400, 'invalid_request');
  assert.deepEqual([...new Set(errors?.map((error) => error.path))], [path], what);
  assert.ok(detail.includes(path), `${what}: ${detail}`);
}

/** The filters without which a list is refused. */
async function requiredOf({ path }: Documented): Promise<string> {
  if (path.startsWith('/api/v1/usage')) return `&customerId=${(await createCustomer(till)).id}`;
  if (path === '/api/v1/overview/moves') return '&move=new&currency=eur';
  return path === '/api/v1/overview/subscribers' ? '&currency=eur' : '';
}

async function pathOf({ path }: Documented): Promise<string> {
  if (!path.includes('{id}')) return path;
  if (path.startsWith('/api/v1/subscriptions/'))
    return path.replace('{id}', (await createSubscription(till, { trialPeriodDays: 7 })).subscription.id);
  if (path.startsWith('/api/v1/checkouts/')) {
    const { id: customerId } = await createCustomer(till);
    return path.replace('{id}', (await createCheckout(till, { customerId, saveCard: true })).checkout.id);
  }
  if (path.startsWith('/api/v1/invoices/')) {
    const { subscription } = await createSubscription(till);
    await till.settle();
    const invoices = await till.get<PageBody<{ id: string }>>(`/invoices?subscriptionId=${subscription.id}`);
    return path.replace('{id}', invoices.data[0]?.id ?? '');
  }
  if (path.startsWith('/api/v1/events/')) {
    await createCustomer(till);
    const events = await till.get<PageBody<{ id: string }>>('/events?limit=1');
    return path.replace('{id}', events.data[0]?.id ?? '');
  }
  if (path.startsWith('/api/v1/event-endpoints/')) {
    const { id } = await till.post<{ id: string }>('/event-endpoints', { url: 'https://shop.example.com/' });
    return path.replace('{id}', id);
  }
  assert.ok(path.startsWith('/api/v1/payments/{id}/'), `nothing is created for ${path}`);
  const { id } = path.endsWith('/refund') ? await createPaidPayment(till) : await createPayment(till);
  return path.replace('{id}', id);
}

/** The documented example, about things that exist. */
async function bodyOf({ requestBody }: Documented): Promise<object> {
  const example = requestBody?.content['application/json']?.example ?? {};
  return {
    ...example,
    ...('customerId' in example ? { customerId: (await createCustomer(till)).id } : {}),
    ...('planId' in example ? { planId: (await createPlan(till)).id } : {}),
  };
}
