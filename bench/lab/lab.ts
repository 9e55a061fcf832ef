import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { webhookSecret } from '../load/events.ts';
import type { Job, JobResult } from '../load/job.ts';
import { type LoadGenerator, startLoadGenerator } from '../load/load-generator.ts';
import { apiKey } from '../load/requests.ts';
import { cpuMsOf, cpuMsOfTree } from './cpu.ts';
import { type BenchDatabase, type DatabaseServer, startDatabaseServer } from './database.ts';
import { readyLine, type ServerCommand, type ServerProcess, startServerProcess } from './server-process.ts';

export const projectFolder = fileURLToPath(new URL('../..', import.meta.url));

/** Connections to PostgreSQL: the service's default, and what every contestant gets. */
export const poolSize = 10;

export interface Scale {
  readonly quick: boolean;
  readonly rounds: number;
}

/** A run of a load, with the CPU time that it took per 1,000 operations. */
export interface Run {
  readonly ratePerSecond: number;
  readonly p50Ms: number;
  readonly p99Ms: number;
  readonly serviceCpuMs: number;
  readonly databaseCpuMs: number;
}

/** Where everything is measured: one PostgreSQL, one sandbox, one load generator, each in a process of its own. */
export class Lab implements AsyncDisposable {
  readonly scale: Scale;
  readonly folder: string;
  readonly #open: AsyncDisposableStack;
  readonly #postgres: DatabaseServer;
  readonly #generator: LoadGenerator;
  readonly sandboxUrl: string;
  #started = 0;

  private constructor(
    scale: Scale,
    folder: string,
    open: AsyncDisposableStack,
    postgres: DatabaseServer,
    sandboxUrl: string,
  ) {
    this.scale = scale;
    this.folder = folder;
    this.#open = open;
    this.#postgres = postgres;
    this.sandboxUrl = sandboxUrl;
    this.#generator = open.use(startLoadGenerator());
  }

  static async open(scale: Scale): Promise<Lab> {
    await using open = new AsyncDisposableStack();
    const folder = await mkdtemp(join(tmpdir(), 'till-bench-'));
    open.defer(() => rm(folder, { recursive: true, force: true }));
    const postgres = open.use(await startDatabaseServer(join(folder, 'database')));
    const sandbox = open.use(
      await startServerProcess({
        command: process.execPath,
        args: ['sandbox/main.ts'],
        cwd: projectFolder,
        environment: { SANDBOX_PORT: '0', DATA_DIR: join(folder, 'sandbox') },
        ready: /listens at (http:\/\/[^ ]+)\. /,
        logPath: join(folder, 'sandbox.log'),
      }),
    );
    return new Lab(scale, folder, open.move(), postgres, sandbox.url);
  }

  /** How much of something is done: less if it is to be quick. */
  amount(full: number, quick: number): number {
    return this.scale.quick ? quick : full;
  }

  database(kind: 'till' | 'empty'): Promise<BenchDatabase> {
    return this.#postgres.create(kind);
  }

  /** The service as users run it. */
  async startTill(
    database: BenchDatabase,
    environment: Readonly<Record<string, string>> = {},
  ): Promise<ServerProcess> {
    return this.#start(['src/main.ts'], { ...this.#tillEnvironment(database.url), ...environment });
  }

  /** A program of this folder that is compared with the service; it gets the same settings. */
  startBaseline(path: string, database?: BenchDatabase): Promise<ServerProcess> {
    return this.#start([join('bench', path)], this.#tillEnvironment(database?.url ?? 'postgres://unused'));
  }

  async load(job: Job, pids: readonly number[]): Promise<Run & { readonly result: JobResult }> {
    const start = await this.#generator.prepare(job);
    const { run, outcome } = await this.measure(pids, async () => {
      const result = await start();
      return { operations: result.requests, outcome: result };
    });
    return { ...run, p50Ms: outcome.p50Ms, p99Ms: outcome.p99Ms, result: outcome };
  }

  /** Prepares a load whose clock the caller starts. */
  prepare(job: Job): Promise<() => Promise<JobResult>> {
    return this.#generator.prepare(job);
  }

  /** Times a piece of work, and counts the CPU time that these processes and PostgreSQL spend on it. */
  async measure<T>(
    pids: readonly number[],
    work: () => Promise<{ readonly operations: number; readonly outcome: T }>,
  ): Promise<{ readonly run: Run; readonly outcome: T }> {
    await this.#postgres.settle();
    const cpu = () => [cpuMsOf(pids), cpuMsOfTree(this.#postgres.pid)] as const;
    const [serviceBefore, databaseBefore] = cpu();
    const startedAtMs = performance.now();
    const { operations, outcome } = await work();
    const elapsedMs = performance.now() - startedAtMs;
    const [serviceAfter, databaseAfter] = cpu();
    const run = {
      ratePerSecond: (operations / elapsedMs) * 1_000,
      p50Ms: elapsedMs / operations,
      p99Ms: elapsedMs / operations,
      serviceCpuMs: ((serviceAfter - serviceBefore) / operations) * 1_000,
      databaseCpuMs: ((databaseAfter - databaseBefore) / operations) * 1_000,
    };
    return { run, outcome };
  }

  /** A name in the lab's folder that nobody has had before. */
  newPath(name: string): string {
    this.#started += 1;
    return join(this.folder, `${this.#started}-${name}`);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#open.disposeAsync();
  }

  async #start(
    args: readonly string[],
    environment: Readonly<Record<string, string>>,
  ): Promise<ServerProcess> {
    const command: ServerCommand = {
      command: process.execPath,
      args,
      cwd: projectFolder,
      environment,
      ready: readyLine,
      logPath: this.newPath('server.log'),
    };
    const server = await startServerProcess(command);
    // Ended by whoever started it; and at the end of everything, should that have been cut short.
    this.#open.use(server);
    return server;
  }

  #tillEnvironment(databaseUrl: string): Readonly<Record<string, string>> {
    return {
      PORT: '0',
      DATA_DIR: this.folder,
      DATABASE_URL: databaseUrl,
      DATABASE_POOL_SIZE: String(poolSize),
      REDIS_URL: 'memory://',
      API_KEYS: `bench:${apiKey}`,
      PROCESSOR_SECRET_KEY: 'sk_test_bench',
      PROCESSOR_API_BASE: this.sandboxUrl,
      PROCESSOR_WEBHOOK_SECRET: webhookSecret,
      // On, and too high to bite.
      RATE_LIMIT_PER_MINUTE: '100000000',
    };
  }
}
