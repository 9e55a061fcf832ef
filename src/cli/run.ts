import { Failure } from '#core/errors.ts';
import { version } from '#core/platform/version.ts';
import { ConfigError, inspectConfig, loadConfig, secretVariables } from '#runtime/composition/config.ts';
import { type Command, UsageError } from './command.ts';
import { commands } from './commands.ts';
import { helpOf, helpOfCommands, usageOf } from './help.ts';
import { Interrupted } from './interrupted.ts';
import { Output, type Terminal } from './output.ts';
import { findCommand, parseArguments, type Request } from './parse.ts';

/** The process that a command runs in, or a replacement in tests. */
interface Surroundings {
  /** Child processes inherit it, so secrets are removed once they are read. */
  readonly environment: Record<string, string | undefined>;
  readonly workingDir: string;
  readonly stdout: Pick<Terminal, 'write'>;
  readonly stderr: Terminal;
  readonly signal: AbortSignal;
}

const exitCodes = { done: 0, failed: 1, badCommandLine: 2 };

/** Runs a command line, and returns the exit code. */
export async function runCommandLine(args: readonly string[], around: Surroundings): Promise<number> {
  let request: Request | undefined;
  try {
    request = findCommand(args, commands);
    if (request.kind === 'run') return await runCommand(request, around);
    around.stdout.write(textOf(request));
    return exitCodes.done;
  } catch (error) {
    // The terminal also signals child processes, so one of them may have failed first.
    const cause: unknown = around.signal.aborted ? around.signal.reason : error;
    if (cause instanceof Interrupted) return cause.exitCode;
    return report(error, request?.kind === 'run' ? request.command : undefined, around.stderr);
  }
}

function textOf(request: Exclude<Request, { kind: 'run' }>): string {
  if (request.kind === 'help') return helpOf(request.command);
  return request.kind === 'list' ? helpOfCommands(commands, request.group) : `till ${version}\n`;
}

async function runCommand(
  { command, args }: Extract<Request, { kind: 'run' }>,
  around: Surroundings,
): Promise<number> {
  const { values, positionals, isJson } = parseArguments(command, args);
  const { environment, workingDir, stdout, stderr } = around;
  const output = new Output({ isJson, stdout, stderr });
  await command.run({
    values,
    positionals,
    environment,
    output,
    config: (unneeded = {}) => {
      const config = loadConfig({ ...unneeded, ...environment }, workingDir);
      for (const name of secretVariables) delete environment[name];
      return config;
    },
    inspectConfig: () => inspectConfig(environment, workingDir),
    get signal() {
      return around.signal;
    },
  });
  return output.exitCode;
}

function report(error: unknown, running: Command | undefined, stderr: Terminal): number {
  if (error instanceof UsageError) {
    const usage = running === undefined ? helpOfCommands(commands, error.group) : usageOf(running);
    stderr.write(`${error.message}\n\n${usage}`);
    return exitCodes.badCommandLine;
  }
  if (error instanceof ConfigError || error instanceof Failure) stderr.write(`${error.message}\n`);
  else stderr.write(`till: ${error instanceof Error ? error.message : String(error)}\n`);
  return exitCodes.failed;
}
