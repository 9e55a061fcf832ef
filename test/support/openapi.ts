import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { clusterVariable, copyCluster } from './cluster-template.ts';
import { startTill } from './till.ts';

/** The OpenAPI document as the service serves it, formatted as it is committed. */
export async function readOpenapi(): Promise<string> {
  const dataDir = await mkdtemp(join(tmpdir(), 'till-openapi-'));
  if (clusterVariable in process.env) copyCluster(dataDir);
  const till = await startTill({ in: 'child', environment: { DATA_DIR: dataDir } });
  try {
    const answer = await fetch(`${till.url}/api/docs/openapi.json`);
    return `${JSON.stringify(await answer.json(), null, 2)}\n`;
  } finally {
    await till.stop();
    await rm(dataDir, { recursive: true, force: true });
  }
}
