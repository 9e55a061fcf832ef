import { readFile, writeFile } from 'node:fs/promises';
import { arch, availableParallelism } from 'node:os';
import { type Result, table } from './report.ts';

const resultsFile = new URL('../results.json', import.meta.url);
const readmeFile = new URL('../README.md', import.meta.url);

/** Writes the results to results.json, and to the last table of the README. */
export async function publish(results: readonly Result[], mode: string, now: Date): Promise<void> {
  await writeFile(resultsFile, `${JSON.stringify(results, null, 2)}\n`);
  const day = now.toISOString().slice(0, 10);
  const where = `${mode}, ${day}, ${availableParallelism()} cores (${arch()}), Node ${process.versions.node}`;
  const readme = await readFile(readmeFile, 'utf8');
  await writeFile(readmeFile, withLastTable(readme, `${where}\n\n${table(results)}`));
}

const heading = '## The last table';

/** The text with everything below the last heading replaced. */
export function withLastTable(readme: string, content: string): string {
  const at = readme.indexOf(`${heading}\n`);
  if (at < 0) throw new Error(`the README has no "${heading}"`);
  return `${readme.slice(0, at)}${heading}\n\n${content}\n`;
}
