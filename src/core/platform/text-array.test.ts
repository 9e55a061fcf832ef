import assert from 'node:assert/strict';
import { test } from 'node:test';
import { textArray } from './text-array.ts';

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
