import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { test } from 'node:test';
import { createMetrics } from '#core/platform/metrics.ts';
import { eventTypes } from '../../src/processor/stripe/events/event-types.ts';
import { startBackend } from '../support/backend.ts';
import { startFrame } from '../support/frame.ts';
import { skipWithoutProgram } from '../support/require-program.ts';
import { startTill } from '../support/till.ts';

test('every promised metric exists, at 0, from the first scrape', async () => {
  const metrics = createMetrics({
    eventTypes,
    mirrors: ['payment'],
  });
  const text = await metrics.registry.metrics();
  const zeroes = [
    ...eventTypes.flatMap((type) =>
      ['received', 'processed', 'failed', 'ignored'].map(
        (what) => `webhook_events_${what}_total{type="${type}"} 0`,
      ),
    ),
    'webhook_events_duplicate_total 0',
    'payments_succeeded_total 0',
    'payments_failed_total 0',
    'payments_disputed_total 0',
    'webhook_queue_depth 0',
    'webhook_lag_seconds_count 0',
    'mirror_drift_total{resource="payment"} 0',
  ];
  for (const line of zeroes) assert.ok(text.split('\n').includes(line), line);
  assert.match(text, /^process_cpu_seconds_total /m);
  assert.match(text, /^nodejs_eventloop_lag_seconds /m);
});

test('requests are counted by method, route and status, and need no API key to be read', async (t) => {
  const { url, call } = await startFrame(t, async (app) => {
    app.get('/api/v1/things/:id', async () => ({}));
  });
  const labels = 'method="GET",route="/api/v1/things/:id",status="200"';
  await call('/api/v1/things/1');
  await call('/api/v1/things/2');
  await call('/nothing/1');
  await call('/nothing/2', { method: 'PUT' });
  const response = await fetch(`${url}/metrics`);
  assert.match(response.headers.get('content-type') ?? '', /^text\/plain; version=0\.0\.4/);
  const text = await response.text();
  assert.ok(text.includes(`http_request_duration_seconds_count{${labels}} 2`));
  assert.ok(
    text.includes('http_request_duration_seconds_count{method="any",route="unmatched",status="404"} 2'),
    'callers cannot invent series',
  );
});

/** What an idle process returns. It has served a few requests. */
const idleBytesMax = 60_000;

test('an idle process returns less than 60 kB, in which Prometheus finds no fault', {
  skip: skipWithoutProgram('promtool', 'prometheus'),
}, async (t) => {
  const till = await startTill({ in: 'process', on: await startBackend(t) });
  for (const path of ['/health', '/health/live', '/metrics']) await (await fetch(till.url + path)).text();
  await till.get('/payments');
  const text = await (await fetch(`${till.url}/metrics`)).text();
  assert.ok(text.length < idleBytesMax, `${text.length} bytes`);
  for (const name of ['http_request_duration_seconds', 'processor_request_duration_seconds'])
    assert.match(text, new RegExp(`^# TYPE ${name} histogram$`, 'm'));
  const { status, stdout, stderr } = spawnSync('promtool', ['check', 'metrics'], {
    input: text,
    encoding: 'utf8',
  });
  assert.equal(stdout + stderr, '');
  assert.equal(status, 0);
});
