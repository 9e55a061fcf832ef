import { setImmediate } from 'node:timers/promises';
import { secondSignalDelayMs } from '#core/platform/shutdown.ts';
import { whenNpmEnds } from '../runtime/npm-parent.mjs';
import { Interrupted } from './interrupted.ts';
import { runCommandLine } from './run.ts';

await main();

async function main(): Promise<void> {
  process.stdout.on('error', ({ code, message }: NodeJS.ErrnoException) => {
    // The reader of the output may close it early: `… | head -1`.
    if (code === 'EPIPE') process.exit(0);
    process.stderr.write(`till: the output cannot be written: ${message}\n`);
    process.exit(1);
  });
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
  // A failed write is reported only in the next turn of the event loop.
  await setImmediate();
  // Unfinished work of an interrupted command must not keep the process running.
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
  whenNpmEnds(() => controller.abort(new Interrupted('SIGTERM')));
  return controller.signal;
}
