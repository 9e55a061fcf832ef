/** The options of `till sandbox`, as they are on the command line. */
interface SandboxOptions {
  readonly port: string | undefined;
  readonly host: string | undefined;
  readonly memory: boolean;
  readonly 'data-dir': string | undefined;
}

type Started =
  | { readonly url: string; readonly welcome: string; readonly close: () => Promise<void> }
  | { readonly mistake: string };

/** Starts the sandbox in a process of its own, with the rules of `till-sandbox`. */
export async function startSandboxCommand(
  { memory, ...named }: SandboxOptions,
  environment: Readonly<Record<string, string | undefined>>,
): Promise<Started> {
  const { parseCommand, UsageError } = await import('../../sandbox/command-line.ts');
  const { startCommand, welcomeTo } = await import('../../sandbox/start-command.ts');
  const isInMemory = memory || (named['data-dir'] === undefined && environment['DATA_DIR'] === undefined);
  const args = [
    ...Object.entries(named).flatMap(([name, value]) => (value === undefined ? [] : [`--${name}=${value}`])),
    ...(isInMemory ? ['--memory'] : []),
  ];
  try {
    const command = parseCommand(args, environment);
    if (command === null) return { mistake: 'Unknown option.' };
    const sandbox = await startCommand(command);
    return { url: sandbox.url, welcome: welcomeTo(sandbox), close: () => sandbox.close() };
  } catch (error) {
    if (error instanceof UsageError) return { mistake: error.message };
    throw error;
  }
}
