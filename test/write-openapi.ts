import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { readOpenapi } from './support/openapi.ts';
import { startTill } from './support/till.ts';
import { projectFolder } from './support/till-in-child.ts';

/** Writes openapi.json from the running service: what is committed is what is served. */
const dataDir = await mkdtemp(join(tmpdir(), 'till-openapi-'));
const till = await startTill({ in: 'child', environment: { DATA_DIR: dataDir } });
try {
  await writeFile(join(projectFolder, 'openapi.json'), await readOpenapi(till.url));
} finally {
  await till.stop();
  await rm(dataDir, { recursive: true, force: true });
}
