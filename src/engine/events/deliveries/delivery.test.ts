import assert from 'node:assert/strict';
import { test } from 'node:test';
import { responseText, retryDelayAfter } from './delivery.ts';

test('the delay doubles from 5 s up to 4 h, and jitter takes off up to half of it', () => {
  assert.deepEqual(
    [1, 2, 3, 12, 13, 100].map((attempt) => retryDelayAfter(attempt, 1)),
    [5_000, 10_000, 20_000, 10_240_000, 14_400_000, 14_400_000],
  );
  assert.equal(retryDelayAfter(1, 0), 2_500);
});

test('the first kilobyte of a response is kept, as text that PostgreSQL accepts', () => {
  assert.equal(responseText(Buffer.from('')), null);
  assert.equal(responseText(Buffer.from('a\0b')), 'a\ufffdb');
  assert.equal(responseText(Buffer.from([0xff, 0xfe, 0x41])), '\ufffd\ufffdA');
  assert.equal(responseText(Buffer.from('x'.repeat(2_000))), 'x'.repeat(1_024));
  assert.equal(responseText(Buffer.from(`${'x'.repeat(1_022)}漢`)), 'x'.repeat(1_022));
});
