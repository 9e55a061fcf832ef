import assert from 'node:assert/strict';
import { test } from 'node:test';
import { understandsVersion } from './verify-webhook.ts';

for (const [version, understood] of [
  ['2026-10-28.endive', true],
  ['2025-03-31.basil', true],
  ['2024-06-20', true],
  ['2020-08-27', true],
  [null, true],
  ['2019-12-03', false],
  ['2027-01-01.fennel', false],
  ['2026-10-28.endive; extra', false],
  ['', false],
] as const) {
  test(`version ${version} is ${understood ? '' : 'not '}understood`, () => {
    assert.equal(understandsVersion(version), understood);
  });
}
