/** compose.yaml as far as processes can show it. What needs a container engine is in test/deploy/image.test.ts. */
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { promisify } from 'node:util';
import { parse } from 'yaml';
import { type Backend, startBackend } from '../support/backend.ts';
import { createClient } from '../support/client.ts';
import { freePort } from '../support/free-port.ts';
import { skipWithoutRedis, startRedisWith } from '../support/redis-server.ts';
import { findProgram, skipWithoutProgram } from '../support/require-program.ts';
import { lineToDatabase } from '../support/tcp-line.ts';
import { startTill } from '../support/till.ts';
import { backendEnvironment, projectFolder } from '../support/till-in-child.ts';
import { argumentsOf, pairsOf, parseDockerfile } from './support/dockerfile.ts';
import { startProxy } from './support/proxy.ts';

const run = promisify(execFile);
/** A program that hangs must end the test. */
const timeoutMs = 60_000;

interface Service {
  readonly command?: readonly string[];
  readonly environment?: Readonly<Record<string, string>>;
  readonly depends_on?: Readonly<Record<string, { readonly condition: string }>> | readonly string[];
  readonly healthcheck?: { readonly test: readonly [string, string, ...string[]] };
  readonly stop_signal?: NodeJS.Signals;
}

const read = (path: string) => readFileSync(join(projectFolder, path), 'utf8');

/** `.env`, filled in. */
const env: Readonly<Record<string, string>> = Object.fromEntries(
  [...read('.env.example').matchAll(/^(\w+)=(.*)$/gm)].map(([, name = '', value]) => [
    name,
    value || `${name.toLowerCase()}-0123456789abcdef0123456789`,
  ]),
);

const services = readServices();

function readServices(): Readonly<Record<string, Service>> {
  // As compose fills in settings: `${NAME:-default}`, and `${NAME:?what to do}`, which must be set.
  const text = read('compose.yaml').replace(
    /\$\{(\w+)(?::([-?])([^}]*))?\}/g,
    (_, name: string, kind: string | undefined, rest = '') =>
      env[name] ?? (kind === '-' ? rest : assert.fail(`${name}: ${rest}`)),
  );
  return parse(text, { merge: true }).services;
}

function serviceOf(name: string): Service {
  return services[name] ?? assert.fail(`no service ${name}`);
}

/** The command of a health check, with other arguments in place of some. */
function checkOf(name: string, others: Readonly<Record<string, string>>): readonly [string, string[]] {
  const [kind, program, ...args] = serviceOf(name).healthcheck?.test ?? assert.fail(`${name} has no check`);
  assert.equal(kind, 'CMD');
  const changed = args.map((arg) =>
    Object.entries(others).reduce((text, [from, to]) => text.replace(from, to), arg),
  );
  return [program, changed];
}

/** What the Dockerfile sets for the service, and how it starts it. */
function readImage() {
  const instructions = parseDockerfile(read('Dockerfile'));
  const last = (name: string) => instructions.findLast((one) => one.name === name)?.text ?? '';
  const [program, ...args] = [...argumentsOf(last('ENTRYPOINT')), ...argumentsOf(last('CMD'))];
  assert.equal(program, 'node');
  return { environment: pairsOf(last('ENV')), command: [process.execPath, ...args] as const };
}

/** The settings of a process of Till. Only addresses, and the account at the processor, are others than in compose. */
function settingsOf(name: string, backend: Backend, addresses: Readonly<Record<string, string>>) {
  const { environment = {} } = serviceOf(name);
  const { PROCESSOR_SECRET_KEY, PROCESSOR_API_BASE, PROCESSOR_WEBHOOK_SECRET, API_KEYS } =
    backendEnvironment(backend);
  const account = { PROCESSOR_SECRET_KEY, PROCESSOR_API_BASE, PROCESSOR_WEBHOOK_SECRET, API_KEYS };
  const { PATH: _, ...ofImage } = readImage().environment;
  return { ...ofImage, ...env, ...environment, ...account, ...addresses } as Record<string, string>;
}

