import assert from 'node:assert/strict';
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { openSync } from 'node:fs';
import { chmod, mkdtemp, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { connect, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { setTimeout } from 'node:timers/promises';
import { testKey } from '../support/client.ts';
import { copyCluster } from '../support/cluster-template.ts';
import { freePort } from '../support/free-port.ts';
import { createTestDatabase } from '../support/test-database.ts';
import { startTill } from '../support/till.ts';
import { projectFolder, quickCommand, runTillUntilExit, type TillInChild } from '../support/till-in-child.ts';
import { startWholeTill } from '../support/whole-till.ts';
import { holdRows } from '../webhooks/row-lock.ts';

/** Between two looks whether a process listens: looks without a pause take the time that the process needs to start. */
const lookDelayMs = 20;

async function temporaryFolder(t: TestContext): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'till-process-'));
  t.after(() => rm(folder, { recursive: true, force: true }));
  return folder;
}

/** Processes whose command line mentions the folder: the embedded parts of a service that keeps its data there. */
async function processesOf(folder: string): Promise<readonly string[]> {
  const { globSync, readFileSync } = await import('node:fs');
  return globSync('/proc/[0-9]*/cmdline').filter((path) => {
    try {
      return !path.includes(`/${process.pid}/`) && readFileSync(path, 'utf8').includes(folder);
    } catch {
      return false;
    }
  });
}

test('the embedded default starts, stops with nothing left running if npm alone gets the signal, and finds its data again', async (t) => {
  const folder = await temporaryFolder(t);
  const first = await startTill({
    in: 'child',
    environment: { DATA_DIR: folder },
    command: ['npm', 'start'],
  });
  const key = (await readFile(join(folder, 'api-key'), 'utf8')).trim();
  assert.equal((await stat(join(folder, 'api-key'))).mode & 0o777, 0o600);
  const known = await fetch(`${first.url}/api/v1/nothing`, { headers: { 'x-api-key': key } });
  assert.equal(known.status, 404, 'the generated API key is valid');
  assert.equal((await fetch(`${first.url}/health`)).status, 200);
  const ready = await first.logged('ready');
  assert.match(String(ready['database']), /embedded/);
  assert.equal(ready['cache'], 'in-process');
  assert.ok(!first.output().includes(key), 'the API key is in no log');
  assert.equal(await first.stop('SIGTERM'), 0);
  assert.deepEqual(await processesOf(folder), []);

  const second = await startTill({
    in: 'child',
    environment: { DATA_DIR: folder },
    command: [process.execPath, 'src/cli/bin.mjs', 'start'],
  });
  const again = await fetch(`${second.url}/api/v1/nothing`, { headers: { 'x-api-key': key } });
  assert.equal(again.status, 404, 'the API key is still the same');
  assert.ok(!second.lines.some((line) => line.msg === 'migration applied'), 'the schema is still there');
  assert.equal(await second.stop('SIGINT'), 0);
});

test('requests in flight are finished before the end, and no new ones are accepted', async (t) => {
  const till = await startOnOwnDatabase(t);
  const { socket, received } = await beginRequest(till.url);
  const exited = once(till.child, 'exit');
  till.child.kill('SIGTERM');
  await till.logged('stopping');
  socket.write('{}');
  await exited;
  assert.match(received.join(''), /\nHTTP\/1\.1 400 /);
  assert.match(received.join(''), /connection: close/i);
  assert.equal(till.child.exitCode, 0);
  await assert.rejects(fetch(`${till.url}/health`));
});

test('a request that has arrived gets its response before idle connections are closed, even if it was not read yet', async (t) => {
  const blockedLoop = new URL('../faults/rig/blocked-loop.ts', import.meta.url).href;
  const till = await startOnOwnDatabase(t, {
    STOP_DELAY_SECONDS: '1',
    NODE_OPTIONS: `--import=${blockedLoop}`,
    BLOCK_MS: '2000',
  });
  const socket = connect(Number(new URL(till.url).port), '127.0.0.1');
  const request = 'GET /health/live HTTP/1.1\r\nhost: x\r\n\r\n';
  socket.write(request);
  const [first] = await once(socket, 'data');
  assert.match(String(first), /^HTTP\/1\.1 200 /);
  const exited = once(till.child, 'exit');
  till.child.kill('SIGTERM');
  await till.logged('stopping');
  till.child.kill('SIGUSR2');
  await till.logged('the event loop is blocked');
  socket.write(request);
  const [second] = await once(socket, 'data');
  assert.match(String(second), /^HTTP\/1\.1 \d{3} .*connection: close/is);
  await exited;
  assert.equal(till.child.exitCode, 0);
});

