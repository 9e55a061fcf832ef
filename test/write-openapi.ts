import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { clientSchemaPath, generateClientSchema } from './support/client-schema.ts';
import { readOpenapi } from './support/openapi.ts';
import { startTill } from './support/till.ts';
import { projectFolder } from './support/till-in-child.ts';

/**
 * Writes openapi.json from the running service: what is committed is what is served. Also writes the client's types
 * from it.
 */
const dataDir = await mkdtemp(join(tmpdir(), 'till-openapi-'));
const till = await startTill({ in: 'child', environment: { DATA_DIR: dataDir } });
try {
  const openapi = await readOpenapi(till.url);
  await writeFile(join(projectFolder, 'openapi.json'), openapi);
  await writeFile(clientSchemaPath, await generateClientSchema(openapi));
} finally {
  await till.stop();
  await rm(dataDir, { recursive: true, force: true });
}
