import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { mkdtempSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { open, readFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { setImmediate } from 'node:timers/promises';
import { createLogger } from '#core/platform/logger.ts';
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

test('of two reloads, the later one decides, even if the earlier one reads the file more slowly', async (t) => {
  const folder = mkdtempSync(join(tmpdir(), 'till-key-'));
  t.after(() => rmSync(folder, { recursive: true }));
  const apiKeysFile = join(folder, 'keys');
  writeFileSync(apiKeysFile, 'shop:first-key\n');
  const { ring, reload } = await loadApiKeys(
    { production: false, apiKeys: [], apiKeysFile, dataDir: folder },
    createLogger('error', { write: () => {} }),
  );
  // A pipe holds its reader until it is written and closed.
  rmSync(apiKeysFile);
  execFileSync('mkfifo', [apiKeysFile]);
  const earlier = reload();
  const pipe = await open(apiKeysFile, 'w');
  writeFileSync(join(folder, 'new'), 'shop:new-key\n');
  renameSync(join(folder, 'new'), apiKeysFile);
  const later = reload();
  // By then, the later one could have read its file.
  await readFile(apiKeysFile);
  await setImmediate();
  await pipe.write('shop:leaked-key\n');
  await pipe.close();
  await Promise.all([earlier, later]);
  assert.deepEqual(
    ['leaked-key', 'new-key'].map((key) => ring.find(key) !== undefined),
    [false, true],
  );
});
