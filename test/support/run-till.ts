import { runCommandLine } from '#cli/run.ts';

export interface CommandOutcome {
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
}

/** Runs the command line in the process of the test, with these variables and no others. */
export async function runTill(
  environment: Readonly<Record<string, string>>,
  ...args: readonly string[]
): Promise<CommandOutcome> {
  const written = { stdout: '', stderr: '' };
  const collect = (stream: 'stdout' | 'stderr') => ({
    write: (text: string) => {
      written[stream] += text;
    },
  });
  const code = await runCommandLine(args, {
    environment: { ...environment },
    workingDir: process.cwd(),
    stdout: collect('stdout'),
    stderr: collect('stderr'),
    signal: new AbortController().signal,
  });
  return { code, ...written };
}
