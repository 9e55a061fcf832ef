import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { referencePages, root } from './support/reference/pages.ts';

/** Writes docs/reference, the README's table of settings and the client's error codes from what the code declares. */
await mkdir(join(root, 'docs/reference'), { recursive: true });
for (const [path, content] of await referencePages()) await writeFile(join(root, path), content);
