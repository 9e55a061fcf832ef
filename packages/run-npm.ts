import { execFile } from 'node:child_process';
import { promisify } from 'node:util';

/** Large enough for the description of thousands of files. */
const outputBytesMax = 64 * 1024 * 1024;

/** Runs npm in a folder, as a person does there. */
export function runNpm(
  folder: string,
  args: readonly string[],
  timeoutMs: number,
): Promise<{ readonly stdout: string }> {
  // Settings of the npm that started this process would win over those of the folder.
  const env = Object.fromEntries(Object.entries(process.env).filter(([name]) => !/^npm_/i.test(name)));
  return promisify(execFile)('npm', [...args], {
    cwd: folder,
    env,
    timeout: timeoutMs,
    maxBuffer: outputBytesMax,
  });
}
