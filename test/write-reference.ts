import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { referencePages, root } from './support/reference/pages.ts';

/**
 * Writes docs/reference, the README's table of settings, the client's error codes and the console's audited actions.
 */
await mkdir(join(root, 'docs/reference'), { recursive: true });
for (const [path, content] of await referencePages()) await writeFile(join(root, path), content);
