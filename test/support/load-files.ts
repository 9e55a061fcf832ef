import { join } from 'node:path';
import { test } from 'node:test';
import { pathToFileURL } from 'node:url';
import { filesVariable } from './run-files.ts';
import { projectFolder } from './till-in-child.ts';

/**
 * Loads the test files of this process. Node itself ignores an error in a file that has declared a test before it: the rest of
 * the file would be left out without a word. Here it is a failed test.
 */
for (const file of JSON.parse(process.env[filesVariable] ?? '[]') as readonly string[]) {
  try {
    await import(pathToFileURL(join(projectFolder, file)).href);
  } catch (error) {
    test(`${file} cannot be loaded`, () => {
      throw error;
    });
  }
}
