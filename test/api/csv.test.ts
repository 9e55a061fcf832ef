/** Lists as CSV files: the same rows as in JSON, in bounded pages, and never a part that looks like the whole. */
import assert from 'node:assert/strict';
import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import { once } from 'node:events';
import { request as httpRequest, type IncomingMessage } from 'node:http';
import type { Socket } from 'node:net';
import { text } from 'node:stream/consumers';
import { after, test } from 'node:test';
import { connectionLimits } from '../../src/http/load/limits.ts';
import { startBackend } from '../support/backend.ts';
import { createClient, testKey } from '../support/client.ts';
import { flatten, parseCsv, readCsv } from '../support/csv.ts';
import {
  clearRows,
  insertOwners,
  insertRows,
  listed,
  owners,
  pathOf,
  plainIds,
} from '../support/list-rows.ts';
import type { PageBody } from '../support/objects.ts';
import { readProblem } from '../support/problem.ts';
import { countStatements } from '../support/statement-counter.ts';
import { startTill } from '../support/till.ts';
import { until } from '../support/until.ts';

const csv = { accept: 'text/csv' };
const rowCount = 620;
const pageRows = 100;

const backend = await startBackend({ after });
const counter = await countStatements(backend);
const till = await startTill({
  in: 'process',
  on: backend,
  databaseUrl: counter.databaseUrl,
  csvLimits: { pageRows },
  mustNotLogErrors: true,
});
/** The same, with limits that a few rows meet. */
const small = await startTill({
  in: 'process',
  on: backend,
  csvLimits: { fileRows: 50, pageRows: 20 },
  mustNotLogErrors: true,
});

await insertOwners(till);
for (const list of listed) {
  const rows = Array.from({ length: list === 'payments' ? rowCount : 70 }, (_, index) => ({
    id: `0199c1f0-0000-7000-b000-${String(index).padStart(12, '0')}`,
    // Pairs share their time.
    micros: index - (index % 2),
    kind: index,
  }));
  await insertRows(till, list, rows);
}
await till.sql(`update till.payments set description = '=HYPERLINK("x"),' || chr(10) || id, metadata = '{"a": "1"}'
  where id::text like '%07'`);

const exported = async (path: string, headers: Readonly<Record<string, string>> = csv, client = till) => {
  const response = await client.call('GET', path, undefined, headers);
  return { response, body: await response.text() };
};

/** What the headers of a file say about all files. */
const totalOf = ({ headers }: Response) => [
  Number(headers.get('x-total-count')),
  headers.get('x-total-capped') === 'true',
];

/** An export whose body the test reads at its own pace. */
async function open(
  path: string,
  { url }: { readonly url: string } = till,
  key = testKey,
): Promise<IncomingMessage> {
  const request = httpRequest(`${url}/api/v1${path}`, { headers: { ...csv, 'x-api-key': key } }).end();
  const [response] = (await once(request, 'response')) as [IncomingMessage];
  // The response reports how the connection ended.
  request.on('error', () => {});
  return response;
}

/** The payments are more than the buffers of a connection hold. */
const makeLarge = () =>
  till.sql(`update till.payments set metadata = jsonb_build_object('large', repeat('x', 50000))
    where not coalesce(metadata, '{}') ? 'large'`);

test('200: every list is a file with the rows and the fields of the JSON', async () => {
  for (const list of [...listed, 'plans']) {
    const path = list === 'plans' ? '/plans' : pathOf(list as (typeof listed)[number]);
    const { response, body } = await exported(
      list === 'payments' ? `${path}?createdBefore=2026-01-01T00:00:00.0001Z` : path,
    );
    assert.deepEqual(
      ['content-type', 'content-disposition', 'x-next-cursor'].map((name) => response.headers.get(name)),
      ['text/csv; charset=utf-8; header=present', `attachment; filename="${list}.csv"`, null],
    );
    const query =
      list === 'payments'
        ? '?createdBefore=2026-01-01T00:00:00.0001Z&limit=100'
        : list === 'plans'
          ? ''
          : '?limit=100';
    const json = await till.get<PageBody<object> | readonly object[]>(path + query);
    const data = 'data' in json ? json.data : json;
    const columns = (parseCsv(body)[0] ?? []).map(String);
    const [first = {}] = data;
    const fields = columns.filter((name) => !name.endsWith('Decimal')).map((name) => name.split('.')[0]);
    assert.deepEqual([...new Set(fields)], Object.keys(first));
    assert.ok(data.length >= 2);
    assert.deepEqual(
      totalOf(response),
      'data' in json ? [json.total, json.totalCapped] : [data.length, false],
    );
    assert.deepEqual(
      readCsv(body),
      data.map((row) => flatten(row, columns)),
    );
  }
});

