import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { createLogger } from '../../platform/logger.ts';
import { loadApiKeys } from './api-key-source.ts';

test('the error for a data directory that cannot hold the generated API key names it and the setting', async (t) => {
  const folder = mkdtempSync(join(tmpdir(), 'till-key-'));
  t.after(() => rmSync(folder, { recursive: true }));
  const dataDir = join(folder, 'file');
  writeFileSync(dataDir, '');
  await assert.rejects(
    loadApiKeys(
      { production: false, apiKeys: [], apiKeysFile: undefined, dataDir },
      createLogger('error', { write: () => {} }),
    ),
    { message: new RegExp(`^The data directory ${dataDir} cannot be used; .*set DATA_DIR \\(EEXIST`) },
  );
});
