import assert from 'node:assert/strict';
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { createClient } from '@redis/client';
import { freePort } from './free-port.ts';
import { inTurn } from './in-turn.ts';
import { startRedisWith } from './redis-server.ts';
import { findProgram } from './require-program.ts';
import { until } from './until.ts';

const name = 'till-cache';
const password = 'p@ss/word';
/** After this time without a response, a sentinel takes the primary for dead. The test decides before. */
const downAfterMs = 600_000;

/** A primary of Redis, its replica, and three sentinels that can promote the replica. */
export async function startSentinels() {
  const folder = await mkdtemp(join(tmpdir(), 'till-sentinels-'));
  const ports = await inTurn([1, 2, 3, 4, 5], () => freePort());
  const [primaryPort = 0, replicaPort = 0, ...sentinelPorts] = ports;
  const own = ['--requirepass', password, '--masterauth', password, '--dir', folder];
  const primary = await startRedisWith(['--port', String(primaryPort), ...own]);
  const replica = await startRedisWith([
    ...['--port', String(replicaPort), '--replicaof', '127.0.0.1', String(primaryPort)],
    ...own,
  ]);
  const sentinels = await inTurn(sentinelPorts, (port) => startSentinel(folder, port, primaryPort));
  const ask = async (words: readonly [string, ...string[]]) => {
    const client = createClient({ url: `redis://127.0.0.1:${sentinelPorts[0]}` });
    await client.connect();
    try {
      return await client.sendCommand([...words]);
    } finally {
      client.destroy();
    }
  };
  const primaryIs = async (port: number) => {
    const address = await ask(['SENTINEL', 'GET-MASTER-ADDR-BY-NAME', name]);
    return Array.isArray(address) && address[1] === String(port);
  };
  const knowEachOther = async () => {
    const quorum = await ask(['SENTINEL', 'CKQUORUM', name]).catch((error: Error) => error.message);
    const replicas = await ask(['SENTINEL', 'REPLICAS', name]);
    return /^OK 3 usable/.test(String(quorum)) && Array.isArray(replicas) && replicas.length === 1;
  };
  await until(knowEachOther);
  const hosts = sentinelPorts.map((port) => `127.0.0.1:${port}`).join();
  return {
    url: `redis+sentinel://:${encodeURIComponent(password)}@${hosts}/${name}`,
    killPrimary: () => primary.stop(),
    killSentinel: () => end(sentinels[0]),
    /** The sentinels promote the replica. */
    failOver: async () => {
      await ask(['SENTINEL', 'FAILOVER', name]);
      await until(() => primaryIs(replicaPort));
    },
    stop: async () => {
      await Promise.all([primary.stop(), replica.stop(), ...sentinels.map(end)]);
      await rm(folder, { recursive: true, force: true });
    },
  };
}

async function startSentinel(folder: string, port: number, primaryPort: number): Promise<ChildProcess> {
  const path = join(folder, `sentinel-${port}.conf`);
  const lines = [
    `port ${port}`,
    'bind 127.0.0.1',
    `dir ${folder}`,
    `sentinel monitor ${name} 127.0.0.1 ${primaryPort} 2`,
    `sentinel auth-pass ${name} ${password}`,
    `sentinel down-after-milliseconds ${name} ${downAfterMs}`,
    `sentinel failover-timeout ${name} 5000`,
    '',
  ];
  await writeFile(path, lines.join('\n'));
  const program = findProgram('redis-server', 'valkey-server') ?? assert.fail();
  const child = spawn(program, [path, '--sentinel'], { stdio: ['ignore', 'pipe', 'inherit'] });
  for await (const line of createInterface({ input: child.stdout }))
    if (line.includes('Sentinel ID is')) break;
  child.stdout.resume();
  return child;
}

async function end(child: ChildProcess | undefined): Promise<void> {
  if (child === undefined || child.exitCode !== null || child.signalCode !== null) return;
  const exited = once(child, 'exit');
  child.kill('SIGKILL');
  await exited;
}
