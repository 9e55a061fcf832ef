import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Counter, Gauge, Histogram, Registry } from 'prom-client';
import { addEnded, type MetricReport, mergeReports } from './merge-metrics.ts';

async function reportOf(count: number): Promise<MetricReport> {
  const registry = new Registry();
  const registers = [registry];
  const counter = new Counter({ name: 'reads_total', help: 'Reads', labelNames: ['kind'], registers });
  counter.inc({ kind: 'plain' }, count);
  const seconds = new Histogram({ name: 'read_seconds', help: 'Time', buckets: [1], registers });
  for (let read = 0; read < count; read += 1) seconds.observe(0.5);
  new Gauge({ name: 'streams', help: 'Streams', registers }).set(count);
  new Gauge({ name: 'queue_depth', help: 'Queue', aggregator: 'first', registers }).set(10 * count);
  return registry.getMetricsAsJSON();
}

test('counters, histograms and gauges of several processes add up, unless a gauge is the same for all', async () => {
  const text = await mergeReports([await reportOf(1), await reportOf(2), []]);
  assert.match(text, /^reads_total\{kind="plain"\} 3$/m);
  assert.match(text, /^read_seconds_bucket\{le="1"\} 3$/m);
  assert.match(text, /^read_seconds_count 3$/m);
  assert.match(text, /^streams 3$/m);
  assert.match(text, /^queue_depth 10$/m);
});

test('what ended processes counted remains, and their gauges do not', async () => {
  const ended = await addEnded(await addEnded([], await reportOf(1)), await reportOf(2));
  const text = await mergeReports([await reportOf(4), ended]);
  assert.match(text, /^reads_total\{kind="plain"\} 7$/m);
  assert.match(text, /^read_seconds_count 7$/m);
  assert.match(text, /^streams 4$/m);
});