test('every service that others wait for has a health check, and the settings name services', () => {
  for (const [name, { depends_on: others = [] }] of Object.entries(services)) {
    const named = Array.isArray(others) ? others : Object.keys(others);
    for (const other of named) assert.ok(other in services, `${name} depends on ${other}`);
    for (const [other, { condition }] of Array.isArray(others) ? [] : Object.entries(others))
      assert.ok(condition === 'service_healthy' && serviceOf(other).healthcheck !== undefined, other);
  }
  for (const name of ['till-1', 'till-2']) {
    const { DATABASE_URL = '', REDIS_URL = '' } = serviceOf(name).environment ?? {};
    const { POSTGRES_USER, POSTGRES_DB, POSTGRES_PASSWORD } = serviceOf('postgres').environment ?? {};
    const database = `postgresql://${POSTGRES_USER}:${POSTGRES_PASSWORD}@postgres/${POSTGRES_DB}`;
    assert.deepEqual([DATABASE_URL, REDIS_URL], [database, 'redis://valkey:6379']);
    assert.match(read('deploy/haproxy.cfg'), new RegExp(`\\s${name}:3000\\s`));
  }
});

test('the services start with their commands and settings, are healthy, and a replaced process loses no request', {
  skip:
    skipWithoutProgram('haproxy') ||
    skipWithoutRedis() ||
    skipWithoutProgram('wget') ||
    skipWithoutProgram('pg_isready', 'postgresql-client'),
}, async (t) => {
  const backend = await startBackend(t);
  const { line, url: databaseUrl } = await lineToDatabase(backend.databaseUrl);
  backend.atEnd(() => line.close());
  const [, sortOrder = ''] =
    /^--locale-provider=builtin --builtin-locale=(\S+) --encoding=UTF8$/.exec(
      serviceOf('postgres').environment?.['POSTGRES_INITDB_ARGS'] ?? '',
    ) ?? [];
  await backend.sql(`create collation public.of_compose (provider = builtin, locale = '${sortOrder}')`);
  const databasePort = new URL(databaseUrl).port;
  const [isReady, ofPostgres] = checkOf('postgres', {});
  await run(isReady, [...ofPostgres, `--port=${databasePort}`], { timeout: timeoutMs });

  const cachePort = String(await freePort());
  const [, ...cacheOptions] = serviceOf('valkey').command ?? [];
  const cache = await startRedisWith([...cacheOptions, '--port', cachePort]);
  backend.atEnd(() => cache.stop());
  const client = findProgram('valkey-cli', 'redis-cli') ?? 'redis-cli';
  const ask = async (...args: readonly string[]) =>
    (await run(client, ['-p', cachePort, ...args], { timeout: timeoutMs })).stdout.trim();
  assert.equal(await ask(...checkOf('valkey', {})[1]), 'PONG');
  assert.equal(await ask('config', 'get', 'maxmemory-policy'), 'maxmemory-policy\nvolatile-lru');

  const addresses = { DATABASE_URL: databaseUrl, REDIS_URL: `redis://127.0.0.1:${cachePort}` };
  const startService = async (name: string) =>
    startTill({
      ...{ in: 'child', on: backend, command: readImage().command },
      environment: { ...settingsOf(name, backend, addresses), PORT: String(await freePort()) },
    });
  const [first, second] = [await startService('till-1'), await startService('till-2')];
  const servers = [first, second].map(({ url }) => ({ port: new URL(url).port }));
  const proxy = await startProxy(t, servers);
  const check = checkOf('proxy', { 'http://127.0.0.1:8080': proxy.url });
  await run(...check, { timeout: timeoutMs });

  const till = createClient(proxy);
  let isReplaced = false;
  const replaced = first.stop().then((status) => {
    isReplaced = true;
    return status;
  });
  let created = 0;
  do {
    await till.post('/customers', { email: `${created}@example.com` });
    created += 1;
  } while (!isReplaced);
  assert.equal(await replaced, 0);
  const { total } = await till.get<{ readonly total: number }>('/customers');
  assert.equal(total, created);

  proxy.child.kill(serviceOf('proxy').stop_signal);
  if (proxy.child.exitCode === null) await once(proxy.child, 'exit');
  assert.equal(proxy.child.exitCode, 0);
  assert.equal(await second.stop(), 0);
});
