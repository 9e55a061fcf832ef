import { createInterface } from 'node:readline';
import { endProcess } from './process-end.ts';
import { runSuites } from './suites.ts';

/** Runs the test files that standard input names, one line for each, until it ends. */
await runSuites(createInterface({ input: process.stdin }));
await endProcess();
