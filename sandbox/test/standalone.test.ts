import assert from 'node:assert/strict';
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { mkdtemp, readdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { type TestContext, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { clientOf } from './support.ts';

const root = fileURLToPath(new URL('../..', import.meta.url));
const program = 'sandbox/main.ts';

async function emptyFolder(t: TestContext): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'till-standalone-'));
  t.after(() => rm(folder, { recursive: true, force: true }));
  return folder;
}

function run(t: TestContext, cwd: string, args: readonly string[]): ChildProcess {
  const { SANDBOX_PORT: _, DATA_DIR: __, WEBHOOK_URL: ___, WEBHOOK_SECRET: ____, ...env } = process.env;
  const child = spawn(process.execPath, args, { cwd, env, stdio: ['ignore', 'pipe', 'pipe'] });
  t.after(() => child.kill('SIGKILL'));
  return child;
}

/** The port in the line that the sandbox prints when it is ready. */
async function portOf(child: ChildProcess): Promise<number> {
  assert.ok(child.stdout !== null);
  const [line] = await once(child.stdout, 'data');
  const [, port] = /^The sandbox listens at http:\/\/127\.0\.0\.1:(\d+)\./.exec(String(line)) ?? [];
  assert.ok(port !== undefined, String(line));
  return Number(port);
}

test('the command starts without files, prints its address, and stops on SIGTERM', async (t) => {
  const folder = await emptyFolder(t);
  const child = run(t, folder, [join(root, program), '--port', '0']);
  const stripe = clientOf(await portOf(child));
  assert.match((await stripe.customers.create({})).id, /^cus_/);
  child.kill('SIGTERM');
  assert.deepEqual(await once(child, 'exit'), [0, null]);
  assert.deepEqual(await readdir(folder), []);
});

test('--data-dir keeps the state', async (t) => {
  const folder = await emptyFolder(t);
  const first = run(t, folder, [join(root, program), '--port', '0', '--data-dir', 'state']);
  const { id } = await clientOf(await portOf(first)).customers.create({});
  first.kill('SIGTERM');
  await once(first, 'exit');
  const second = run(t, folder, [join(root, program), '--port', '0', '--data-dir', 'state']);
  assert.equal((await clientOf(await portOf(second)).customers.retrieve(id)).id, id);
});

test('a wrong option ends with the usage', async (t) => {
  const child = run(t, await emptyFolder(t), [join(root, program), '--prot', '0']);
  assert.ok(child.stderr !== null);
  const [errors, [code]] = await Promise.all([text(child.stderr), once(child, 'exit')]);
  assert.equal(code, 2);
  assert.match(errors, /--prot[\s\S]*Usage: till-sandbox/);
});

/** The promise is half a second on a machine that does nothing else. */
const readyMsMax = 500;

test('the sandbox is ready within half a second', async (t) => {
  const folder = await emptyFolder(t);
  const startedAt = performance.now();
  const child = run(t, folder, [join(root, 'sandbox/main.ts'), '--memory', '--port', '0']);
  await portOf(child);
  const elapsedMs = performance.now() - startedAt;
  // While other tests run, a process mostly waits for a core. What counts is the time that its main thread works.
  const [runNs = '0'] = readFileSync(`/proc/${child.pid}/task/${child.pid}/schedstat`, 'utf8').split(' ');
  const workedMs = Number(runNs) / 1e6;
  t.diagnostic(`ready after ${elapsedMs.toFixed(0)} ms, of which it worked ${workedMs.toFixed(0)} ms`);
  assert.ok(workedMs < readyMsMax, `${workedMs} ms of work`);
});
