import { readdir, readFile } from 'node:fs/promises';
import { join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';

/** More than these take less than half a percent each. */
const functionsMax = 40;

/** What is used here of the format of V8's CPU profiles. */
export interface CpuProfile {
  readonly nodes: readonly ProfileNode[];
  readonly samples: readonly number[];
  /** The microseconds before each sample. */
  readonly timeDeltas: readonly number[];
}

interface ProfileNode {
  readonly id: number;
  readonly callFrame: { readonly functionName: string; readonly url: string; readonly lineNumber: number };
  readonly children?: readonly number[];
}

/** The functions with the most time in each profile of the folder, and the paths of the profiles. */
export async function describeProfiles(folder: string): Promise<string> {
  const names = (await readdir(folder)).filter((name) => name.endsWith('.cpuprofile')).sort();
  const tables = names.map(async (name) => {
    const path = join(folder, name);
    return `${path}\n${topFunctions(JSON.parse(await readFile(path, 'utf8')), process.cwd())}`;
  });
  return (await Promise.all(tables)).join('\n\n');
}

/** The functions with the most time of their own, in percent of the time that the process was busy. */
export function topFunctions({ nodes, samples, timeDeltas }: CpuProfile, folder: string): string {
  const selfOf = new Map<number, number>();
  for (const [index, id] of samples.entries())
    selfOf.set(id, (selfOf.get(id) ?? 0) + (timeDeltas[index] ?? 0));
  const byName = new Map<string, number>();
  for (const { id, callFrame } of nodes) {
    if (callFrame.functionName === '(idle)') continue;
    const name = nameOf(callFrame, folder);
    byName.set(name, (byName.get(name) ?? 0) + (selfOf.get(id) ?? 0));
  }
  const busy = byName.values().reduce((sum, time) => sum + time, 0);
  return [...byName]
    .sort(([, a], [, b]) => b - a)
    .slice(0, functionsMax)
    .map(([name, time]) => `${((time / busy) * 100).toFixed(1).padStart(5)} %  ${name}`)
    .join('\n');
}

function nameOf({ functionName, url, lineNumber }: ProfileNode['callFrame'], folder: string): string {
  const path = url.startsWith('file:') ? relative(folder, fileURLToPath(url)) : url;
  // V8 counts lines from 0.
  return `${functionName || '(anonymous)'}${path === '' ? '' : ` ${path}:${lineNumber + 1}`}`;
}
