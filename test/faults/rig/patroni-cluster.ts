import assert from 'node:assert/strict';
import type { ChildProcess } from 'node:child_process';
import { chmod, mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout } from 'node:timers/promises';
import { freePort } from '../../support/free-port.ts';
import { findProgram, skipWithoutProgram } from '../../support/require-program.ts';
import { TcpLine } from '../../support/tcp-line.ts';
import {
  command,
  debianServers,
  end,
  run,
  serverUser,
  skipWithoutDebianPostgres,
} from './debian-postgres.ts';

const nodesCount = 3;
/** Between two looks at the state of the cluster; two minutes of them. */
const lookDelayMs = 100;
const looksMax = 1_200;
/** A standby that lacks more than this does not become the primary. More than the test loses. */
const lagBytesMax = 64 * 2 ** 20;
const password = 'p@ss,w:rd/';

/** For a test's options: why it is skipped where a part of the cluster is not installed. */
export function skipWithoutPatroni(): string | false {
  return (
    skipWithoutProgram('patroni') ||
    skipWithoutProgram('etcd', 'etcd-server') ||
    skipWithoutProgram('haproxy') ||
    skipWithoutDebianPostgres()
  );
}

interface Node {
  readonly name: string;
  readonly folder: string;
  readonly port: number;
  readonly restPort: number;
  /** By which standbys follow it, if they can be kept from it. */
  line: TcpLine | undefined;
  patroni: ChildProcess | undefined;
}

interface Member {
  readonly name: string;
  readonly role: string;
  readonly state: string;
  readonly lag?: number | string;
}

export interface ClusterOptions {
  /** Whether a commit waits until a standby has it. */
  readonly isSynchronous: boolean;
}

/**
 * Three PostgreSQL servers under Patroni, with etcd and HAProxy, all on this machine. docs/scaling.md has the settings.
 */
export class PatroniCluster {
  readonly #folder: string;
  readonly #options: ClusterOptions;
  readonly #nodes: readonly Node[];
  readonly #etcdPort: number;
  readonly #proxyPort: number;
  #etcd: ChildProcess | undefined;
  #proxy: ChildProcess | undefined;

