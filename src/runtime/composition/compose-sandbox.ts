import { randomBytes } from 'node:crypto';
import type { SandboxControl } from '#operators/sandbox-control/sandbox-control.ts';
import { SandboxResets } from '#operators/sandbox-control/sandbox-resets.ts';
import type { SharedSandbox } from '../processes/messages.ts';
import { closeTimeoutMs, type OpenedDatabase } from './compose-database.ts';
import type { Start } from './start.ts';

const webhookSecretBytes = 24;

/** Callbacks of the sandbox to the service in which it is embedded. */
export interface SandboxHost {
  /** It sends its webhooks there. */
  readonly till: { readonly url: string };
  /** Called with how far its clock is ahead of the machine's, at the start and when the clock was moved. */
  readonly onClock: (aheadSeconds: number) => void | Promise<void>;
}

export type OwnSandbox = Omit<SharedSandbox, 'clockAheadSeconds'>;

/** Starts the embedded sandbox. */
export async function startOwnSandbox(
  { config, logger, shutdown }: Pick<Start, 'config' | 'logger' | 'shutdown'>,
  { till, onClock }: SandboxHost,
): Promise<OwnSandbox> {
  const { startSandbox } = await loadSandbox();
  const generated = `whsec_${randomBytes(webhookSecretBytes).toString('base64url')}`;
  const [secret = generated, ...older] = config.processor.webhookSecrets;
  const sandbox = await startSandbox({
    port: config.processor.sandboxPort,
    allowedHosts: config.processor.sandboxHosts,
    dataDir: config.dataDir,
    webhook: {
      // Known only once the service listens, after the processor has started.
      get url() {
        return `${till.url}/webhooks/processor`;
      },
      secret,
    },
    onClock,
    resetWarning:
      'Till still has the rows of the deleted objects, so its requests fail. Reset both with POST /api/v1/sandbox/reset.',
    log: (level, fields, message) => logger[level]({ part: 'sandbox', ...fields }, message),
  }).catch((error: unknown) => {
    throw explainPort(error, {
      variable: 'SANDBOX_PORT',
      port: config.processor.sandboxPort,
      host: '127.0.0.1',
    });
  });
  shutdown.add('sandbox', closeTimeoutMs, () => sandbox.close());
  return { url: sandbox.url, webhookSecrets: [secret, ...older] };
}

/** Only a service without a secret key needs this code. */
export function loadSandbox() {
  return import('#sandbox/sandbox.ts');
}

/** Resets the sandbox, or follows the resets of the service in which it is embedded. */
export function openResets(
  { config, logger, shutdown }: Start,
  parts: Pick<OpenedDatabase, 'database' | 'ownerLock'> & { readonly sandbox: SandboxControl },
): SandboxResets {
  const resets = new SandboxResets({
    ...{ ...parts, logger },
    isEmbedded: config.processor.secretKey === undefined,
  });
  shutdown.add('resets of the sandbox', closeTimeoutMs, async () => resets.stop());
  return resets;
}

/** Explains a port that is in use by what to change; returns any other error unchanged. */
export function explainPort(
  error: unknown,
  { variable, port, host }: { readonly variable: string; readonly port: number; readonly host: string },
): unknown {
  if (!(error instanceof Error && 'code' in error && error.code === 'EADDRINUSE')) return error;
  return new Error(`port ${port} is already in use on ${host}; set ${variable} to another port`, {
    cause: error,
  });
}
