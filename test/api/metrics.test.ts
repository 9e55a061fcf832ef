import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createMetrics } from '../../src/platform/metrics.ts';
import { eventTypes } from '../../src/processor/event-types.ts';
import { startFrame } from '../support/frame.ts';

test('every promised metric exists, at 0, from the first scrape', async () => {
  const metrics = createMetrics({
    eventTypes,
    processorOperations: ['payments.create'],
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
    'processor_request_duration_seconds_count{operation="payments.create",outcome="ok"} 0',
  ];
  for (const line of zeroes) assert.ok(text.split('\n').includes(line), line);
  assert.match(text, /^process_cpu_seconds_total /m);
  assert.match(text, /^nodejs_eventloop_lag_seconds /m);
});

test('requests are counted by method, route and status, and need no key to be read', async (t) => {
  const { url, call } = await startFrame(t, async (app) => {
    app.get('/api/v1/things/:id', async () => ({}));
  });
  const before = await (await fetch(`${url}/metrics`)).text();
  const labels = 'method="GET",route="/api/v1/things/:id",status="200"';
  assert.ok(before.includes(`http_request_duration_seconds_count{${labels}} 0`));
  await call('/api/v1/things/1');
  await call('/api/v1/things/2');
  await call('/nothing/1');
  await call('/nothing/2', { method: 'PUT' });
  const answer = await fetch(`${url}/metrics`);
  assert.match(answer.headers.get('content-type') ?? '', /^text\/plain; version=0\.0\.4/);
  const text = await answer.text();
  assert.ok(text.includes(`http_request_duration_seconds_count{${labels}} 2`));
  assert.ok(
    text.includes('http_request_duration_seconds_count{method="any",route="unmatched",status="404"} 2'),
    'strangers cannot make up series',
  );
});
