import { parseArgs } from 'node:util';

export interface Command {
  readonly port: number;
  readonly host: string | undefined;
  /** Without it, the state is only in memory. */
  readonly dataDir: string | undefined;
  readonly webhook: { readonly url: string; readonly secret: string } | undefined;
  readonly allowedHosts: readonly string[];
}

/** Wrong options or variables. The message says what to do. */
export class UsageError extends Error {
  override readonly name = 'UsageError';
}

const portDefault = 3001;

export const usage = `Usage: till-sandbox [--port PORT] [--host HOST] [--memory | --data-dir FOLDER]

  --port PORT        the port to listen on; 0 takes any free port (SANDBOX_PORT; default ${portDefault})
  --host HOST        the address to listen on (default 127.0.0.1)
  --data-dir FOLDER  the folder for the state (DATA_DIR; without one, the state is only in memory)
  --memory           keep the state in memory, even if DATA_DIR is set
  --help             show this text

WEBHOOK_URL and WEBHOOK_SECRET set an endpoint that receives every event of the default world. SANDBOX_ALLOWED_HOSTS
lists the host names of the control API, in addition to localhost and IP addresses, separated by commas.
`;

type Environment = Readonly<Record<string, string | undefined>>;

/** Reads the command-line options and the environment variables. Returns null if help was requested. */
export function parseCommand(args: readonly string[], environment: Environment): Command | null {
  const options = parseOptions(args);
  if (options.help) return null;
  if (options.memory && options['data-dir'] !== undefined)
    throw new UsageError('Give either --memory or --data-dir, not both.');
  const { SANDBOX_PORT, DATA_DIR, WEBHOOK_URL: url, WEBHOOK_SECRET: secret } = environment;
  if ((url === undefined) !== (secret === undefined))
    throw new UsageError('Set both WEBHOOK_URL and WEBHOOK_SECRET, or neither.');
  return {
    port: options.port === undefined ? portOf(SANDBOX_PORT, 'SANDBOX_PORT') : portOf(options.port, '--port'),
    host: options.host,
    dataDir: options.memory ? undefined : (options['data-dir'] ?? DATA_DIR),
    webhook: url === undefined || secret === undefined ? undefined : { url, secret },
    allowedHosts: hostsOf(environment['SANDBOX_ALLOWED_HOSTS']),
  };
}

function parseOptions(args: readonly string[]) {
  try {
    return parseArgs({
      args: [...args],
      options: {
        port: { type: 'string' },
        host: { type: 'string' },
        memory: { type: 'boolean', default: false },
        'data-dir': { type: 'string' },
        help: { type: 'boolean', default: false },
      },
    }).values;
  } catch (error) {
    throw new UsageError(error instanceof Error ? error.message : String(error));
  }
}

function portOf(text: string | undefined, name: string): number {
  const port = Number(text ?? portDefault);
  if (text === '' || !Number.isInteger(port) || port < 0 || port > 65_535)
    throw new UsageError(`${name} must be a port number, not "${text}".`);
  return port;
}

function hostsOf(text = ''): readonly string[] {
  const hosts = text.split(',').map((host) => host.trim());
  const wrong = hosts.find((host) => !/^[\w.-]*$/.test(host));
  if (wrong !== undefined)
    throw new UsageError(`SANDBOX_ALLOWED_HOSTS must be host names, separated by commas, not "${wrong}".`);
  return hosts.filter((host) => host !== '');
}
