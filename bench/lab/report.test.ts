import assert from 'node:assert/strict';
import { test } from 'node:test';
import { table, toResult } from './report.ts';

test('a goal is compared with the ratio to the baseline', () => {
  const rate = { name: 'rate', unit: '/s', baseline: 100, goal: { atLeast: 0.6 } };
  assert.deepEqual(
    [60, 59].map((value) => toResult({ ...rate, value }).met),
    [true, false],
  );
  const time = { name: 'time', unit: 'ms', baseline: 10, goal: { atMost: 1.5 } };
  assert.deepEqual(
    [15, 16].map((value) => toResult({ ...time, value }).met),
    [true, false],
  );
});

test('an explicit ratio replaces the quotient, and without a baseline the value itself is compared', () => {
  const cpu = toResult({ name: 'cpu', value: 10, unit: 'ms', baseline: 50, ratio: 5, goal: { atLeast: 5 } });
  assert.deepEqual([cpu.ratio, cpu.met, cpu.goal], [5, true, '≥ 5']);
  const start = toResult({ name: 'start', value: 5.1, unit: 's', goal: { atMost: 5 } });
  assert.deepEqual([start.ratio, start.met, start.goal], [null, false, '≤ 5']);
});

test('a finding without a goal or a value is neither met nor missed', () => {
  assert.equal(toResult({ name: 'aside', value: 1, unit: '/s', baseline: 2 }).met, null);
  const skipped = toResult({
    name: 'skipped',
    value: null,
    unit: 's',
    goal: { atMost: 1 },
    note: 'no Redis here',
  });
  assert.equal(skipped.met, null);
  assert.match(table([skipped]), /`skipped` \| skipped \|.*\n\n`skipped`: no Redis here$/s);
});

test('the table has a column of equal width for every field', () => {
  const cpu = { serviceCpuMs: 120, databaseCpuMs: 30 };
  const lines = table([
    toResult({ name: 'a', value: 1, unit: '/s' }),
    toResult({ name: 'longer', value: 12_345, unit: 'events/s', cpu }),
  ]).split('\n');
  assert.equal(new Set(lines.map((line) => line.length)).size, 1);
  assert.match(lines[3] ?? '', /12,345 .* 120 \+ 30\.0/);
});
