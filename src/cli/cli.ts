import { Interrupted } from './interrupted.ts';
import { runCommandLine } from './run.ts';

// The reader of the output may close it early: `… | head -1`.
process.stdout.on('error', () => process.exit(0));

let interruption: AbortController | undefined;

const code = await runCommandLine(process.argv.slice(2), {
  environment: process.env,
  workingDir: process.cwd(),
  stdout: process.stdout,
  stderr: process.stderr,
  get signal() {
    interruption ??= handleSignals();
    return interruption.signal;
  },
});
// An interrupted command may have left work that would keep the process running.
if (interruption?.signal.aborted === true) process.exit(code);
process.exitCode = code;

function handleSignals(): AbortController {
  const controller = new AbortController();
  for (const signal of ['SIGINT', 'SIGTERM'] as const)
    process.on(signal, () => interrupt(controller, new Interrupted(signal)));
  return controller;
}

/** Ctrl-C under npm arrives twice within a millisecond; only a later signal means "stop at once". */
const secondSignalDelayMs = 1_000;
let interruptedAtMs: number | undefined;

function interrupt(controller: AbortController, reason: Interrupted): void {
  interruptedAtMs ??= performance.now();
  controller.abort(reason);
  if (performance.now() - interruptedAtMs >= secondSignalDelayMs) process.exit(reason.exitCode);
}
