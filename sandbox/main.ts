import { type SandboxLog, startSandbox } from './sandbox.ts';

const defaultPort = 3001;

const log: SandboxLog = (level, fields, message) => {
  if (level !== 'info') process.stderr.write(`${message} ${JSON.stringify(fields, describeErrors)}\n`);
};

function describeErrors(_key: string, value: unknown): unknown {
  return value instanceof Error ? (value.stack ?? value.message) : value;
}

const { SANDBOX_PORT, DATA_DIR, WEBHOOK_URL, WEBHOOK_SECRET } = process.env;
const port = Number(SANDBOX_PORT ?? defaultPort);
if (!Number.isInteger(port) || port < 0 || port > 65_535)
  fail(`SANDBOX_PORT must be a port number, not "${SANDBOX_PORT}".`);
if ((WEBHOOK_URL === undefined) !== (WEBHOOK_SECRET === undefined))
  fail('Set both WEBHOOK_URL and WEBHOOK_SECRET, or neither.');

const sandbox = await startSandbox({
  port,
  dataDir: DATA_DIR ?? './.till',
  ...(WEBHOOK_URL === undefined || WEBHOOK_SECRET === undefined
    ? {}
    : { webhook: { url: WEBHOOK_URL, secret: WEBHOOK_SECRET } }),
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

function fail(message: string): never {
  process.stderr.write(`${message}\n`);
  process.exit(1);
}
