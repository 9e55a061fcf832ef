import assert from 'node:assert/strict';
import { once } from 'node:events';
import { existsSync, readFileSync } from 'node:fs';
import { mkdtemp, rename, rm, writeFile } from 'node:fs/promises';
import { connect, createServer, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { createLifetime, type Lifetime, startBackend } from '../support/backend.ts';
import { testKey } from '../support/client.ts';
import { copyCluster } from '../support/cluster-template.ts';
import { effort } from '../support/effort.ts';
import { startTill } from '../support/till.ts';
import {
  backendEnvironment,
  quickCommand,
  runTillUntilExit,
  type TillInChild,
} from '../support/till-in-child.ts';
import { until } from '../support/until.ts';
import { holdRows } from '../webhooks/row-lock.ts';
import { startRig } from './rig/rig.ts';

/** Two take turns and replace each other as more do. Each start takes a second of CPU time. */
const count = effort({ short: 2, long: 3 });
const poolSize = 7;
const environment = { PROCESSES: String(count), DATABASE_POOL_SIZE: String(poolSize) };

/** Starting so many processes takes longer than these tests, so they share them. The last one ends them. */
describe('processes that share a port', () => {
  const life = createLifetime();
  let till: TillInChild;
  before(async () => {
    till = await startProcesses(life);
  });
  after(() => life.end());

  test('a connection that was given to a process which dies before it accepts it goes to another process', async () => {
    const pid = pidOf(till, 2);
    process.kill(pid, 'SIGSTOP');
    // One of them is given to the process that is stopped.
    const reads = Array.from({ length: count }, () => readOnce(till));
    await Promise.race(reads);
    await till.logged('request', count - 1);
    process.kill(pid, 'SIGKILL');
    await Promise.all(reads);
    await till.logged('process ready', count + 1);
  });

  test('connections go to the processes in turn, and the metrics of all add up, also after one has died', async () => {
    const [before, from] = [await countedReads(till), till.lines.length];
    const requests = 4 * count;
    for (let request = 0; request < requests; request += 1) await readOnce(till);
    const requestLines = till.lines.slice(from).filter((line) => line.msg === 'request');
    const byProcess = Map.groupBy(requestLines, (line) => line['process']);
    assert.deepEqual(
      [...byProcess.keys()].sort(),
      Array.from({ length: count }, (_, index) => index + 1),
    );
    assert.equal(await countedReads(till), before + requests);

    await killProcess(till, 2);
    assert.equal(await countedReads(till), before + requests, 'what it had counted is still there');
    await till.logged('process ready', count + 2);
    for (let request = 0; request < requests; request += 1) await readOnce(till);
    assert.equal(await countedReads(till), before + 2 * requests);
    const scrape = await (await till.fetch('/metrics')).text();
    assert.match(scrape, new RegExp(`^processes_serving ${count}$`, 'm'));
    assert.match(scrape, /^processes_restarted_total 2$/m);
    assert.match(scrape, /^webhook_queue_depth 0$/m);
  });

  test('SIGTERM lets every process finish its requests, and nothing is left running', async () => {
    const open = await Promise.all(Array.from({ length: 2 * count }, () => beginRequest(till)));
    const pids = pidsOf(till);
    const exited = once(till.child, 'exit');
    till.child.kill('SIGTERM');
    await till.logged('stopping', 1 + count);
    for (const { socket } of open) socket.write('{}');
    await exited;
    for (const { received } of open)
      assert.match(received.join(''), /\nHTTP\/1\.1 400 .*connection: close/is);
    assert.equal(till.child.exitCode, 0);
    assert.ok(pids.every((pid) => !isRunning(pid)));
  });
});

test('a process that is killed costs only the requests that it had, and is restarted', async (t) => {
  const kills = effort({ short: [2, 1], long: [1, 2, 3, 1, 2, 3, 1, 1, 1] });
  const rig = await startRig(t, { environment });
  const till = await rig.tills[0]?.child();
  assert.ok(till);
  const workers = 4;
  const load = rig.startLoad({ workers });
  await load.progressed(10);
  for (const [index, number] of kills.entries()) {
    await killProcess(till, number);
    await load.progressed(5);
    await till.logged('process ready', count + index + 1);
  }
  await load.progressed(10);
  const [used] = await rig.sql<{ pool: number; locks: number }>(
    `select count(*) filter (where application_name = 'till')::int as pool,
       count(*) filter (where application_name = 'till owner lock')::int as locks
     from pg_stat_activity where datname = current_database()`,
  );
  assert.ok(used !== undefined && used.pool <= poolSize, `${used?.pool} connections`);
  assert.equal(used.locks, count);
  await rig.check(load, { failures: [0], killed: true });
  const lost = load.ledger.client.attempts.filter(({ status }) => status === 0).length;
  assert.ok(lost <= kills.length * workers, `${lost} requests were lost`);
  t.diagnostic(`${load.ledger.client.attempts.length} requests, ${kills.length} kills, ${lost} lost`);
});

test('SIGHUP replaces every process under load: no request fails, and all of them serve at any time', async (t) => {
  const rounds = effort({ short: 1, long: 5 });
  const rig = await startRig(t, { environment });
  const till = await rig.tills[0]?.child();
  assert.ok(till);
  const load = rig.startLoad({ paceMs: 50 });
  const watch = rig.watchHealth();
  await load.progressed(10);
  const before = pidsOf(till);
  for (let round = 1; round <= rounds; round += 1) {
    till.child.kill('SIGHUP');
    await till.logged('all processes replaced', round);
    await load.progressed(5);
  }
  // On a busy machine, a database may take longer than /health waits for it. Nothing else may be down.
  const unserved = watch.looks.filter(({ down }) => down?.every((name) => name === 'database') !== true);
  assert.deepEqual(unserved, []);
  await watch.stop();
  assert.ok(before.every((pid) => !isRunning(pid)));
  await rig.check(load, { failures: [] });
  t.diagnostic(`${load.ledger.client.attempts.length} requests, ${rounds * count} replacements`);
});

test('a process that cannot start is restarted ever later, while the others serve', async (t) => {
  const folder = await mkdtemp(join(tmpdir(), 'till-processes-'));
  t.after(() => rm(folder, { recursive: true, force: true }));
  const file = join(folder, 'keys');
  await writeFile(file, 'shop:first-key\n');
  const till = await startProcesses(t, { API_KEYS_FILE: file });
  await rename(file, `${file}.gone`);
  await killProcess(till, 2);
  const delays = [];
  for (let restart = 1; restart <= 3; restart += 1)
    delays.push((await till.logged('process restart scheduled', restart))['delayMs']);
  assert.deepEqual(delays, [500, 1_000, 2_000]);
  assert.equal((await till.fetch('/health/ready')).status, 200);
  const health = await till.fetch('/health');
  assert.equal(health.status, 503);
  assert.match(await health.text(), /"error":\{"processes":\{"status":"down"/);

  till.child.kill('SIGHUP');
  await till.logged('replacement failed; current processes kept');
  assert.equal((await till.fetch('/health/ready')).status, 200);
  await rename(`${file}.gone`, file);
  await till.logged('process ready', count + 1);
  // Its parent may read that it is ready after this test has read it.
  await until(async () => (await till.fetch('/health')).status === 200);
});

for (const end of ['serves', 'dies'] as const) {
  test(`an API key that is revoked by SIGHUP during a restart is refused by all processes, if that process then ${end}`, async (t) => {
    const folder = await mkdtemp(join(tmpdir(), 'till-processes-'));
    t.after(() => rm(folder, { recursive: true, force: true }));
    const file = join(folder, 'keys');
    await writeFile(file, 'shop:leaked-key\n');
    const backend = await startBackend(t);
    const till = await startTill({
      in: 'child',
      on: backend,
      environment: { ...environment, API_KEYS_FILE: file },
    });
    await till.logged('process ready', count);
    const gate = await holdRows(backend, 'lock table till.migrations in access exclusive mode');
    await killProcess(till, 1);
    await till.logged('starting', 1 + count + 1);
    await gate.awaited(1);
    // The new process has read the file, and now waits for the database.
    await writeFile(file, 'shop:new-key\n');
    till.child.kill('SIGHUP');
    await till.logged('API keys reloaded', count - 1);
    if (end === 'dies') await killProcess(till, 1);
    await gate.release();
    const outcomes = ['all processes replaced', 'replacement failed; current processes kept'];
    const outcome = () => till.lines.find(({ msg }) => outcomes.includes(msg))?.msg;
    await until(() => outcome() !== undefined);
    assert.equal(outcome(), outcomes[0]);
    assert.deepEqual(
      await statusesOf(till, 'leaked-key'),
      Array.from({ length: count }, () => 401),
    );
    assert.deepEqual(
      await statusesOf(till, 'new-key'),
      Array.from({ length: count }, () => 200),
    );
    // One that is ready before its replacement must not accept the key until then.
    assert.equal(new Set(reloadsOf(till)).size, end === 'serves' ? count : count - 1);
  });
}

test('the service ends with an error if no process can be restarted', {
  skip: effort<string | false>({ short: 'it takes half a minute', long: false }),
}, async (t) => {
  const folder = await mkdtemp(join(tmpdir(), 'till-processes-'));
  t.after(() => rm(folder, { recursive: true, force: true }));
  const file = join(folder, 'keys');
  await writeFile(file, 'shop:first-key\n');
  const till = await startProcesses(t, { API_KEYS_FILE: file });
  const exited = once(till.child, 'exit');
  await rm(file);
  for (let number = 1; number <= count; number += 1) await killProcess(till, number);
  await exited;
  assert.equal(till.child.exitCode, 1);
  assert.ok(till.lines.some((line) => line.msg === 'no process serves'));
});

test('a port that is in use is reported once, and nothing is left running', async (t) => {
  const backend = await startBackend(t);
  const other = createServer().listen(0, '127.0.0.1');
  await once(other, 'listening');
  t.after(async () => other.close());
  const address = other.address();
  assert.ok(typeof address === 'object' && address !== null);
  const { code, stderr } = await runTillUntilExit({
    ...backendEnvironment(backend),
    ...environment,
    PORT: String(address.port),
  });
  assert.equal(code, 1);
  assert.equal(
    stderr,
    `till failed to start: port ${address.port} is already in use on 127.0.0.1; set PORT to another port\n`,
  );
});

test('if the parent is killed, its processes end', async (t) => {
  const till = await startProcesses(t);
  const pids = pidsOf(till);
  // Its output is closed when the last process that can write to it has ended.
  const closed = once(till.child, 'close');
  till.child.kill('SIGKILL');
  await closed;
  // A process closes its output a moment before it has ended.
  await until(async () => pids.every((pid) => !isRunning(pid)));
});

test('the parent runs the embedded parts, which outlive every process', async (t) => {
  const folder = await mkdtemp(join(tmpdir(), 'till-processes-'));
  t.after(() => rm(folder, { recursive: true, force: true }));
  copyCluster(folder);
  const till = await startTill({
    in: 'child',
    for: t,
    command: quickCommand,
    environment: { ...environment, DATA_DIR: folder, API_KEYS: `tests:${testKey}` },
  });
  const created = await till.post<{ id: string }>('/customers', { name: 'Ada', email: 'ada@example.com' });
  till.child.kill('SIGHUP');
  await till.logged('all processes replaced');
  for (let number = 1; number <= count; number += 1)
    assert.equal((await till.get<{ id: string }>(`/customers/${created.id}`)).id, created.id);
  assert.equal(await till.stop(), 0);
  assert.ok(!existsSync(join(folder, 'postgres', 'cluster', 'data', 'postmaster.pid')));
});

async function startProcesses(
  life: Lifetime,
  own: Readonly<Record<string, string>> = {},
): Promise<TillInChild> {
  const backend = await startBackend(life);
  const till = await startTill({ in: 'child', on: backend, environment: { ...environment, ...own } });
  // A process tells its parent that it is ready before it logs it. One that is killed in between never does.
  await till.logged('process ready', count);
  return till;
}

/** The current process with this number. */
function pidOf(till: TillInChild, number: number): number {
  const line = till.lines.findLast((line) => line.msg === 'process started' && line['process'] === number);
  return Number(line?.['pid']);
}

function pidsOf(till: TillInChild): readonly number[] {
  return Array.from({ length: count }, (_, index) => pidOf(till, index + 1));
}

/** A process that has ended may wait for the system to take note. */
function isRunning(pid: number): boolean {
  try {
    return !/\) Z /.test(readFileSync(`/proc/${pid}/stat`, 'latin1'));
  } catch {
    return false;
  }
}

/** Kills a process, and waits until the parent knows. */
async function killProcess(till: TillInChild, number: number): Promise<void> {
  const ended = till.lines.filter((line) => line.msg === 'process ended unexpectedly').length;
  process.kill(pidOf(till, number), 'SIGKILL');
  await till.logged('process ended unexpectedly', ended + 1);
}

/** The numbers of the processes that have reloaded their API keys. */
function reloadsOf(till: TillInChild): readonly unknown[] {
  return till.lines.filter(({ msg }) => msg === 'API keys reloaded').map((line) => line['process']);
}

/** How every process in turn responds to an API key. */
async function statusesOf(till: TillInChild, key: string): Promise<readonly number[]> {
  const statuses = [];
  for (let request = 0; request < count; request += 1) {
    const headers = { 'x-api-key': key, connection: 'close' };
    const response = await fetch(`${till.url}/api/v1/plans`, { headers });
    await response.text();
    statuses.push(response.status);
  }
  return statuses;
}

/** A request on a connection of its own. */
async function readOnce(till: TillInChild): Promise<void> {
  const response = await till.fetch('/api/v1/plans', { headers: { connection: 'close' } });
  assert.equal(response.status, 200);
  await response.text();
}

/** How many of these requests the processes have counted. */
async function countedReads(till: TillInChild): Promise<number> {
  const scrape = await (await till.fetch('/metrics', { headers: { connection: 'close' } })).text();
  const line =
    /^http_request_duration_seconds_count\{method="GET",route="\/api\/v1\/plans",status="200"\} (\d+)$/m;
  return Number(line.exec(scrape)?.[1]);
}

/** A request of which the service has everything but the body, as its "100 Continue" shows. */
async function beginRequest({ url }: TillInChild): Promise<{ socket: Socket; received: readonly string[] }> {
  const socket = connect(Number(new URL(url).port), '127.0.0.1');
  const received: string[] = [];
  socket.on('data', (chunk) => received.push(String(chunk)));
  socket.write(
    'POST /webhooks/processor HTTP/1.1\r\nhost: x\r\nexpect: 100-continue\r\ncontent-length: 2\r\n\r\n',
  );
  await once(socket, 'data');
  return { socket, received };
}
