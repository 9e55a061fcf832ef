import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { assertProperty } from '../../../test/support/seeds.ts';
import { instantText, parseInstant } from './instant.ts';

function normalised(text: string): string | undefined {
  const instant = parseInstant(text);
  return instant === undefined ? undefined : instantText(instant);
}

test('a time keeps its microseconds, and its offset becomes UTC', () => {
  for (const [text, expected] of [
    ['2026-11-15T09:30:00Z', '2026-11-15T09:30:00.000000Z'],
    ['2026-11-15t09:30:00.5z', '2026-11-15T09:30:00.500000Z'],
    ['2026-11-15T09:30:00.123456Z', '2026-11-15T09:30:00.123456Z'],
    ['2026-11-15T09:30:00.1234560Z', '2026-11-15T09:30:00.123456Z'],
    ['2026-11-15T09:30:00.1234561Z', '2026-11-15T09:30:00.123457Z'],
    ['2026-11-15T00:30:00+01:00', '2026-11-14T23:30:00.000000Z'],
    ['2026-11-14T23:30:00-23:59', '2026-11-15T23:29:00.000000Z'],
    ['2024-02-29T00:00:00Z', '2024-02-29T00:00:00.000000Z'],
    ['1969-12-31T23:59:59.999999Z', '1969-12-31T23:59:59.999999Z'],
    ['0001-01-01T00:00:00Z', '0001-01-01T00:00:00.000000Z'],
    ['9999-12-31T23:59:59.999999Z', '9999-12-31T23:59:59.999999Z'],
  ] as const) {
    assert.equal(normalised(text), expected);
  }
});

test('a text that is not a time of the years 1 to 9999 is refused', () => {
  for (const text of [
    ...['', 'x', '2026', '2026-11-15', '2026-11-15T09:30Z', '2026-11-15T09:30:00', '2026-11-15 09:30:00Z'],
    ...['2026-11-15T09:30:00.Z', '2026-11-15T09:30:00+0100', '2026-11-15T09:30:00 01:00', '1763199000'],
    ...['2026-02-30T00:00:00Z', '2023-02-29T00:00:00Z', '2026-13-01T00:00:00Z', '2026-11-15T24:00:00Z'],
    ...['2026-11-15T23:59:60Z', '2026-11-15T09:60:00Z', '2026-11-15T09:30:00+24:00', '0000-06-01T00:00:00Z'],
    ...['0001-01-01T00:00:00+00:01', '9999-12-31T23:59:59-00:01', '9999-12-31T23:59:59.9999999Z'],
    ...['+012026-11-15T09:30:00Z', '2026-11-15T09:30:00Z\n', '２026-11-15T09:30:00Z'],
  ]) {
    assert.equal(parseInstant(text), undefined, text);
  }
});

test('every time that a Date writes is read as that time', async () => {
  await assertProperty(
    fc.property(
      fc.date({ min: new Date(0), max: new Date('9999-12-31T23:59:59.999Z'), noInvalidDate: true }),
      (date) => {
        assert.equal(parseInstant(date.toISOString()), BigInt(date.getTime()) * 1_000n);
      },
    ),
  );
});
