import assert from 'node:assert/strict';
import { test } from 'node:test';
import { findBinaries } from './binaries.ts';

test('where no embedded PostgreSQL is installed, the error names the platform and what to set instead', () => {
  for (const [platform, architecture] of [
    ['darwin', 'riscv64'],
    ['linux', 'riscv64'],
  ] as const) {
    assert.throws(() => findBinaries(platform, architecture), {
      name: 'EmbeddedPostgresError',
      message: new RegExp(`^There is no embedded PostgreSQL for ${platform} riscv64 .*: set DATABASE_URL`),
    });
  }
});
