import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  beginExport,
  countText,
  type ExportedFile,
  type ExportState,
  fileNameOf,
  linksToDrop,
  ordinal,
  savedRows,
  statusText,
  withFile,
} from './export-state.ts';

const start = beginExport('/api/v1/customers', { q: 'ada' }, 'owner');
const total = 100_209;
const first = { rows: 90_000, bytes: 9, total, nextCursor: 'after-90000' };
const last = { rows: 10_209, bytes: 1, total, nextCursor: undefined };

test('the second file begins where the first one ended, and the last one finishes the export', () => {
  const half = withFile(start, first, 'blob:1');
  assert.partialDeepStrictEqual(half, { phase: 'running', cursor: 'after-90000', rowsArriving: 0 });
  assert.equal(statusText(half), '90,000 of 100,209 rows saved, the second file follows.');
  const whole = withFile(half, last, 'blob:2');
  assert.partialDeepStrictEqual(whole, { phase: 'finished', cursor: undefined, query: { q: 'ada' } });
  assert.deepEqual(
    whole.files.map(({ name }) => name),
    ['customers-part-1.csv', 'customers-part-2.csv'],
  );
  assert.equal(savedRows(whole), total);
  assert.equal(statusText(whole), 'All 100,209 rows saved in 2 files.');
});

test('a list in one file has no part number', () => {
  assert.equal(fileNameOf(start, false), 'customers.csv');
  const whole = withFile(start, { ...last, rows: 1 });
  assert.deepEqual([whole.phase, whole.files[0]?.name], ['finished', 'customers.csv']);
  assert.equal(statusText(whole), 'All 1 row saved in 1 file.');
});

test('a stopped export says what is saved and what is missing', () => {
  const stopped = (state: ExportState): ExportState => ({
    ...state,
    phase: 'stopped',
    reason: 'No connection.',
  });
  assert.equal(statusText(stopped(start)), 'Nothing is saved yet. No connection.');
  assert.equal(
    statusText(stopped(withFile(start, first))),
    '90,000 of 100,209 rows saved. The second file is missing. No connection.',
  );
});

test('an export that waits says so, and what is saved', () => {
  assert.equal(
    statusText({ ...start, phase: 'waiting', reason: 'Overloaded' }),
    'Overloaded: the first file is tried again.',
  );
  assert.equal(
    statusText({ ...withFile(start, first), phase: 'waiting', reason: 'Database unavailable' }),
    '90,000 of 100,209 rows saved. Database unavailable: the second file is tried again.',
  );
});

test('the count has no total that is unknown or has been exceeded', () => {
  assert.equal(countText({ ...start, total: undefined }, 90_000), '90,000 rows');
  assert.equal(countText({ ...start, total: 5 }, 6), '6 rows');
  assert.equal(countText({ ...start, total: 1 }, 0), '0 of 1 row');
});

test('the links of the oldest files are dropped first, and the newest is kept whatever its size', () => {
  const files: readonly ExportedFile[] = [4, 5, 6, 7].map((bytes) => ({
    ...{ name: `${bytes}`, rows: 1, bytes },
    url: `blob:${bytes}`,
  }));
  const dropped = (bytesMax: number) => linksToDrop(files, bytesMax).map(({ name }) => name);
  assert.deepEqual(dropped(22), []);
  assert.deepEqual(dropped(13), ['5', '4']);
  assert.deepEqual(dropped(1), ['6', '5', '4']);
  assert.deepEqual(linksToDrop([{ name: 'a', rows: 1, bytes: 9 }], 1), []);
});

test('places are words up to the tenth', () => {
  assert.deepEqual([1, 2, 10, 11, 12, 21, 22, 23, 100].map(ordinal), [
    'first',
    'second',
    'tenth',
    '11th',
    '12th',
    '21st',
    '22nd',
    '23rd',
    '100th',
  ]);
});
