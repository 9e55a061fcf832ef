import { Session } from 'node:inspector/promises';
import { relative } from 'node:path';
import { fileURLToPath } from 'node:url';
import { projectFolder } from './till-in-child.ts';

export interface WayTracer {
  /** The files of src that have a function which runs during the work. Loading a file does not count. */
  filesOf(work: () => Promise<unknown>): Promise<readonly string[]>;
  stop(): Promise<void>;
}

/** Counts the calls of every function in this process. Nothing else may run meanwhile. */
export async function startWayTracer(): Promise<WayTracer> {
  const session = new Session();
  session.connect();
  await session.post('Profiler.enable');
  await session.post('Profiler.startPreciseCoverage', { callCount: true, detailed: false });
  /** The functions that were called since the last call of this one. */
  const takeCalls = async () => (await session.post('Profiler.takePreciseCoverage')).result;
  return {
    filesOf: async (work) => {
      await takeCalls();
      await work();
      const scripts = await takeCalls();
      const files = scripts.flatMap(({ url, functions }) => {
        if (!url.startsWith('file:')) return [];
        const file = relative(projectFolder, fileURLToPath(url));
        const hasRun = functions.some(({ functionName, ranges: [range] }) => {
          const isModule = functionName === '' && range?.startOffset === 0;
          return !isModule && range !== undefined && range.count > 0;
        });
        return file.startsWith('src/') && hasRun ? [file] : [];
      });
      return [...new Set(files)].sort();
    },
    stop: async () => {
      await session.post('Profiler.disable');
      session.disconnect();
    },
  };
}
