import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { clientSchemaPath, generateClientSchema, hasClientPackages } from './support/client-schema.ts';
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
  if (hasClientPackages) await writeFile(clientSchemaPath, await generateClientSchema(openapi));
  else
    process.stderr.write(
      'client/src/schema.ts was not written: first run npm ci --prefix client --ignore-scripts\n',
    );
} finally {
  await till.stop();
  await rm(dataDir, { recursive: true, force: true });
}
