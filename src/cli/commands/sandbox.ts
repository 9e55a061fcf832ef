import { defineCommand } from '../command.ts';
import { UsageError } from '../usage-error.ts';

export const sandbox = defineCommand({
  name: 'sandbox',
  summary: 'start the sandbox processor alone, without the service',
  options: {
    port: {
      type: 'string',
      value: 'PORT',
      about: 'the port to listen on, 0 for any free one (SANDBOX_PORT; default 3001)',
    },
    host: { type: 'string', value: 'HOST', about: 'the address to listen on (default 127.0.0.1)' },
    memory: { type: 'boolean', about: 'keep the state in memory, also if DATA_DIR is set' },
    'data-dir': {
      type: 'string',
      value: 'FOLDER',
      about: 'the folder for the state (DATA_DIR; without both, it is kept in memory)',
    },
  },
  details: `WEBHOOK_URL and WEBHOOK_SECRET set an endpoint that receives every event. SANDBOX_ALLOWED_HOSTS has the names under
which the controls may be called, besides localhost and IP addresses. See sandbox/README.md for test cards and controls.`,
  run: async ({ values, environment, output, signal }) => {
    const { startSandboxCommand } = await import('../../till/compose-sandbox.ts');
    const started = await startSandboxCommand(values, environment);
    if ('mistake' in started) throw new UsageError(started.mistake);
    output.result({ url: started.url }, started.welcome);
    await aborted(signal);
    await started.close();
  },
});

function aborted(signal: AbortSignal): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>();
  signal.addEventListener('abort', () => resolve(), { once: true });
  if (signal.aborted) resolve();
  return promise;
}
