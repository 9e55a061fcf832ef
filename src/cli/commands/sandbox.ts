import { once } from 'node:events';
import { defineCommand, UsageError } from '../command.ts';

export const sandbox = defineCommand({
  name: 'sandbox',
  summary: 'start the sandbox, a Stripe for tests, without the service',
  options: {
    port: {
      type: 'string',
      value: 'PORT',
      about: 'the port to listen on, 0 for any free one (SANDBOX_PORT; default 3001)',
    },
    host: { type: 'string', value: 'HOST', about: 'the address to listen on (default 127.0.0.1)' },
    memory: { type: 'boolean', about: 'keep the state in memory, even if DATA_DIR is set' },
    'data-dir': {
      type: 'string',
      value: 'FOLDER',
      about: 'the folder for the state (DATA_DIR; if neither is set, the state is kept in memory)',
    },
  },
  details: `WEBHOOK_URL and WEBHOOK_SECRET set an endpoint that receives every event. SANDBOX_ALLOWED_HOSTS has the names under
which the controls may be called, besides localhost and IP addresses. See sandbox/README.md for test cards and controls.`,
  run: async ({ values, environment, output, signal }) => {
    const { sandbox, welcome } = await startSandbox(values, environment);
    output.result({ url: sandbox.url }, welcome);
    if (!signal.aborted) await once(signal, 'abort');
    await sandbox.close();
  },
});

interface SandboxOptions {
  readonly port: string | undefined;
  readonly host: string | undefined;
  readonly memory: boolean;
  readonly 'data-dir': string | undefined;
}

/** Starts the sandbox with the rules of `till-sandbox`. */
async function startSandbox(
  { memory, ...named }: SandboxOptions,
  environment: Readonly<Record<string, string | undefined>>,
) {
  const commandLine = await import('#sandbox/command-line.ts');
  const { startCommand, welcomeTo } = await import('#sandbox/start-command.ts');
  const args = [
    ...Object.entries(named).flatMap(([name, value]) => (value === undefined ? [] : [`--${name}=${value}`])),
    ...(memory ? ['--memory'] : []),
  ];
  try {
    const command = commandLine.parseCommand(args, environment);
    if (command === null) throw new UsageError('Unknown option.');
    const sandbox = await startCommand(command);
    return { sandbox, welcome: welcomeTo(sandbox) };
  } catch (error) {
    throw error instanceof commandLine.UsageError ? new UsageError(error.message) : error;
  }
}
