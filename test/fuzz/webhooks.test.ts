import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import fc from 'fast-check';
import { effort } from '../support/effort.ts';
import { type Documented, loadOpenapi } from '../support/openapi-document.ts';
import { seedOf } from '../support/seeds.ts';
import { startTill } from '../support/till.ts';
import { until } from '../support/until.ts';
import { eventOf, idOf } from '../support/webhook-events.ts';
import { type Change, keepJournal } from './change-journal.ts';
import { createSubjects } from './event-subjects.ts';
import { fuzz } from './fuzz.ts';
import { hostileEvents, toBody } from './hostile-event.ts';

const amount = { short: 30, long: 4_000 };
const malformedAmount = { short: 20, long: 1_000 };
/** Arrive at once. */
const crowd = effort({ short: 60, long: 300 });
/** Events delete and end what they are about; after so many there is something fresh again. */
const renewEvery = 50;
/** They say what the rows of the mirrors show. */
const eventTables = ['events', 'grace_periods'];

const till = await startTill({ in: 'process', for: { after } });
const { operations, assertDocumented } = await loadOpenapi(till.url);
const journal = await keepJournal(till);
let subjects = await createSubjects(till);
let sent = 0;

test('an event with any one place wrong is refused or settled at once, and one that failed has changed no mirror', async () => {
  const states = new Map<string, number>();
  await fuzz(amount, hostileEvents, async (event) => {
    if (sent % renewEvery === 0) subjects = await createSubjects(till);
    sent += 1;
    await journal.take();
    // Each a second after the one before, so that no two tie.
    const body = toBody(event, subjects, Math.floor(Date.now() / 1_000) + sent);
    const good = eventOf('invoice.paid.newer', { id: `in_good_${sent}` });
    const status = await post(body);
    await till.take(good);
    const changes = await journal.take();
    const what = `${event.name} ${event.place.join('.')} = ${event.json} (${event.bend}) got ${status}`;
    const state = status === 200 ? await stateOf(changes, good, what) : 'refused';
    states.set(state, (states.get(state) ?? 0) + 1);
    const mirrors = changes.filter(
      ({ table, after: row }) => isMirror(table) && !isAbout(row, `in_good_${sent}`),
    );
    if (state === 'processed') for (const change of mirrors) await assertReadable(change, what);
    else assert.deepEqual(mirrors, [], `${what} and was ${state}`);
  });
  // Otherwise the test would have covered only a part.
  assert.deepEqual([...states.keys()].sort(), ['failed', 'ignored', 'processed', 'refused']);
});

test('a signed body that is not an event is refused, and stores nothing', async () => {
  const malformed = fc.oneof(
    fc.uint8Array({ maxLength: 300 }).map((bytes) => Buffer.from(bytes)),
    fc.json().map((text) => Buffer.from(text)),
    fc
      .constantFrom('['.repeat(1_000_000), `{"a":${'9'.repeat(1_000_000)}}`, '{"object":"event"}')
      .map(Buffer.from),
  );
  await journal.take();
  await fuzz(malformedAmount, malformed, async (body) => {
    assert.equal(await post(body), 400);
    assert.deepEqual(await journal.take(), []);
  });
});

test('among hostile events that arrive all at once, the worker settles every one, and every good one is applied', async (t) => {
  const seed = seedOf('FUZZ');
  t.diagnostic(`FUZZ_SEED=${seed}`);
  subjects = await createSubjects(till);
  const hostile = fc
    .sample(hostileEvents, { seed, numRuns: crowd })
    .map((event, index) => toBody(event, subjects, 1_900_000_000 + index));
  const good = Array.from({ length: 30 }, (_, index) =>
    eventOf('invoice.paid.newer', { id: `in_crowd_${index}` }),
  );
  till.services.worker.start();
  await Promise.all([...hostile.map(post), ...good.map((body) => post(Buffer.from(body)))]);
  await until(
    async () => (await till.sql(`select 1 from till.webhook_events where state = 'pending'`)).length === 0,
  );
  const states = await till.sql('select distinct state from till.webhook_events where id = any($1)', [
    good.map(idOf),
  ]);
  assert.deepEqual(states, [{ state: 'processed' }]);
});

