import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { assertProperty } from '../../../test/support/seeds.ts';
import { parseUtcText } from './connection-pool.ts';

test('every time of a Date is read from the text in which PostgreSQL writes it in UTC', async () => {
  const min = new Date('0100-01-01T00:00:00Z');
  const max = new Date('9999-12-31T23:59:59.999Z');
  await assertProperty(
    fc.property(fc.date({ min, max, noInvalidDate: true }), (date) => {
      // PostgreSQL leaves out zeros at the end of the fraction.
      const text = date
        .toISOString()
        .replace('T', ' ')
        .replace(/\.?0*Z$/, '+00');
      assert.deepEqual(parseUtcText(text), date, text);
    }),
  );
  assert.deepEqual(parseUtcText('2026-11-15 09:30:00.123999+00'), new Date('2026-11-15T09:30:00.123Z'));
});

test('a time that PostgreSQL writes in another way is left to its library', () => {
  for (const text of [
    ...[
      'infinity',
      '-infinity',
      '0044-03-15 12:00:00+00 BC',
      '0099-01-01 00:00:00+00',
      '10000-01-01 00:00:00+00',
    ],
    ...['2026-11-15 09:30:00+01', '2026-11-15 09:30:00-03:30', '2026-11-15', '2026-11-15 09:30:00'],
  ]) {
    assert.equal(parseUtcText(text), undefined, text);
  }
});