test('a second signal within a second is ignored; a later one ends the process at once', async (t) => {
  const till = await startOnOwnDatabase(t, { STOP_DELAY_SECONDS: '30' });
  const exited = once(till.child, 'exit');
  till.child.kill('SIGINT');
  till.child.kill('SIGINT');
  await till.logged('stopping');
  assert.equal(till.child.exitCode, null, 'it still serves');
  const timer = setInterval(() => till.child.kill('SIGINT'), 200);
  await exited;
  clearInterval(timer);
  assert.equal(till.child.exitCode, 1);
  assert.ok(till.lines.some((line) => line.msg === 'stopped immediately by a second signal'));
});

test('a log that cannot be written costs the log, never the service, and a closed terminal ends it', async (t) => {
  const stdout = openSync('/dev/full', 'w');
  const { exitCode } = await serveAndStop(t, { stdout, requests: 50, signal: 'SIGHUP' });
  assert.equal(exitCode, 0);
});

test('a log whose reader has stalled costs the log, never the service', async (t) => {
  // The buffers on both sides of a pipe without a reader take up to a few hundred KiB.
  const { signalCode } = await serveAndStop(t, { stdout: 'pipe', requests: 1_400, signal: 'SIGTERM' });
  assert.equal(signalCode, 'SIGKILL', 'it ends, by itself, though not with what it would have said');
});

interface ServeOptions {
  readonly stdout: number | 'pipe';
  readonly requests: number;
  /** What ends it. */
  readonly signal: 'SIGTERM' | 'SIGHUP';
}

/** Starts the service with this standard output, asks it so many times, and sees it stop as it should. */
async function serveAndStop(
  t: TestContext,
  { stdout, requests, signal }: ServeOptions,
): Promise<ChildProcess> {
  const database = await createTestDatabase();
  t.after(() => database.drop());
  const port = await freePort();
  const [program, ...args] = quickCommand;
  const child = spawn(program, args, {
    cwd: projectFolder,
    env: {
      PATH: process.env['PATH'],
      NODE_COMPILE_CACHE: process.env['NODE_COMPILE_CACHE'],
      DATABASE_URL: database.url,
      DATA_DIR: await temporaryFolder(t),
      PORT: String(port),
      SANDBOX_PORT: '0',
    },
    stdio: ['ignore', stdout, 'ignore'],
  });
  const exited = once(child, 'exit');
  const isUp = () =>
    // A long line of the log for each.
    fetch(`http://127.0.0.1:${port}/health/live`, { headers: { 'x-request-id': 'x'.repeat(128) } }).then(
      ({ status }) => status === 200,
      () => false,
    );
  // Its output, which would tell that it is ready, is what fails here.
  for (; !(await isUp()); await setTimeout(lookDelayMs)) assert.equal(child.exitCode, null);
  for (let request = 0; request < requests; request += 1) assert.ok(await isUp());
  child.kill(signal);
  await exited;
  return child;
}

test('production refuses what is generated or embedded, and any start wrong settings, with one line each on stderr', async () => {
  const wrong = { PORT: 'many', LOG_LEVEL: 'loud', NODE_ENV: 'production' };
  const { code, stderr } = await runTillUntilExit(wrong);
  assert.equal(code, 1);
  assert.doesNotMatch(stderr, /^ +at /m, 'no stack trace for a person');
  assert.match(stderr, /PORT is "many"; allowed: a whole number/);
  assert.match(stderr, /LOG_LEVEL is "loud"; allowed: one of trace/);
  for (const name of [
    'API_KEYS',
    'DATABASE_URL',
    'REDIS_URL',
    'PROCESSOR_SECRET_KEY',
    'PROCESSOR_WEBHOOK_SECRET',
  ]) {
    assert.match(stderr, new RegExp(`^ *${name} is not set`, 'm'));
  }
});

test('a second service on the same folder or the same port is refused, saying why', async (t) => {
  const folder = await temporaryFolder(t);
  copyCluster(folder);
  const till = await startTill({
    in: 'child',
    environment: { DATA_DIR: folder },
    command: quickCommand,
  });
  const database = await createTestDatabase();
  t.after(() => database.drop());
  await assert.rejects(startWholeTill({ DATA_DIR: folder }), ({ message }: Error) =>
    message.includes(folder),
  );
  const elsewhere = { DATABASE_URL: database.url, DATA_DIR: await temporaryFolder(t) };
  const samePort = startWholeTill({ ...elsewhere, PORT: new URL(till.url).port });
  await assert.rejects(samePort, /port \d+ is already in use/);
  const sandboxPort = new URL(String((await till.logged('ready'))['processor']).replace('sandbox at ', ''))
    .port;
  const sameSandbox = startWholeTill({ ...elsewhere, SANDBOX_PORT: sandboxPort });
  await assert.rejects(sameSandbox, /port \d+ is already in use .* set SANDBOX_PORT/);
  assert.equal((await fetch(`${till.url}/health`)).status, 200, 'the first goes on');
  assert.equal(await till.stop(), 0);
});

