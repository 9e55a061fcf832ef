/**
 * `npm run t FILE…`: runs test files in this process, one after the other, for the quick loop from a change to its
 * verdict. The code is loaded while the servers start, and only files that need servers wait for them.
 */
import { join } from 'node:path';
import { globalSetup, globalTeardown } from './support/global-setup.ts';
import { keepFilesInMemory } from './support/memory-folder.ts';
import { endProcess } from './support/process-end.ts';
import { runSuites } from './support/suites.ts';
import { findTests, needsServers } from './support/test-files.ts';
import { projectFolder } from './support/till-in-child.ts';

// For the processes that tests start; see src/runtime/require-node.mjs.
process.env['NODE_COMPILE_CACHE'] ??= join(projectFolder, 'node_modules/.cache/till');
keepFilesInMemory();

try {
  const files = findTests(process.argv.slice(2));
  if (files.length === 0) throw new Error('Name test files: npm run t test/api/customers.test.ts');
  if (files.some(needsServers)) await Promise.all([globalSetup(), import('./support/till.ts')]);
  await runSuites(files);
} catch (error) {
  // Tests report their own errors; see suites.ts.
  process.stderr.write(`${error instanceof Error ? error.stack : error}\n`);
  process.exitCode = 1;
} finally {
  await endProcess();
  await globalTeardown();
}
