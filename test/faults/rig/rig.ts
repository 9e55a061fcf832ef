import type { TestContext } from 'node:test';
import { Stripe } from 'stripe';
import { startSandbox } from '../../../sandbox/sandbox.ts';
import { seedOf } from '../../support/seeds.ts';
import { createTestDatabase } from '../../support/test-database.ts';
import { testKey } from '../../support/till-process.ts';
import { MortalTill } from '../../webhooks/model/mortal-till.ts';
import { type CheckOptions, checkRig } from './check.ts';
import { HealthWatch } from './health-watch.ts';
import { Load, type LoadOptions } from './load.ts';

const webhookSecret = 'whsec_rig';

export interface RigOptions {
  /** Without one, a database of the test's own on the shared server. */
  readonly databaseUrl?: string;
  /** How the test itself looks into the database, where Till's own way there is made to fail. */
  readonly inspectionUrl?: string;
  /** How many Till processes share the load and the webhooks; one unless told. */
  readonly processes?: number;
  readonly environment?: Readonly<Record<string, string>>;
  /** What stands between the processes and the processor; without it, nothing. */
  readonly wire?: (processorUrl: string) => Promise<Front>;
  /** What stands between the processes and all who call them; without it, each is called in its turn. */
  readonly front?: (tills: readonly MortalTill[]) => Promise<Front>;
}

export interface Front {
  readonly url: string;
  close(): Promise<void>;
}

/** Where faults are tried: a processor, Till in processes of its own, and a load that records what it was promised. */
export interface Rig {
  readonly tills: readonly MortalTill[];
  /** The next Till's address, each in its turn. */
  readonly url: () => string;
  readonly databaseUrl: string;
  readonly inspectionUrl: string;
  readonly processorUrl: string;
  /** The official client: the frontend that confirms payments, and the dashboard that knows the truth. */
  readonly stripe: Stripe;
  /** The sandbox's own controls; see sandbox/README.md. */
  readonly control: (path: string, body?: object, method?: string) => Promise<unknown>;
  /** Ends something with the rig, in reverse order: what uses the database before the database. */
  readonly atEnd: (end: () => unknown) => void;
  startLoad(options?: Partial<LoadOptions>): Load;
  watchHealth(): HealthWatch;
  /** Waits until every event is delivered and applied, then compares Till with the processor and with its promises. */
  check(load: Load, options?: CheckOptions): Promise<void>;
}

export async function startRig(t: TestContext, options: RigOptions = {}): Promise<Rig> {
  const ends: (() => unknown)[] = [];
  t.after(async () => {
    for (const end of ends.toReversed()) await end();
  });
  let turn = 0;
  const tills: MortalTill[] = [];
  let front: Front | undefined;
  const url = () => front?.url ?? tills[turn++ % tills.length]?.url ?? '';
  const databaseUrl = options.databaseUrl ?? (await ownDatabase(ends));
  const sandbox = await startSandbox({
    port: 0,
    webhook: {
      get url() {
        return `${url()}/webhooks/processor`;
      },
      secret: webhookSecret,
    },
  });
  ends.push(() => sandbox.close());
  const wire = await options.wire?.(sandbox.url);
  ends.push(() => wire?.close());
  for (let count = options.processes ?? 1; count > 0; count -= 1) {
    const till = await MortalTill.start({
      API_KEYS: testKey,
      DATABASE_URL: databaseUrl,
      REDIS_URL: 'memory://',
      PROCESSOR_SECRET_KEY: 'sk_test_rig',
      PROCESSOR_API_BASE: wire?.url ?? sandbox.url,
      PROCESSOR_WEBHOOK_SECRET: webhookSecret,
      RATE_LIMIT_PER_MINUTE: '0',
      ...options.environment,
    });
    // Its ordered end is tested elsewhere; here it would wait for connections that the load has just given up.
    ends.push(() => till.end());
    tills.push(till);
  }
  front = await options.front?.(tills);
  ends.push(() => front?.close());
  const rig: Rig = {
    tills,
    url,
    databaseUrl,
    inspectionUrl: options.inspectionUrl ?? databaseUrl,
    processorUrl: sandbox.url,
    stripe: new Stripe('sk_test_dashboard', {
      host: '127.0.0.1',
      port: sandbox.port,
      protocol: 'http',
      telemetry: false,
    }),
    control: (path, body = {}, method = 'POST') => control(sandbox.url, path, body, method),
    atEnd: (end) => void ends.push(end),
    startLoad: (loadOptions = {}) => {
      const { seed = seedOf('FAULT') } = loadOptions;
      t.diagnostic(`FAULT_SEED=${seed}`);
      const load = new Load(rig, { ...loadOptions, seed });
      ends.push(() => load.abandon());
      return load;
    },
    watchHealth: () => {
      const watch = new HealthWatch(() => url());
      ends.push(() => watch.stop());
      return watch;
    },
    check: (load, checkOptions) => checkRig(rig, load, checkOptions),
  };
  return rig;
}

async function ownDatabase(ends: (() => unknown)[]): Promise<string> {
  const database = await createTestDatabase();
  ends.push(() => database.drop());
  return database.url;
}

async function control(url: string, path: string, body: object, method: string): Promise<unknown> {
  const hasBody = method === 'POST';
  const answer = await fetch(`${url}/sandbox/${path}`, {
    method,
    ...(hasBody ? { body: JSON.stringify(body) } : {}),
  });
  if (!answer.ok) throw new Error(`the sandbox refused ${path}: ${await answer.text()}`);
  return answer.json();
}