  private constructor(folder: string, options: ClusterOptions, ports: readonly number[]) {
    const [etcdPort = 0, proxyPort = 0, ...others] = ports;
    this.#folder = folder;
    this.#options = options;
    this.#etcdPort = etcdPort;
    this.#proxyPort = proxyPort;
    this.#nodes = Array.from({ length: nodesCount }, (_, index) => ({
      name: `node-${index + 1}`,
      folder: join(folder, `node-${index + 1}`),
      port: others[2 * index] ?? 0,
      restPort: others[2 * index + 1] ?? 0,
      line: undefined,
      patroni: undefined,
    }));
  }

  static async start(options: ClusterOptions): Promise<PatroniCluster> {
    const folder = await mkdtemp(join(tmpdir(), 'till-cluster-'));
    await chmod(folder, 0o755);
    const ports: number[] = [];
    while (ports.length < 2 + 2 * nodesCount) ports.push(await freePort());
    const cluster = new PatroniCluster(folder, options, ports);
    try {
      await cluster.#startEtcd();
      for (const node of cluster.#nodes) await cluster.#startNode(node);
      await cluster.isWhole();
      await cluster.#startProxy();
    } catch (error) {
      await cluster.remove();
      throw error;
    }
    return cluster;
  }

  /** By HAProxy, which leads to the primary. */
  get proxyUrl(): string {
    return this.#urlOf(`127.0.0.1:${this.#proxyPort}`);
  }

  /** With every server, and without HAProxy. */
  get hostsUrl(): string {
    const hosts = this.#nodes.map(({ port }) => `127.0.0.1:${port}`);
    return `${this.#urlOf(hosts.join())}?target_session_attrs=read-write`;
  }

  /** Resolves with the primary once every server runs, and every standby that commits wait for is there. */
  async isWhole(): Promise<string> {
    let members: readonly Member[] = [];
    for (let looks = 0; looks < looksMax; looks += 1) {
      members = await this.#members();
      const leader = members.find(({ role }) => role === 'leader');
      const standbys = members.filter(({ role, state, lag }) => {
        return role !== 'leader' && ['running', 'streaming'].includes(state) && lag === 0;
      });
      const isSynchronous = members.some(({ role }) => role === 'sync_standby');
      const isWhole = leader?.state === 'running' && standbys.length === nodesCount - 1;
      if (isWhole && isSynchronous === this.#options.isSynchronous) return leader.name;
      await setTimeout(lookDelayMs);
    }
    throw new Error(`the cluster does not become whole: ${JSON.stringify(members)}`);
  }

  /** The primary and a standby change roles, as an operator orders it. */
  async switchOver(): Promise<void> {
    const leader = await this.isWhole();
    const members = await this.#members();
    const to =
      members.find(({ role }) => role === 'sync_standby') ?? members.find(({ name }) => name !== leader);
    const response = await fetch(`http://127.0.0.1:${this.#nodeOf(leader).restPort}/switchover`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ leader, candidate: to?.name }),
    });
    assert.equal(response.status, 200, await response.text());
  }

  /**
   * The machine of the primary dies: not one of its processes does anything more. Resolves with what starts it again.
   */
  async killPrimary(): Promise<() => Promise<void>> {
    const [node] = await this.#primaries();
    assert.ok(node, 'there is a primary');
    await this.#killNode(node);
    return () => this.#startNode(node);
  }

  /**
   * From now on no standby gets what the primary commits. Only an asynchronous primary goes on. Resolves with what ends
   * it.
   */
  async pauseReplication(): Promise<() => void> {
    await this.isWhole();
    for (const { line } of this.#nodes) line?.cut();
    return () => {
      for (const { line } of this.#nodes) line?.repair();
    };
  }

  /** Resolves once another server is the primary. */
  async hasPrimary(): Promise<void> {
    for (let looks = 0; looks < looksMax; looks += 1) {
      if ((await this.#primaries()).length === 1) return;
      await setTimeout(lookDelayMs);
    }
    throw new Error('no server becomes the primary');
  }

  async remove(): Promise<void> {
    await Promise.all(this.#nodes.map((node) => this.#killNode(node)));
    await Promise.all([this.#etcd, this.#proxy].map((child) => end(child)));
    await Promise.all(this.#nodes.map(({ line }) => line?.close()));
    await rm(this.#folder, { recursive: true, force: true, maxRetries: 5 });
  }

  #urlOf(hosts: string): string {
    return `postgresql://postgres:${encodeURIComponent(password)}@${hosts}/postgres`;
  }

  #nodeOf(name: string): Node {
    return this.#nodes.find((node) => node.name === name) ?? assert.fail(`no such server: ${name}`);
  }

  /** The servers that say that they are the primary. */
  async #primaries(): Promise<readonly Node[]> {
    const found = await Promise.all(
      this.#nodes.map(async (node) => {
        const response = await fetch(`http://127.0.0.1:${node.restPort}/primary`).catch(() => undefined);
        await response?.bytes();
        return response?.status === 200 ? [node] : [];
      }),
    );
    return found.flat();
  }

  async #members(): Promise<readonly Member[]> {
    for (const { restPort } of this.#nodes) {
      try {
        const response = await fetch(`http://127.0.0.1:${restPort}/cluster`);
        // Patroni documents the shape.
        return ((await response.json()) as { readonly members: readonly Member[] }).members;
      } catch {
        // This node is down, or is starting.
      }
    }
    return [];
  }

  async #startEtcd(): Promise<void> {
    const client = `http://127.0.0.1:${this.#etcdPort}`;
    const peer = `http://127.0.0.1:${await freePort()}`;
    const program = findProgram('etcd') ?? 'etcd';
    const args = [
      ...['--name', 'etcd', '--data-dir', join(this.#folder, 'etcd')],
      ...['--listen-client-urls', client, '--advertise-client-urls', client],
      ...['--listen-peer-urls', peer, '--initial-advertise-peer-urls', peer],
      ...['--initial-cluster', `etcd=${peer}`],
    ];
    this.#etcd = await run([program, ...args], join(this.#folder, 'etcd.log'));
  }

  async #startNode(node: Node): Promise<void> {
    if (!this.#options.isSynchronous) node.line ??= await TcpLine.open(node.port);
    await mkdir(node.folder, { recursive: true });
    const [prefix, owner] = serverUser();
    const path = join(node.folder, 'patroni.yml');
    // JSON is YAML.
    await writeFile(path, JSON.stringify(this.#settingsOf(node), undefined, 2));
    if (owner !== undefined) await command(['chown', '-R', owner, node.folder]);
    const program = findProgram('patroni') ?? 'patroni';
    node.patroni = await run([...prefix, program, path], join(this.#folder, `${node.name}.log`));
  }

  #settingsOf({ name, folder, port, restPort, line }: Node): object {
    const restAddress = `127.0.0.1:${restPort}`;
    const address = `127.0.0.1:${port}`;
    return {
      scope: 'till',
      name,
      restapi: { listen: restAddress, connect_address: restAddress },
      etcd3: { host: `127.0.0.1:${this.#etcdPort}` },
      bootstrap: {
        dcs: {
          ttl: 20,
          loop_wait: 5,
          retry_timeout: 5,
          synchronous_mode: this.#options.isSynchronous,
          maximum_lag_on_failover: lagBytesMax,
          postgresql: { use_pg_rewind: true, parameters: { max_connections: 100, wal_log_hints: 'on' } },
        },
        initdb: [{ encoding: 'UTF8' }, { locale: 'C.UTF-8' }, { 'auth-host': 'scram-sha-256' }],
      },
      postgresql: {
        listen: address,
        connect_address: line === undefined ? address : `127.0.0.1:${line.port}`,
        data_dir: join(folder, 'data'),
        bin_dir: debianServers.at(-1),
        pgpass: join(folder, 'pgpass'),
        parameters: { unix_socket_directories: folder },
        pg_hba: [
          'host all all 127.0.0.1/32 scram-sha-256',
          'host replication all 127.0.0.1/32 scram-sha-256',
        ],
        authentication: {
          superuser: { username: 'postgres', password },
          replication: { username: 'replicator', password },
        },
      },
    };
  }

  async #startProxy(): Promise<void> {
    const servers = this.#nodes.map(
      ({ name, port, restPort }) => `  server ${name} 127.0.0.1:${port} check port ${restPort}`,
    );
    const lines = [
      'defaults',
      '  mode tcp',
      '  retries 0',
      '  timeout connect 2s',
      '  timeout client 30m',
      '  timeout server 30m',
      '  timeout check 2s',
      'listen primary',
      `  bind 127.0.0.1:${this.#proxyPort}`,
      '  option httpchk GET /primary',
      '  http-check expect status 200',
      '  default-server inter 1s fall 2 rise 1 on-marked-down shutdown-sessions',
      ...servers,
      '',
    ];
    const path = join(this.#folder, 'haproxy.cfg');
    await writeFile(path, lines.join('\n'));
    const program = findProgram('haproxy') ?? 'haproxy';
    this.#proxy = await run([program, '-f', path], join(this.#folder, 'haproxy.log'));
  }

  async #killNode(node: Node): Promise<void> {
    await end(node.patroni);
    node.patroni = undefined;
    for (const pid of await processesOf(node)) {
      try {
        process.kill(pid, 'SIGKILL');
      } catch {
        // It has ended.
      }
    }
  }
}

/** The processes of its PostgreSQL. The first one starts the others. */
async function processesOf({ folder }: Node): Promise<readonly number[]> {
  const text = await readFile(join(folder, 'data/postmaster.pid'), 'utf8').catch(() => '');
  const pid = Number.parseInt(text, 10);
  const children = await readFile(`/proc/${pid}/task/${pid}/children`, 'utf8').catch(() => undefined);
  return children === undefined ? [] : [pid, ...children.trim().split(' ').map(Number)];
}
