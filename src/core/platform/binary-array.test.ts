import assert from 'node:assert/strict';
import { test } from 'node:test';
import { bigintArray, textArray, timestampArray, uuidArray } from './binary-array.ts';

test('an array has its header, and each text its length in bytes', () => {
  const header = '00000001 00000001 00000019 00000003 00000001';
  const content = `00000001 ${hex('a')} 00000004 ${hex('"é\\')} ffffffff`;
  assert.equal(textArray(['a', '"é\\', null]).toString('hex'), `${header}${content}`.replaceAll(' ', ''));
});

test('half a character takes as many bytes as PostgreSQL is told', () => {
  assert.equal(textArray(['\ud800']).subarray(20).toString('hex'), `00000003${hex('\ufffd')}`);
});

function hex(text: string): string {
  return Buffer.from(text).toString('hex');
}

/** The header has no nulls, the type, the length and the lower bound. */
function arrayOf(type: string, ...values: readonly string[]): string {
  const count = values.length.toString(16).padStart(8, '0');
  const content = values.map((value) => `${(value.length / 2).toString(16).padStart(8, '0')}${value}`);
  return `0000000100000000${type}${count}00000001${content.join('')}`;
}

test('integers are written with their sign', () => {
  const expected = arrayOf('00000014', '0000000000000001', 'ffffffffffffffff', '000000e8d4a51000');
  assert.equal(bigintArray([1, -1, 1_000_000_000_000]).toString('hex'), expected);
  assert.equal(bigintArray([]).toString('hex'), arrayOf('00000014'));
});

test('ids are written as their bytes', () => {
  const id = '0199c1f0-6a3e-7c52-9d4b-2f6c1a7e8b90';
  const expected = arrayOf(
    '00000b86',
    '0199c1f06a3e7c529d4b2f6c1a7e8b90',
    '0199c1f06a3e7c529d4b2f6c1a7e8b90',
  );
  assert.equal(uuidArray([id, id.toUpperCase()]).toString('hex'), expected);
});

test('times are written as microseconds since 2000', () => {
  const before = BigInt(Date.UTC(1999, 11, 31, 23, 59, 59)) * 1_000n + 999_999n;
  const expected = arrayOf('000004a0', '0000000000000002', 'ffffffffffffffff');
  assert.equal(timestampArray([before + 3n, before]).toString('hex'), expected);
});
