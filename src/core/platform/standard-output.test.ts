import assert from 'node:assert/strict';
import { test } from 'node:test';
import { wholeLines } from './standard-output.ts';

test('a write has as many whole lines as fit, and a line that is too long alone', () => {
  const lengths = (text: string, bytesMax: number): readonly number[] => {
    const found = [];
    for (let rest = Buffer.from(text); rest.length > 0; rest = rest.subarray(found.at(-1)))
      found.push(wholeLines(rest, bytesMax));
    return found;
  };
  assert.deepEqual(lengths('ab\ncd\nef\n', 6), [6, 3]);
  assert.deepEqual(lengths('ab\ncd\nef\n', 7), [6, 3]);
  assert.deepEqual(lengths('abcdefgh\nij\nkl\n', 6), [9, 6]);
  assert.deepEqual(lengths('abcdefgh', 6), [8]);
  assert.deepEqual(lengths('ab\ncd\n', Number.POSITIVE_INFINITY), [6]);
});