test('API keys in a file are read again on SIGHUP; a broken file changes nothing', async (t) => {
  const database = await createTestDatabase();
  t.after(() => database.drop());
  const folder = await temporaryFolder(t);
  const file = join(folder, 'keys');
  await writeFile(file, '# the shop\nshop:first-key\n\n');
  await chmod(file, 0o600);
  const till = await startTill({
    in: 'child',
    environment: { DATABASE_URL: database.url, API_KEYS_FILE: file, DATA_DIR: folder },
    command: quickCommand,
  });
  t.after(() => till.stop());
  const status = async (key: string) =>
    (await fetch(`${till.url}/api/v1/nothing`, { headers: { 'x-api-key': key } })).status;
  assert.deepEqual([await status('first-key'), await status('second-key')], [404, 401]);
  assert.equal((await till.logged('API key too short for production'))['key'], 'shop');
  await writeFile(file, 'shop:first-key\nnew:second-key\n');
  till.child.kill('SIGHUP');
  await till.logged('API keys reloaded');
  assert.deepEqual([await status('first-key'), await status('second-key')], [404, 404]);
  await writeFile(file, 'bad name:third-key\n');
  till.child.kill('SIGHUP');
  await till.logged('API key reload failed; previous keys kept');
  assert.deepEqual([await status('first-key'), await status('second-key')], [404, 404]);
  assert.doesNotMatch(till.output(), /(first|second|third)-key/);
  assert.equal(await till.stop(), 0);
});

for (const processes of ['1', '2']) {
  test(`SIGHUP during the start is not lost, with PROCESSES=${processes}`, async (t) => {
    const database = await createTestDatabase();
    t.after(() => database.drop());
    const folder = await temporaryFolder(t);
    const [file, pidFile] = [join(folder, 'keys'), join(folder, 'pid')];
    await writeFile(file, 'shop:leaked-key\n');
    const gate = await holdRows(
      { databaseUrl: database.url },
      'lock table till.migrations in access exclusive mode',
    );
    const starting = startTill({
      in: 'child',
      environment: {
        DATABASE_URL: database.url,
        API_KEYS_FILE: file,
        DATA_DIR: folder,
        PROCESSES: processes,
      },
      command: ['sh', '-c', 'echo $$ > "$0"; exec "$@"', pidFile, ...quickCommand],
    });
    await gate.awaited(1);
    // A process has read the file, and now waits for the database.
    await writeFile(file, 'shop:new-key\n');
    process.kill(Number(await readFile(pidFile, 'utf8')), 'SIGHUP');
    await gate.release();
    const till = await starting;
    t.after(() => till.stop());
    await till.logged('API keys reloaded', Number(processes));
    for (const [key, status] of [
      ['leaked-key', 401],
      ['new-key', 404],
    ] as const) {
      for (let request = 0; request < Number(processes); request += 1) {
        const headers = { 'x-api-key': key, connection: 'close' };
        assert.equal((await fetch(`${till.url}/api/v1/nothing`, { headers })).status, status);
      }
    }
  });
}

async function startOnOwnDatabase(
  t: TestContext,
  environment: Readonly<Record<string, string>> = {},
): Promise<TillInChild> {
  const database = await createTestDatabase();
  t.after(() => database.drop());
  const own = { DATABASE_URL: database.url, API_KEY: testKey, DATA_DIR: await temporaryFolder(t) };
  return startTill({ in: 'child', environment: { ...own, ...environment }, command: quickCommand });
}

/** A request of which the service has everything but the body, as its "100 Continue" shows. */
async function beginRequest(url: string): Promise<{ readonly socket: Socket; readonly received: string[] }> {
  const socket = connect(Number(new URL(url).port), '127.0.0.1');
  const received: string[] = [];
  socket.on('data', (chunk) => received.push(String(chunk)));
  socket.write(
    'POST /webhooks/processor HTTP/1.1\r\nhost: x\r\nexpect: 100-continue\r\ncontent-length: 2\r\n\r\n',
  );
  await once(socket, 'data');
  assert.match(received.join(''), /^HTTP\/1\.1 100 /);
  return { socket, received };
}
