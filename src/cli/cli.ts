import { Interrupted } from './interrupted.ts';
import { runCommandLine } from './run.ts';

/** Ctrl-C under npm arrives twice within a millisecond; only a later signal means "stop at once". */
const secondSignalDelayMs = 1_000;

await main();

async function main(): Promise<void> {
  // The reader of the output may close it early: `… | head -1`.
  process.stdout.on('error', () => process.exit(0));
  let signal: AbortSignal | undefined;
  const code = await runCommandLine(process.argv.slice(2), {
    environment: process.env,
    workingDir: process.cwd(),
    stdout: process.stdout,
    stderr: process.stderr,
    get signal() {
      signal ??= handleSignals();
      return signal;
    },
  });
  // Work that an interrupted command has left must not keep the process running.
  process.exit(code);
}

function handleSignals(): AbortSignal {
  const controller = new AbortController();
  let firstAtMs: number | undefined;
  const interrupt = (name: 'SIGINT' | 'SIGTERM') => {
    const reason = new Interrupted(name);
    firstAtMs ??= performance.now();
    controller.abort(reason);
    if (performance.now() - firstAtMs >= secondSignalDelayMs) process.exit(reason.exitCode);
  };
  process.on('SIGINT', interrupt);
  process.on('SIGTERM', interrupt);
  return controller.signal;
}
