import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { readOpenapi } from './support/openapi.ts';
import { projectFolder } from './support/till-in-child.ts';

/** Writes openapi.json from the running service: what is committed is what is served. */
await writeFile(join(projectFolder, 'openapi.json'), await readOpenapi());
