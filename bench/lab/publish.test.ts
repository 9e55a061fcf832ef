import assert from 'node:assert/strict';
import { test } from 'node:test';
import { withLastTable } from './publish.ts';

test('a new table replaces the last one, and nothing else changes', () => {
  const readme = '# Benchmarks\n\nText.\n\n## The last table\n';
  const once = withLastTable(readme, 'first');
  assert.equal(once, '# Benchmarks\n\nText.\n\n## The last table\n\nfirst\n');
  assert.equal(withLastTable(once, 'second'), '# Benchmarks\n\nText.\n\n## The last table\n\nsecond\n');
  assert.throws(() => withLastTable('# Benchmarks\n', 'first'), /has no/);
});
