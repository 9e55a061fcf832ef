/**
 * A service reduced to its embedded PostgreSQL, for the tests that kill one. Its one line on standard output says
 * how the start went, its log goes to standard error, and it stops in order on SIGINT.
 */

import { createLogger } from '#core/platform/logger.ts';
import { startEmbeddedPostgres } from '#runtime/embedded-postgres.ts';
import { clusterNameFor } from './embedded-postgres-processes.ts';

const [dataDir = ''] = process.argv.slice(2);

const say = (outcome: unknown) => process.stdout.write(`${JSON.stringify(outcome)}\n`);

try {
  const postgres = await startEmbeddedPostgres({
    dataDir,
    logger: createLogger('trace', process.stderr),
    settings: { fsync: 'off', cluster_name: clusterNameFor(dataDir) },
  });
  process.once('SIGINT', async () => {
    // What is in flight when Ctrl-C is pressed needs a server that is still there.
    const isServerAlive = await canConnect(postgres.url);
    await postgres.stop();
    say({ isServerAlive });
  });
  say({ url: postgres.url });
} catch (error) {
  if (!(error instanceof Error)) throw error;
  say({ errorName: error.name, errorMessage: error.message });
}

async function canConnect(url: string): Promise<boolean> {
  const { default: pg } = await import('pg');
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  const { rowCount } = await client.query('select 1');
  await client.end();
  return rowCount === 1;
}
