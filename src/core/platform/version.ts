import { readFileSync } from 'node:fs';

/** The version of Till that runs. */
export const version: string = JSON.parse(
  readFileSync(new URL('../../../package.json', import.meta.url), 'utf8'),
).version;
