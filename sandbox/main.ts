#!/usr/bin/env node
import { type Command, parseCommand, UsageError, usage } from './command-line.ts';
import { startCommand, welcomeTo } from './start-command.ts';

/** The exit code for wrong options. */
const badCommandLine = 2;

const sandbox = await startCommand(readCommand()).catch((error: unknown) =>
  fail(`Failed to start the sandbox: ${String(error)}`),
);
process.stdout.write(`${welcomeTo(sandbox)}\n`);

let closing = false;
for (const signal of ['SIGINT', 'SIGTERM'] as const)
  process.on(signal, () => {
    if (closing) return;
    closing = true;
    sandbox.close().then(
      () => process.exit(0),
      (error: unknown) => fail(`Failed to stop the sandbox: ${String(error)}`),
    );
  });

function readCommand(): Command {
  try {
    const command = parseCommand(process.argv.slice(2), process.env);
    if (command !== null) return command;
  } catch (error) {
    if (!(error instanceof UsageError)) throw error;
    fail(`${error.message}\n\n${usage}`, badCommandLine);
  }
  process.stdout.write(usage);
  process.exit(0);
}

function fail(message: string, code = 1): never {
  process.stderr.write(`${message}\n`);
  process.exit(code);
}
