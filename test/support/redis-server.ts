import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import type { Certificates } from './certificates.ts';
import { freePort } from './free-port.ts';
import { findProgram, skipWithout } from './require-program.ts';

/** Where the global set-up leaves the address of the test server for the test processes. */
export const redisVariable = 'TEST_REDIS_URL';
const install = 'apt-get install redis-server (or valkey-server), or set REDIS_URL';

export interface RedisServer {
  readonly url: string;
  readonly process: ChildProcess | undefined;
  stop(): Promise<void>;
}

/** The Redis of REDIS_URL, else one found on this machine and started on a free port, else undefined. */
export async function startRedis(): Promise<RedisServer | undefined> {
  const given = process.env['REDIS_URL'];
  if (given) return { url: given, process: undefined, stop: async () => {} };
  return startOwnRedis();
}

/** A Redis that the test may stop, freeze or flush. */
export async function startOwnRedis(port?: number): Promise<RedisServer | undefined> {
  const chosen = port ?? (await freePort());
  return start(`redis://127.0.0.1:${chosen}`, ['--port', String(chosen)]);
}

/** A Redis that speaks TLS alone, under the name that its certificate is for. */
export async function startTlsRedis(certificates: Certificates): Promise<RedisServer | undefined> {
  const port = await freePort();
  const { keyPath, certificatePath, authorityPath } = certificates;
  return start(`rediss://localhost:${port}`, [
    ...['--port', '0', '--tls-port', String(port), '--tls-auth-clients', 'no'],
    ...['--tls-key-file', keyPath, '--tls-cert-file', certificatePath, '--tls-ca-cert-file', authorityPath],
  ]);
}

/** One with these options, which must be installed: a test that skips without Redis has checked that. */
export async function startRedisWith(options: readonly string[]): Promise<RedisServer> {
  const server = await start('', options);
  if (server === undefined) throw new Error(install);
  return server;
}

async function start(url: string, listening: readonly string[]): Promise<RedisServer | undefined> {
  const command = findProgram('redis-server', 'valkey-server');
  if (command === undefined) {
    if (process.env['CI']) throw new Error(`The Redis tests must run in CI: ${install}`);
    return undefined;
  }
  const args = [...listening, '--bind', '127.0.0.1', '--save', '', '--appendonly', 'no'];
  const server = spawn(command, args, { stdio: ['ignore', 'pipe', 'inherit'] });
  for await (const line of createInterface({ input: server.stdout })) {
    if (line.includes('Ready to accept connections')) break;
  }
  server.stdout.resume();
  return {
    url,
    process: server,
    stop: async () => {
      if (server.exitCode !== null || server.signalCode !== null) return;
      const exited = once(server, 'exit');
      server.kill('SIGKILL');
      await exited;
    },
  };
}

/** For a test's options: why it is skipped where there is no Redis. */
export function skipWithoutRedis(): string | false {
  return skipWithout(process.env[redisVariable] !== undefined, { what: 'Redis', install });
}
