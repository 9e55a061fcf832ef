import { createInterface } from 'node:readline';
import { suite } from 'node:test';
import { pathToFileURL } from 'node:url';
import { endProcess } from './process-end.ts';

/**
 * Runs the test files that standard input names, one line for each, until it ends. Each file is a suite, so its hooks
 * apply to it alone, and an error while it loads is a failed test. The next name comes when the suite has ended.
 */
for await (const file of createInterface({ input: process.stdin }))
  await suite(file, async () => void (await import(pathToFileURL(file).href)));
await endProcess();
