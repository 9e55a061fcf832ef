import type { TestContext } from 'node:test';
import { type Backend, type BackendOptions, startBackend } from '../../support/backend.ts';
import { type Client, createClient } from '../../support/client.ts';
import { RestartableTill } from '../../support/restartable-till.ts';
import { seedOf } from '../../support/seeds.ts';
import { backendEnvironment } from '../../support/till-in-child.ts';
import { type CheckOptions, checkRig } from './check.ts';
import { HealthWatch } from './health-watch.ts';
import { Load, type LoadOptions } from './load.ts';

export interface RigOptions extends Pick<BackendOptions, 'databaseUrl'> {
  /** How many Till processes share the load and the webhooks. One is the default. */
  readonly processes?: number;
  readonly environment?: Readonly<Record<string, string>>;
  /** What stands between the processes and the processor, if anything. */
  readonly processorLine?: (processorUrl: string) => Promise<Front>;
  /** What stands between the processes and their callers. Without it, callers use each process in turn. */
  readonly front?: (tills: readonly RestartableTill[]) => Promise<Front>;
}

export interface Front {
  readonly url: string;
  close(): Promise<void>;
}

/** The rig of the fault tests: a backend, Tills in child processes, and a load that records what was acknowledged. */
export interface Rig extends Backend {
  readonly tills: readonly RestartableTill[];
  /** The address of the next Till, each in its turn. */
  readonly url: () => string;
  /** Sends each request to the next Till. */
  readonly client: Client;
  /** A number that no other creation of any load has. */
  readonly nextNumber: () => number;
  /** A load can follow one that was checked. */
  startLoad(options?: Partial<LoadOptions>): Load;
  watchHealth(): HealthWatch;
  /** Does the work while the processor has the manners of a real account: slow, and with limits. */
  withManners<T>(work: () => Promise<T>): Promise<T>;
  /** Waits until every event is delivered and applied, then compares Till with the processor and with its promises. */
  check(load: Load, options?: CheckOptions): Promise<void>;
}

export async function startRig(t: TestContext, options: RigOptions = {}): Promise<Rig> {
  const backend = await startBackend(t, {
    ...options,
    delivery: 'running',
    stripeRetries: 2,
    stripeWaits: true,
  });
  const { atEnd } = backend;
  const tills: RestartableTill[] = [];
  let turn = 0;
  let front: Front | undefined;
  const url = () => front?.url ?? tills[turn++ % tills.length]?.url ?? '';
  const line = await options.processorLine?.(backend.processorUrl);
  atEnd(() => line?.close());
  for (let count = options.processes ?? 1; count > 0; count -= 1) {
    const till = await RestartableTill.start({
      ...backendEnvironment(backend),
      ...(line === undefined ? {} : { PROCESSOR_API_BASE: line.url }),
      ...options.environment,
    });
    // Its orderly end is tested elsewhere. Here it would wait for connections that the load has given up.
    atEnd(() => till.stop('SIGKILL'));
    tills.push(till);
  }
  front = await options.front?.(tills);
  atEnd(() => front?.close());
  backend.deliverTo(url);
  // Above every currency's smallest charge, and small enough for a test's lifetime of them.
  let number = 1_000;
  const rig: Rig = {
    ...backend,
    tills,
    url,
    client: createClient({
      get url() {
        return url();
      },
    }),
    nextNumber: () => number++,
    startLoad: (loadOptions = {}) => {
      const { seed = seedOf('FAULT') } = loadOptions;
      t.diagnostic(`FAULT_SEED=${seed}`);
      const load = new Load(rig, { ...loadOptions, seed });
      atEnd(() => load.abandon());
      return load;
    },
    watchHealth: () => {
      const watch = new HealthWatch(url);
      atEnd(() => watch.stop());
      return watch;
    },
    withManners: async (work) => {
      const seed = seedOf('FAULT');
      t.diagnostic(`manners with FAULT_SEED=${seed}`);
      await backend.control('manners', { like: 'stripe', seed });
      try {
        return await work();
      } finally {
        await backend.control('manners', { like: null });
      }
    },
    check: (load, checkOptions) => checkRig(rig, load, checkOptions),
  };
  return rig;
}
