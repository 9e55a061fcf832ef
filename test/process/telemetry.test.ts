import assert from 'node:assert/strict';
import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { spanAttributeNames } from '#core/platform/tracing.ts';
import { startBackend } from '../support/backend.ts';
import { readJson, testKey } from '../support/client.ts';
import { type CollectedSpan, type Collector, drawTrace, startCollector } from '../support/collector.ts';
import { startEventSink } from '../support/event-sink.ts';
import {
  type CreatedPaymentBody,
  confirmPayment,
  createCustomer,
  createPayment,
} from '../support/objects.ts';
import { backendEnvironment, projectFolder } from '../support/till-in-child.ts';
import { startWholeTill } from '../support/whole-till.ts';

const traceId = 'abcdef0123456789abcdef0123456789';
const callerSpanId = '1234567890abcdef';
/** What people and secrets are called in this test. None of it may reach the collector. */
const unsaid = ['ada@example.com', 'Ada', testKey, 'whsec_', 'sk_test', 'very private', 'order-4711'];

async function startTraced(t: TestContext, environment: Readonly<Record<string, string>> = {}) {
  const collector = await startCollector(t);
  const backend = await startBackend(t);
  const till = await startWholeTill({
    ...backendEnvironment(backend),
    OTEL_EXPORTER_OTLP_ENDPOINT: collector.url,
    OTEL_EXPORTER_OTLP_HEADERS: 'authorization=Bearer%20collector',
    EVENT_ENDPOINTS_ALLOW_PRIVATE: 'true',
    ...environment,
  });
  backend.deliverTo(() => till.url);
  backend.atEnd(() => till.stop());
  return { collector, backend, till };
}

function traceOf({ spans }: Collector, id: string): readonly CollectedSpan[] {
  return spans.filter((span) => span.traceId === id);
}

/** The names of a span and of all that it is a part of, innermost first. */
function pathOf(trace: readonly CollectedSpan[], span: CollectedSpan | undefined): readonly string[] {
  if (span === undefined) return [];
  return [
    span.name,
    ...pathOf(
      trace,
      trace.find(({ spanId }) => spanId === span.parentSpanId),
    ),
  ];
}

test('a payment is one trace from the request to the delivered event, and its webhook refers to it', async (t) => {
  const { collector, backend, till } = await startTraced(t);
  const sink = await startEventSink(t);
  const customer = await createCustomer(till, { email: 'ada@example.com', name: 'Ada' });
  const types = ['payment.created', 'payment.succeeded'];
  assert.equal((await till.call('POST', '/event-endpoints', { url: sink.url, types })).status, 201);

  const order = { amount: 2_000, currency: 'eur', customerId: customer.id, description: 'very private' };
  const response = await till.call('POST', '/payments', order, {
    traceparent: `00-${traceId}-${callerSpanId}-01`,
    'idempotency-key': 'order-4711',
  });
  const { payment } = await readJson<CreatedPaymentBody>(response, 201);
  await sink.arrived(1);
  // From here on: a webhook that overtook the recording would write the event in its place.
  await backend.control('delivery', { mode: 'normal' });
  await confirmPayment(backend, payment);
  await sink.arrived(2);
  await till.stop();

  const trace = traceOf(collector, traceId);
  t.diagnostic(`\n${drawTrace(trace)}`);
  const find = (name: string) => trace.find((span) => span.name === name);
  const server = find('POST /api/v1/payments');
  assert.equal(server?.parentSpanId, callerSpanId, 'the trace of the caller continues');
  assert.equal(server?.attributes['http.response.status_code'], 201);
  assert.equal(server?.attributes['till.request.id'], response.headers.get('x-request-id'));
  for (const step of ['claim', 'prepare', 'record', 'processor payments.create'])
    assert.deepEqual(pathOf(trace, find(step)), [step, 'POST /api/v1/payments']);
  assert.equal(find('processor payments.create')?.attributes['till.processor.outcome'], 'ok');
  const statements = trace.filter(({ attributes }) => attributes['db.system.name'] === 'postgresql');
  assert.ok(statements.some((span) => pathOf(trace, span).includes('claim')));
  assert.ok(statements.some((span) => pathOf(trace, span).includes('record')));
  const delivery = find('deliver event');
  assert.equal(delivery?.attributes['till.event.type'], 'payment.created');
  assert.deepEqual(pathOf(trace, delivery), ['deliver event', ...pathOf(trace, find('outbox'))]);
  const [created, succeeded] = sink.received;
  assert.equal(created?.headers['traceparent'], `00-${traceId}-${delivery?.spanId}-01`);

  const [, webhookTraceId = ''] = String(succeeded?.headers['traceparent']).split('-');
  assert.notEqual(webhookTraceId, traceId);
  const webhook = traceOf(collector, webhookTraceId);
  t.diagnostic(`\n${drawTrace(webhook)}`);
  assert.ok(webhook.some((span) => ['POST /webhooks/processor', 'apply webhook events'].includes(span.name)));
  const links = webhook.flatMap((span) => span.links);
  assert.deepEqual([...new Set(links.map((link) => link.traceId))], [traceId]);
  assert.equal(
    webhook.find(({ name }) => name === 'deliver event')?.attributes['till.event.type'],
    'payment.succeeded',
  );
  const bodies = sink.received.map(({ text }) => text).join();
  assert.ok(!bodies.includes('traceparent'), 'the body of an event does not contain its trace');
  assertNothingPrivate(collector);
  const logged = till.lines.find(({ traceId: id }) => id === traceId);
  assert.equal(logged?.['requestId'], response.headers.get('x-request-id'), 'the log names the trace');
});