test('200: a file with include=customer has the email and the name of each customer, one statement for each page', async () => {
  await till.sql(`update till.customers set name = 'Ada, the first' where id = $1`, [owners.customers[0]]);
  const before = counter.count();
  const { body } = await exported('/payments?source=all&include=customer');
  const statements = counter.count() - before;
  // Two for each page, two that look for rows past the maximum, and one for the audit log.
  assert.equal(statements, 2 * (Math.ceil((rowCount + 1) / pageRows) + 1) + 1);
  const plain = readCsv((await exported('/payments?source=all')).body);
  assert.deepEqual(
    readCsv(body),
    plain.map((row) => ({
      ...row,
      'customer.email': 'owner@example.com',
      'customer.name': row['customerId'] === owners.customers[0] ? 'Ada, the first' : null,
    })),
  );
});

test('200: a file of one currency, in either case', async () => {
  const { response, body } = await exported('/payments?source=all&currency=EUR');
  assert.equal(response.status, 200);
  const rows = readCsv(body);
  assert(rows.length > 0);
  assert(rows.every(({ currency }) => currency === 'eur'));
  assert.deepEqual(rows, readCsv((await exported('/payments?source=all&currency=eur')).body));
});

test('200: no rows are a file with a header, and nested fields have their columns', async () => {
  const { body } = await exported(`/payments?customerId=unknown`);
  assert.match(
    body,
    /^id,processorPaymentIntentId,[^\r]*,failure\.code,failure\.declineCode,failure\.message,[^\r]*\r\n$/,
  );
});

test('200: hundreds of rows are read page by page, each row once, in the order of the list', async () => {
  const ids = await plainIds(till, 'payments', 'true');
  assert.equal(ids.length, rowCount + 1);
  const before = counter.count();
  const { body } = await exported('/payments?source=all');
  const statements = counter.count() - before;
  assert.deepEqual(
    readCsv(body).map(({ id }) => id),
    ids,
  );
  // One for each page, one that looks for rows past the maximum, and one for the audit log.
  assert.equal(statements, Math.ceil(ids.length / pageRows) + 2);
  const status = readCsv((await exported('/payments?source=all&status=canceled&limit=1')).body);
  assert.deepEqual(
    status.map(({ id }) => id),
    await plainIds(till, 'payments', "status = 'canceled'"),
  );
});

test('200: JSON for a caller that does not ask for CSV, or prefers JSON', async () => {
  for (const accept of [
    '*/*',
    'application/json',
    'text/csv;q=0',
    'text/csv;q=0.5, application/json',
    'text/*',
    '',
  ]) {
    const { response } = await exported('/customers', accept === '' ? {} : { accept });
    assert.match(response.headers.get('content-type') ?? '', /^application\/json/, accept);
  }
  for (const accept of [
    'TEXT/CSV',
    'text/csv; header=present',
    'application/json;q=0.5, text/csv',
    'text/csv, */*;q=0.1',
  ])
    assert.match(
      (await exported('/plans', { accept })).response.headers.get('content-type') ?? '',
      /^text\/csv/,
      accept,
    );
  const head = await till.fetch('/api/v1/customers', { method: 'HEAD', headers: csv });
  assert.deepEqual([head.status, await head.text()], [200, '']);
});

test('200: past the maximum, a header has the cursor of the next file, and the files have each row once', async () => {
  const ids: (string | null | undefined)[] = [];
  const sizes: number[] = [];
  for (let cursor: string | null = ''; cursor !== null && sizes.length < 5; ) {
    const { response, body } = await exported(
      `/invoices${cursor === '' ? '' : `?cursor=${cursor}`}`,
      csv,
      small,
    );
    const rows = readCsv(body);
    ids.push(...rows.map(({ id }) => id));
    sizes.push(rows.length);
    assert.deepEqual(totalOf(response), [70, false]);
    cursor = response.headers.get('x-next-cursor');
  }
  assert.deepEqual(sizes, [50, 20]);
  assert.deepEqual(ids, await plainIds(till, 'invoices', 'true'));
  // A list of exactly the maximum has no more.
  const last = await exported(`/invoices?createdBefore=2026-01-01T00:00:00.00005Z`, csv, small);
  assert.deepEqual([readCsv(last.body).length, last.response.headers.get('x-next-cursor')], [50, null]);
});

