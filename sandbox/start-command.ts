import type { Command } from './command-line.ts';
import { type Sandbox, type SandboxLog, startSandbox } from './sandbox.ts';

/** Logs only errors, to standard error. */
const log: SandboxLog = (level, fields, message) => {
  if (level !== 'info') process.stderr.write(`${message} ${JSON.stringify(fields, describeErrors)}\n`);
};

export function startCommand(command: Command): Promise<Sandbox> {
  return startSandbox({ ...command, log });
}

export function welcomeTo({ url }: Sandbox): string {
  return `The sandbox listens at ${url}. Use any sk_test_… API key. Open the address in a browser for the test cards.`;
}

function describeErrors(_key: string, value: unknown): unknown {
  return value instanceof Error ? (value.stack ?? value.message) : value;
}
