import assert from 'node:assert/strict';
import { test } from 'node:test';
import { settledWith } from './invoice-balance.ts';

test('a credit pays for an invoice first, and the rest of it is kept', () => {
  assert.deepEqual(settledWith(2_000, -500), { due: 1_500, ending: 0 });
  assert.deepEqual(settledWith(2_000, -2_500), { due: 0, ending: -500 });
  assert.deepEqual(settledWith(2_000, 0), { due: 2_000, ending: 0 });
});

test('a negative total becomes a credit, and a debt is added to the invoice', () => {
  assert.deepEqual(settledWith(-4_500, 0), { due: 0, ending: -4_500 });
  assert.deepEqual(settledWith(-4_500, -100), { due: 0, ending: -4_600 });
  assert.deepEqual(settledWith(2_000, 300), { due: 2_300, ending: 0 });
  assert.deepEqual(settledWith(-100, 300), { due: 200, ending: 0 });
});