test('400 and 404: as for JSON, and no page of a file', async () => {
  for (const path of [
    '/payments?page=1',
    '/payments?cursor=x',
    '/payments?email=a@b.co',
    '/payments?limit=0',
    '/plans?page=1',
  ])
    await readProblem(await till.call('GET', path, undefined, csv), 400, 'invalid_request');
  const unknown = '/payments/0199c1f0-6a3e-7c52-9d4b-2f6c1a7e8b90/refunds';
  await readProblem(await till.call('GET', unknown, undefined, csv), 404, 'not_found');
  const stranger = createClient(till, 'unknown');
  await readProblem(await stranger.call('GET', '/payments', undefined, csv), 401, 'unauthorized');
});

test('503: too many exports; a caller that stops reading or disconnects ends its own, and no more is read for it', async (t) => {
  const few = await startTill({
    in: 'process',
    on: backend,
    databaseUrl: counter.databaseUrl,
    // All pages have as many rows, however large these are.
    csvLimits: { exportsMax: 1, pageRows, firstPageRows: pageRows, pageLength: Number.POSITIVE_INFINITY },
  });
  t.after(() => few.stop());
  await makeLarge();
  const pages = Math.ceil(rowCount / pageRows);
  let exportCount = 0;
  /** Begins a large export, and waits until another one is admitted. */
  const assertEnds = async (meanwhile: (response: IncomingMessage) => Promise<void>) => {
    const before = counter.count();
    const large = await open('/payments?source=all', few);
    try {
      await meanwhile(large);
      await until(async () => {
        const response = await few.call('GET', '/plans', undefined, csv);
        if (response.status === 200) return (await response.text()) !== '';
        await readProblem(response, 503, 'overloaded');
        return false;
      });
    } finally {
      // A failure would otherwise wait for its end.
      large.destroy();
    }
    const statements = counter.count() - before;
    assert.ok(statements < pages, `${statements} statements`);
    const logged = few.lines.filter(({ msg, route }) => msg === 'request' && route === '/api/v1/payments');
    exportCount += 1;
    assert.equal(logged.length, exportCount);
  };
  await assertEnds(async (response) => {
    await once(response, 'readable');
    const refused = await few.call('GET', '/plans', undefined, csv);
    assert.equal(refused.headers.get('retry-after'), '5');
    await readProblem(refused, 503, 'overloaded');
    response.destroy();
  });
  const accepted = new Map<number | undefined, Socket>();
  const onAccepted = (message: unknown) => {
    const { socket } = message as { readonly socket: Socket };
    accepted.set(socket.remotePort, socket);
  };
  subscribe('net.server.socket', onAccepted);
  t.after(() => unsubscribe('net.server.socket', onAccepted));
  await assertEnds(async (response) => {
    const socket = accepted.get(response.socket.localPort);
    assert.equal(socket?.timeout, connectionLimits.stalledTimeoutMs);
    await until(() => socket.writableNeedDrain);
    // A short timeout from the start would also end a connection whose first page takes longer.
    socket.setTimeout(1);
  });
});

test('429: a third export of one name is refused, and another name gets its export', async () => {
  await makeLarge();
  const keyOf = async (name: string) =>
    (await till.post<{ key: string }>('/api-keys', { name, scopes: ['read'] })).key;
  const key = await keyOf('greedy');
  const exports = [
    await open('/payments?source=all', till, key),
    await open('/payments?source=all', till, await keyOf('greedy')),
  ];
  const refused = await createClient(till, key).call('GET', '/payments', undefined, csv);
  assert.equal(refused.headers.get('retry-after'), '5');
  await readProblem(refused, 429, 'rate_limited');
  assert.equal((await createClient(till, key).tryGet('/payments')).status, 200);
  const modest = await createClient(till, await keyOf('modest')).call('GET', '/payments', undefined, csv);
  assert.equal(modest.status, 200);
  await modest.bytes();
  for (const response of exports) response.destroy();
});

