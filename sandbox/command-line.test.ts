import assert from 'node:assert/strict';
import { test } from 'node:test';
import { parseCommand, UsageError } from './command-line.ts';

const defaults = { port: 3001, host: undefined, dataDir: undefined, webhook: undefined, allowedHosts: [] };

test('options override variables, and both override the defaults', () => {
  assert.deepEqual(parseCommand([], {}), defaults);
  const environment = { SANDBOX_PORT: '4000', DATA_DIR: '/data' };
  assert.deepEqual(parseCommand([], environment), { ...defaults, port: 4_000, dataDir: '/data' });
  assert.deepEqual(parseCommand(['--port', '0', '--data-dir', 'here', '--host', '::1'], environment), {
    ...defaults,
    port: 0,
    dataDir: 'here',
    host: '::1',
  });
  assert.deepEqual(parseCommand(['--memory', '--port=0'], environment), {
    ...defaults,
    port: 0,
    dataDir: undefined,
  });
  const webhook = { WEBHOOK_URL: 'http://127.0.0.1:1', WEBHOOK_SECRET: 'whsec_x' };
  assert.deepEqual(parseCommand([], webhook)?.webhook, { url: 'http://127.0.0.1:1', secret: 'whsec_x' });
  const hosts = { SANDBOX_ALLOWED_HOSTS: ' sandbox, tests.example,' };
  assert.deepEqual(parseCommand([], hosts)?.allowedHosts, ['sandbox', 'tests.example']);
  assert.equal(parseCommand(['--help'], {}), null);
});

test('wrong options are errors that say what to do', () => {
  for (const [args, environment, message] of [
    [['--port', 'x'], {}, /--port must be a port number, not "x"/],
    [['--port', '70000'], {}, /--port must be a port number/],
    [['--port='], {}, /--port/],
    [[], { SANDBOX_PORT: '1.5' }, /SANDBOX_PORT must be a port number/],
    [['--memory', '--data-dir', 'x'], {}, /either --memory or --data-dir/],
    [['--memori'], {}, /--memori/],
    [[], { SANDBOX_ALLOWED_HOSTS: 'a,http://b' }, /SANDBOX_ALLOWED_HOSTS must be host names.*"http:\/\/b"/],
    [['stray'], {}, /stray/],
    [[], { WEBHOOK_URL: 'http://127.0.0.1:1' }, /both WEBHOOK_URL and WEBHOOK_SECRET/],
  ] as const)
    assert.throws(
      () => parseCommand(args, environment),
      (error: unknown) => error instanceof UsageError && message.test(error.message),
      args.join(' '),
    );
});
