/** Creates or restores a backup, for the tests that kill the process which does. It says when it begins. */
import { backUp } from '../../src/backup/backup.ts';
import { restore } from '../../src/backup/restore.ts';
import { createLogger } from '../../src/platform/logger.ts';

const [command, dataDir = '', backup = ''] = process.argv.slice(2);
const logger = createLogger('silent');
const { signal } = new AbortController();
process.stdout.write('begins\n');
if (command === 'backup') await backUp({ dataDir, target: backup, hasSandbox: true, logger, signal });
else {
  await restore({ dataDir, backup, replace: true, sandbox: 'replace', logger, signal });
}