test('an export that waits for its reader ends when its API key is revoked', async () => {
  await makeLarge();
  const { id, key } = await till.post<{ id: string; key: string }>('/api-keys', {
    name: 'idle',
    scopes: ['read'],
  });
  const ended = () => till.lines.filter(({ msg }) => msg === 'export ended early').length;
  const before = ended();
  const response = await open('/payments?source=all', till, key);
  assert.equal((await till.call('DELETE', `/api-keys/${id}`)).status, 204);
  // Nothing is read: the export ends although its reader never asks for the next page.
  await until(() => ended() > before);
  assert.equal(ended(), before + 1);
  response.destroy();
});

test('a failure in the middle breaks the connection: here a revoked API key', async () => {
  await makeLarge();
  const { id, key } = await till.post<{ id: string; key: string }>('/api-keys', {
    name: 'csv',
    scopes: ['read'],
  });
  const ended = () => till.lines.filter(({ msg }) => msg === 'export ended early').length;
  const before = ended();
  const response = await open('/payments?source=all', till, key);
  assert.equal(response.statusCode, 200);
  await once(response, 'readable');
  assert.equal((await till.call('DELETE', `/api-keys/${id}`)).status, 204);
  await assert.rejects(text(response), { code: 'ECONNRESET' });
  assert.equal(ended(), before + 1);
});

/**
 * Replaces the payments by 100, whose times and amounts are in the order of their numbers. They succeeded, except those
 * that are still processing. The first 25 are more than the buffers of a connection hold, so a file waits there for its
 * reader.
 */
async function insertLarge(
  isProcessing: (place: number) => boolean,
  placeOf = (number: number) => number,
): Promise<void> {
  await clearRows(till, 'payments');
  const rows = Array.from({ length: 100 }, (_, number) => ({
    id: largeId(number),
    micros: number,
    kind: isProcessing(placeOf(number)) ? 38 : 36,
  }));
  await insertRows(till, 'payments', rows);
  await till.sql('update till.payments set amount = 2000 + right(id::text, 3)::integer / 30');
  const large = rows.filter((_, number) => placeOf(number) < 25).map(({ id }) => id);
  await till.sql(
    `update till.payments set metadata = jsonb_build_object('large', repeat('x', 400000)) where id = any($1)`,
    [large],
  );
}

const largeId = (number: number) => `0199c1f0-0000-7000-b001-${String(number).padStart(12, '0')}`;
const idsOf = async (response: IncomingMessage) =>
  Array.from((await text(response)).matchAll(/^[0-9a-f-]{36}/gm), ([id]) => id);

/** A file ends at the 40th of the rows that match when it begins. */
const crowded = await startTill({
  in: 'process',
  on: backend,
  csvLimits: { fileRows: 40, rowsMax: 45, pageRows: 2 },
});

for (const [sort, change] of [
  ['-createdAt', 'begin to match'],
  ['createdAt', 'no longer match'],
  ['-amount', 'no longer match'],
  ['amount', 'begin to match'],
] as const)
  test(`200: files in a row have each payment that always matches once, while others ${change}, sort=${sort}`, async () => {
    const begins = change === 'begin to match';
    const isChanged = (place: number) => place >= 28 && place < 33;
    const placeOf = (number: number) => (sort.startsWith('-') ? 99 - number : number);
    await insertLarge((place) => begins && isChanged(place), placeOf);
    const path = `/payments?status=succeeded&sort=${sort}`;
    let response = await open(path, crowded);
    const changed = Array.from({ length: 100 }, (_, number) => number).filter((one) =>
      isChanged(placeOf(one)),
    );
    const status = begins ? 'succeeded' : 'canceled';
    await till.sql('update till.payments set intent_status = $1 where id = any($2)', [
      status,
      changed.map(largeId),
    ]);
    const found = await idsOf(response);
    for (let cursor = response.headers['x-next-cursor']; cursor !== undefined; ) {
      response = await open(`${path}&cursor=${String(cursor)}`, crowded);
      found.push(...(await idsOf(response)));
      cursor = response.headers['x-next-cursor'];
    }
    // Those that begin to match come after what had been read, so the files have them too.
    assert.deepEqual(found.toSorted(), (await plainIds(till, 'payments', `status = 'succeeded'`)).toSorted());
  });

test('a file that would get more rows than the maximum breaks off', async () => {
  await insertLarge((place) => place >= 28 && place < 34);
  const response = await open('/payments?status=succeeded&sort=createdAt', crowded);
  await till.sql(`update till.payments set intent_status = 'succeeded'`);
  await assert.rejects(text(response), { code: 'ECONNRESET' });
});
