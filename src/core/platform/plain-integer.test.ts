import assert from 'node:assert/strict';
import { test } from 'node:test';
import { parsePlainInteger } from './plain-integer.ts';

test('decimal digits are an integer, with or without a minus', () => {
  assert.deepEqual(['0', '7', '-7', '100', '2147483647'].map(parsePlainInteger), [0, 7, -7, 100, 2147483647]);
});

test('no other notation is accepted as an integer', () => {
  const others = ['', ' ', ' 1', '1 ', '1\n', '+1', '-0', '01', '1.0', '1.', '.5', '1e2', '1e400', '0x10'];
  for (const text of [...others, 'true', 'null', 'NaN', 'Infinity', '1_0', '١', '9'.repeat(400)])
    assert.equal(parsePlainInteger(text), undefined, JSON.stringify(text));
});
