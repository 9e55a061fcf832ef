import { type Command, parseCommand, UsageError, usage } from './command-line.ts';
import { type SandboxLog, startSandbox } from './sandbox.ts';

const log: SandboxLog = (level, fields, message) => {
  if (level !== 'info') process.stderr.write(`${message} ${JSON.stringify(fields, describeErrors)}\n`);
};

function describeErrors(_key: string, value: unknown): unknown {
  return value instanceof Error ? (value.stack ?? value.message) : value;
}

const { port, host, dataDir, webhook } = readCommand();
const sandbox = await startSandbox({
  port,
  ...(host === undefined ? {} : { host }),
  ...(dataDir === undefined ? {} : { dataDir }),
  ...(webhook === undefined ? {} : { webhook }),
  log,
}).catch((error: unknown) => fail(`Failed to start the sandbox: ${String(error)}`));
process.stdout.write(
  `The sandbox listens at ${sandbox.url}. Use any sk_test_… key. See sandbox/README.md for test cards and controls.\n`,
);

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
    fail(`${error.message}\n\n${usage}`);
  }
  process.stdout.write(usage);
  process.exit(0);
}

function fail(message: string): never {
  process.stderr.write(`${message}\n`);
  process.exit(1);
}
