import { readFileSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { webhookSecret } from '../load/events.ts';
import type { Job, JobResult } from '../load/job.ts';
import { type LoadGenerator, startLoadGenerator } from '../load/load-generator.ts';
import { apiKey } from '../load/requests.ts';
import { CoreWatch } from './core-watch.ts';
import { cpuMsOfTree } from './cpu.ts';
import { type BenchDatabase, type DatabaseServer, startDatabaseServer } from './database.ts';
import type { CpuPer1000 } from './report.ts';
import { readyLine, type ServerProcess, startServerProcess } from './server-process.ts';

export const projectFolder = fileURLToPath(new URL('../..', import.meta.url));

/** The arguments of Node in `npm start`, which begins with `exec node`. */
const startArguments: readonly string[] = JSON.parse(
  readFileSync(join(projectFolder, 'package.json'), 'utf8'),
)
  .scripts.start.split(' ')
  .slice(2);

/** Connections to PostgreSQL: the service's default, which every contestant gets. */
export const poolSize = 10;

export interface Scale {
  readonly quick: boolean;
  readonly rounds: number;
  /** How many payments the large lists have. Undefined: as many as rows of the other lists. */
  readonly payments: number | undefined;
  /** How many usage events are stored in `usage_growth`. Undefined: as many as usual. */
  readonly usageEvents: number | undefined;
  /** Where the service writes its CPU profiles. Undefined if it is not profiled. */
  readonly profileFolder: string | undefined;
}

/** A speed, with the CPU time per 1,000 operations. */
export type Run = CpuPer1000 & { readonly ratePerSecond: number };

/** One request at a time, or several, each on its own connection. */
export type LoadRun = Run & { readonly p50Ms: number; readonly p99Ms: number };

/** Completed work, with the time measured on the side that did it. */
interface Work {
  readonly operations: number;
  readonly elapsedMs: number;
}

/** The account of the baselines, and of services that work with the same objects. */
export const sharedProcessorKey = 'sk_test_bench';

/**
 * Each database has an account of its own. A service recovers the events of its account at its start, and those of
 * earlier scenarios would keep it busy beside the measurement.
 */
function ownProcessorKey({ name }: BenchDatabase): string {
  return `sk_test_world_${name}`;
}

/** The measuring environment: one PostgreSQL, one sandbox, one load generator, each in its own process. */
export class Lab implements AsyncDisposable {
  readonly scale: Scale;
  readonly folder: string;
  readonly #open: AsyncDisposableStack;
  readonly #postgres: DatabaseServer;
  readonly #generator: LoadGenerator;
  readonly sandboxUrl: string;
  readonly cores: CoreWatch;
  #pathsMade = 0;
  #closing: Promise<void> | undefined;

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
    this.cores = open.use(new CoreWatch());
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

  /** An amount of work, smaller with `--quick`. */
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
    const { profileFolder: folder } = this.scale;
    const profiling = folder === undefined ? [] : ['--cpu-prof', `--cpu-prof-dir=${folder}`];
    return this.start(process.execPath, [...profiling, ...startArguments], {
      ...this.#tillEnvironment(database.url),
      PROCESSOR_SECRET_KEY: ownProcessorKey(database),
      ...environment,
    });
  }

  /** A program in this folder to compare with the service. It gets the same settings. */
  startBaseline(path: string, database?: BenchDatabase): Promise<ServerProcess> {
    const environment = this.#tillEnvironment(database?.url ?? 'postgres://unused');
    return this.start(process.execPath, [join('bench', path)], environment);
  }

  /** The caller ends it. If the run is interrupted, `Lab` ends it. */
  async start(
    command: string,
    args: readonly string[],
    environment: Readonly<Record<string, string>>,
  ): Promise<ServerProcess> {
    const logPath = this.newPath('server.log');
    const server = { command, args, cwd: projectFolder, environment, ready: readyLine, logPath };
    return this.#open.use(await startServerProcess(server));
  }

  /** Registers something to end with the lab, even after Ctrl-C. */
  endLater(end: () => Promise<void>): void {
    this.#open.defer(end);
  }

  /** Makes the load generator send requests, and measures the processes that serve them. */
  async load(job: Job, pids: readonly number[]): Promise<LoadRun> {
    const start = await this.#generator.prepare(job);
    let [p50Ms, p99Ms] = [0, 0];
    const run = await this.measure(pids, async () => {
      const result = await start();
      ({ p50Ms, p99Ms } = result);
      return { operations: result.requests, elapsedMs: result.elapsedMs };
    });
    return { ...run, p50Ms, p99Ms };
  }

  /** Prepares a load that the caller starts. */
  prepare(job: Job): Promise<() => Promise<JobResult>> {
    return this.#generator.prepare(job);
  }

  /** Measures the CPU time that these processes and PostgreSQL spend on some work. */
  async measure(pids: readonly number[], work: () => Promise<Work>): Promise<Run> {
    await this.#postgres.settle();
    // A service may have processes of its own.
    const treesOf = () => pids.reduce((sum, pid) => sum + cpuMsOfTree(pid), 0);
    const cpu = () => [treesOf(), cpuMsOfTree(this.#postgres.pid)] as const;
    const [serviceBefore, databaseBefore] = cpu();
    const { operations, elapsedMs } = await work();
    const [serviceAfter, databaseAfter] = cpu();
    const per1000 = (amount: number) => (amount / operations) * 1_000;
    return {
      ratePerSecond: (operations / elapsedMs) * 1_000,
      serviceCpuMs: per1000(serviceAfter - serviceBefore),
      databaseCpuMs: per1000(databaseAfter - databaseBefore),
    };
  }

  /** An unused path in the lab's folder. */
  newPath(name: string): string {
    this.#pathsMade += 1;
    return join(this.folder, `${this.#pathsMade}-${name}`);
  }

  /** Ends everything that is still running. A second call, for example after Ctrl-C, waits for the first. */
  [Symbol.asyncDispose](): Promise<void> {
    this.#closing ??= this.#open.disposeAsync();
    return this.#closing;
  }

  #tillEnvironment(databaseUrl: string): Readonly<Record<string, string>> {
    return {
      // There is no load balancer that needs time to notice a stop.
      STOP_DELAY_SECONDS: '0',
      PORT: '0',
      DATA_DIR: this.folder,
      DATABASE_URL: databaseUrl,
      DATABASE_POOL_SIZE: String(poolSize),
      REDIS_URL: 'memory://',
      API_KEYS: `bench:${apiKey}`,
      PROCESSOR_SECRET_KEY: sharedProcessorKey,
      PROCESSOR_API_BASE: this.sandboxUrl,
      PROCESSOR_WEBHOOK_SECRET: webhookSecret,
      CONSOLE: 'off',
      // Enabled, but too high to take effect.
      RATE_LIMIT_PER_MINUTE: '100000000',
      USAGE_RATE_LIMIT_PER_MINUTE: '100000000',
    };
  }
}
