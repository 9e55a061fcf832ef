import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { Till } from './till.ts';
import { UsageNotSentError } from './usage/usage-recorder.ts';

/** Only the processor can sign its webhooks, so no application calls this. */
const notForApplications = ['POST /webhooks/processor'];

interface OpenapiDocument {
  readonly paths: Readonly<Record<string, Readonly<Record<string, unknown>>>>;
}

const document: OpenapiDocument = JSON.parse(
  readFileSync(fileURLToPath(new URL('../../openapi.json', import.meta.url)), 'utf8'),
);
const operations = Object.entries(document.paths).flatMap(([path, methods]) =>
  Object.keys(methods).map((method) => `${method.toUpperCase()} ${path}`),
);

/** Arguments that every method accepts: ids first, then a body or a query. */
const anything = ['id', 'id', {}, {}];

test('there is a method for every operation of the OpenAPI document, and no other', async () => {
  const sent: string[] = [];
  const till = new Till({
    url: 'http://till.example.com',
    apiKey: 'key',
    fetch: async (input, init) => {
      const { pathname } = new URL(String(input));
      sent.push(`${init?.method} ${pathname}`);
      const body = { data: [], nextCursor: null, rejected: [] };
      return Response.json(body, { headers: { etag: '"1"' } });
    },
  });
  for (const call of methodsOf(till)) {
    const before = sent.length;
    await useUp(await call());
    assert.equal(sent.length, before + 1, 'one request for each call');
  }
  const recorded = till.usage.record({ ...customer, meter: 'api_calls' });
  await till.usage.flush();
  await recorded;
  const known = operations.filter((operation) => !notForApplications.includes(operation));
  const found = new Set(sent.map((request) => operationOf(request, known)));
  assert.deepEqual([...found].toSorted(), known.toSorted());
});

test('usage without an id gets one of its own, which begins with the time', async () => {
  const ids: string[] = [];
  const till = new Till({
    url: 'http://till.example.com',
    apiKey: 'key',
    fetch: async (_input, init) => {
      ids.push(...JSON.parse(String(init?.body)).events.map(({ id }: { id: string }) => id));
      return Response.json({ rejected: [] });
    },
  });
  const beganAtMs = Date.now();
  const recorded = [1, 2].map(() => till.usage.record({ externalId: 'user-1', meter: 'api_calls' }));
  await till.usage.flush();
  await Promise.all(recorded);
  assert.equal(new Set(ids).size, 2);
  for (const id of ids) {
    const atMs = Number.parseInt(id, 16);
    assert.ok(atMs >= beganAtMs && atMs <= Date.now(), id);
  }
});

test('usage at an invalid date rejects, and is not sent', async () => {
  const till = new Till({ url: 'http://till.example.com', apiKey: 'key', fetch: async () => assert.fail() });
  const usage = { externalId: 'user-1', meter: 'api_calls', at: new Date('soon') };
  const expected = { name: 'TypeError', message: '`at` must be a valid date' };
  for (const call of [till.usage.record(usage), till.usage.consume(usage)])
    await assert.rejects(call, expected);
});

test('closing gives up after 20 seconds, and says how many usage events were not sent', async (t) => {
  t.mock.timers.enable({ apis: ['setTimeout'] });
  const batches: number[] = [];
  const sending = Promise.withResolvers<void>();
  const till = new Till({
    url: 'http://till.example.com',
    apiKey: 'key',
    fetch: async (_input, init) => {
      batches.push(JSON.parse(String(init?.body)).events.length);
      // The first batch is counted. The next one gets no response.
      if (batches.length === 1) return Response.json({ rejected: [] });
      const { promise, reject } = Promise.withResolvers<never>();
      init?.signal?.addEventListener('abort', () => reject(init.signal?.reason));
      sending.resolve();
      return promise;
    },
  });
  const recorded = Array.from({ length: 2_500 }, () =>
    till.usage.record({ ...customer, meter: 'api_calls' }),
  );
  const results = Promise.allSettled(recorded);
  const closed = till.close();
  await sending.promise;
  t.mock.timers.tick(20_000);
  await assert.rejects(closed, { message: 'usage events that could not be sent: 1500' });
  const notSent = (await results).flatMap((result) => (result.status === 'rejected' ? [result.reason] : []));
  assert.equal(notSent.length, 1_500);
  assert.ok(notSent.every((error) => error instanceof UsageNotSentError));
  assert.deepEqual(batches, [1_000, 1_000], 'the rest is given up without a request');
});

test('the README lists every method', () => {
  const till = new Till({ url: 'http://till.example.com', apiKey: 'key' });
  const parts = Object.entries({ ...till }).map(([name, part]) => [`till.${name}`, part] as const);
  const readme = readFileSync(fileURLToPath(new URL('../README.md', import.meta.url)), 'utf8');
  for (const [name, part] of [['till', till] as const, ...parts]) {
    const row = readme.split('\n').find((line) => line.startsWith(`| \`${name}\` |`)) ?? '';
    const methods = Object.getOwnPropertyNames(Object.getPrototypeOf(part)).filter(
      (method) => method !== 'constructor' && !row.includes(`\`${method}\``) && !row.includes(`\`${method}(`),
    );
    assert.deepEqual(methods, [], name);
  }
});

/** All methods of the client and of its resources. */
function methodsOf(till: Till): readonly (() => unknown)[] {
  const customerFirst = new Map<object, readonly string[]>([
    [till, ['entitlements', 'isEntitled']],
    [till.usage, ['consume']],
  ]);
  const parts: object[] = [till, ...Object.values(till), till.customers.paymentMethods('id')];
  return parts.flatMap((part) => {
    const prototype: object = Object.getPrototypeOf(part);
    return Object.getOwnPropertyNames(prototype)
      .filter((name) => name !== 'constructor' && !withoutRequest.includes(name))
      .map((name) => () => {
        const method: unknown = Reflect.get(prototype, name);
        assert.ok(typeof method === 'function', name);
        const takesCustomer = customerFirst.get(part)?.includes(name) ?? false;
        return Reflect.apply(method, part, takesCustomer ? [customer] : anything);
      });
  });
}

/** They lead to other methods, never end, send later, or are for calls without a method of their own. */
const withoutRequest = ['paymentMethods', 'follow', 'record', 'flush', 'close', 'request'];

const customer = { externalId: 'user-1' };

async function useUp(result: unknown): Promise<void> {
  if (typeof result !== 'object' || result === null || !(Symbol.asyncIterator in result)) return;
  for await (const item of result as AsyncIterable<unknown>) assert.fail(`unexpected item: ${item}`);
}

/** The operation of a request whose ids are all `id`. */
function operationOf(request: string, known: readonly string[]): string {
  return known.find((operation) => operation.replaceAll(/\{\w+\}/g, 'id') === request) ?? request;
}