/** Attributes are only those of the list, and no value is personal or secret. */
function assertNothingPrivate({ spans, text }: Collector): void {
  const allowed: ReadonlySet<string> = new Set(spanAttributeNames);
  const used = new Set(spans.flatMap(({ attributes }) => Object.keys(attributes)));
  assert.deepEqual(
    [...used].filter((name) => !allowed.has(name)),
    [],
  );
  for (const secret of unsaid) assert.ok(!text().includes(secret), secret);
}

test('concurrent requests, which share statements, keep their traces', async (t) => {
  const { till } = await startTraced(t);
  const customer = await createCustomer(till);
  const sink = await startEventSink(t);
  assert.equal(
    (await till.call('POST', '/event-endpoints', { url: sink.url, types: ['payment.created'] })).status,
    201,
  );
  const ids = Array.from({ length: 8 }, (_, index) => `${index}`.padStart(32, 'c'));
  await Promise.all(
    ids.map(async (id) => {
      const order = { amount: 2_000, currency: 'eur', customerId: customer.id };
      const header = { traceparent: `00-${id}-${callerSpanId}-01` };
      assert.equal((await till.call('POST', '/payments', order, header)).status, 201);
    }),
  );
  await sink.arrived(ids.length);
  await till.stop();
  const delivered = sink.received.map(({ headers }) => String(headers['traceparent']).split('-')[1]);
  assert.deepEqual(delivered.toSorted(), ids, 'each event belongs to the trace of its request');
});

test('a caller decides whether its request is traced; the percentage decides for the others', async (t) => {
  const { collector, till } = await startTraced(t, { OTEL_TRACES_SAMPLE_PERCENT: '0' });
  const call = (traceparent: string) => till.call('GET', '/payments', undefined, { traceparent });
  await call(`00-${'1'.repeat(32)}-${callerSpanId}-01`);
  await call(`00-${'2'.repeat(32)}-${callerSpanId}-00`);
  for (const malformed of ['', '00-1-2-01', `00-${'0'.repeat(32)}-${callerSpanId}-01`, 'x'.repeat(5_000)])
    assert.equal((await call(malformed)).status, 200, malformed);
  await till.get('/payments');
  await till.stop();
  assert.deepEqual([...new Set(collector.spans.map((span) => span.traceId))], ['1'.repeat(32)]);
});

test('the collector gets the metrics of /metrics, under the same names', async (t) => {
  const { collector, till } = await startTraced(t);
  await createPayment(till);
  const text = await (await fetch(`${till.url}/metrics`)).text();
  await till.stop();
  const names = [...text.matchAll(/^# TYPE (\S+) (counter|gauge|histogram)$/gm)].map(([, name]) => name);
  assert.deepEqual(
    names.filter((name) => !collector.metrics.has(String(name))),
    [],
  );
  const requests = collector.metrics.get('http_request_duration_seconds') ?? [];
  const created = requests.find(({ attributes }) =>
    attributes.some(({ value }) => value.stringValue === '/api/v1/payments'),
  );
  assert.equal(Number(created?.count), 1);
  assert.equal(
    created?.bucketCounts?.reduce<number>((sum, count) => sum + Number(count), 0),
    1,
  );
  assert.equal(created?.bucketCounts?.length, (created?.explicitBounds?.length ?? 0) + 1);
  const [buildInfo] = collector.metrics.get('till_build_info') ?? [];
  assert.equal(buildInfo?.asDouble, 1);
  assert.ok(collector.headers.every(({ authorization }) => authorization === 'Bearer collector'));
});

test('a collector that is gone changes no response, and is logged once', async (t) => {
  const { till } = await startTraced(t, {
    OTEL_EXPORTER_OTLP_ENDPOINT: 'http://127.0.0.1:1',
    OTEL_METRIC_EXPORT_INTERVAL: '1000',
  });
  await createPayment(till);
  await till.logged('telemetry export failed');
  await till.get('/payments');
  await till.stop();
  const signals = till.lines
    .filter(({ msg }) => msg === 'telemetry export failed')
    .map((line) => line['signal']);
  assert.equal(new Set(signals).size, signals.length);
});

test('a process without a collector loads no package of OpenTelemetry', () => {
  const files = globSync('src/**/*.ts', { cwd: projectFolder });
  const texts = files.map((path) => [path, readFileSync(join(projectFolder, path), 'utf8')] as const);
  const inside = (path: string) => path.startsWith('src/runtime/telemetry/');
  const using = texts.filter(([, text]) => text.includes("'@opentelemetry/")).map(([path]) => path);
  assert.ok(using.length > 0);
  assert.deepEqual(
    using.filter((path) => !inside(path)),
    [],
  );
  // Type imports are erased, and the one `import()` is for a process with a collector.
  const loaded = /^import (?!type )[^;]*telemetry\/[^;]*;|^\} from '[^']*telemetry\//m;
  assert.deepEqual(
    texts.filter(([path, text]) => !inside(path) && loaded.test(text)).map(([path]) => path),
    [],
  );
});