test('no text of an event adds a line to the log, a label to the metrics or a header to a response', async () => {
  const evil = 'x\r\nset-cookie: a=b\n{"level":"fatal","msg":"forged"}\n\u001b[31m';
  const events = [
    eventOf('invoice.paid.newer', {}, { id: evil }),
    eventOf('invoice.paid.newer', {}, { type: evil }),
    eventOf('invoice.paid.newer', {}, { api_version: evil }),
    ...['id', 'status', 'currency', 'customer', 'hosted_invoice_url'].map((field) =>
      eventOf('invoice.paid.newer', { [field]: evil }),
    ),
  ];
  for (const event of events) {
    const response = await till.send(event);
    assert.equal(response.headers.get('set-cookie'), null);
    assert.ok(response.status === 200 || response.status === 400, await response.text());
  }
  await till.drain();
  // The capture reads every write as one JSON value, so a line that was broken in two would have failed there.
  const forged = till.lines.filter(({ level, msg }) => level === 'fatal' || msg === 'forged');
  assert.deepEqual(forged, []);
  assert.doesNotMatch(await (await till.fetch('/metrics')).text(), /forged|cookie/);
});

/** Sends a signed body; the response must be a documented one. */
async function post(body: Buffer): Promise<number> {
  const response = await till.send(body);
  const [status, contentType, text] = [
    response.status,
    response.headers.get('content-type'),
    await response.text(),
  ];
  assertDocumented(operationAt('POST', '/webhooks/processor'), { status, contentType, text });
  assert.ok(status === 200 || status === 400, text);
  return status;
}

/** The state of the only event that arrived besides the good one. */
async function stateOf(changes: readonly Change[], good: string, what: string): Promise<string> {
  const rows = changes.filter(({ table }) => table === 'webhook_events').map(({ after: row }) => row);
  assert.equal(
    rows.find((row) => row?.['id'] === idOf(good))?.['state'],
    'processed',
    `the good one beside ${what}`,
  );
  const other = rows.find((row) => row?.['id'] !== idOf(good));
  // Events of the other mode are acknowledged and not kept.
  if (other === undefined) return 'ignored';
  assert.notEqual(other?.['state'], 'pending', `${what}: ${other?.['last_error']}`);
  return String(other?.['state']);
}

/** Whatever an event has put into a row, the API can still read it. */
async function assertReadable({ table, after: row }: Change, what: string): Promise<void> {
  if (row === null || eventTables.includes(table)) return;
  if (table === 'customers' && row['deleted_at'] !== null) return;
  const [path, id] =
    table === 'refunds'
      ? ['/api/v1/payments/{id}/refunds', row['payment_id']]
      : [`/api/v1/${table}/{id}`, row['id']];
  const response = await till.fetch(path.replace('{id}', String(id)));
  assert.equal(response.status, 200, what);
  const contentType = response.headers.get('content-type');
  assertDocumented(operationAt('GET', path), { status: 200, contentType, text: await response.text() });
}

function operationAt(method: string, path: string): Documented {
  const found = operations.find((operation) => operation.method === method && operation.path === path);
  assert.ok(found !== undefined, `${method} ${path}`);
  return found;
}

function isMirror(table: string): boolean {
  return !['webhook_events', 'list_counts'].includes(table);
}

function isAbout(row: Change['after'], processorInvoiceId: string): boolean {
  // Events show the row that they are about.
  const shown = (row?.['data'] ?? {}) as Readonly<Record<string, unknown>>;
  return [row?.['processor_invoice_id'], shown['processorInvoiceId']].includes(processorInvoiceId);
}
