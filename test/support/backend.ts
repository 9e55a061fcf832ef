import pg from 'pg';
import { Stripe } from 'stripe';
import { type Clock, MovableClock, type ProcessorClock } from '#core/platform/clock.ts';
import { startSandbox } from '../../sandbox/sandbox.ts';
import { readSuccess } from './client.ts';
import { effort } from './effort.ts';
import { patientHttpClient } from './patient-http-client.ts';
import { createTestDatabase, openPool } from './test-database.ts';
import { until } from './until.ts';

/** The sandbox signs with the first. The second is being rotated out. */
export const webhookSecrets = ['whsec_current', 'whsec_previous'] as const;

/** What cleans up: a test's context, or `{ after }` for a whole file. */
export interface Lifetime {
  after(work: () => Promise<unknown>): void;
}

/** What a fault does to requests; see sandbox/README.md. */
export interface SandboxFault {
  readonly operation: string;
  readonly kind: 'error' | 'latency' | 'hang' | 'reset_before' | 'reset_after';
  readonly times?: number;
  readonly status?: number;
  readonly latencyMs?: number;
}

/**
 * A call can break before or after its effect. The short form breaks a read, which has no effect, before, and a write
 * after: what breaks before its effect leaves the same behind as the call before it.
 */
export function cutsOf(operation: string): readonly ('reset_before' | 'reset_after')[] {
  const isRead = /\.(retrieve|list)$/.test(operation);
  return effort({
    short: isRead ? ['reset_before'] : ['reset_after'],
    long: ['reset_before', 'reset_after'],
  });
}

/** Runs SQL and returns the rows. The test names the columns that it asks for. */
export type Sql = <Row extends pg.QueryResultRow>(
  text: string,
  values?: readonly unknown[],
) => Promise<readonly Row[]>;

/** The processor's side of a backend. */
export interface TestProcessor {
  readonly processorUrl: string;
  /** The official client: what the frontend and the dashboard do. */
  readonly stripe: Stripe;
  /** The sandbox's own controls; see sandbox/README.md. */
  control(path: string, body?: object, method?: 'GET' | 'POST' | 'DELETE'): Promise<unknown>;
  setFault(fault: SandboxFault): Promise<void>;
  clearFaults(): Promise<void>;
  /** Resolves when every fault that was set has met its request. */
  faultsTaken(): Promise<void>;
}

/** What a Till runs on: a database and a processor. Any number of Tills can share them, and die without them. */
export interface Backend extends TestProcessor {
  readonly databaseUrl: string;
  readonly sql: Sql;
  /** Where the sandbox delivers webhooks. The last Till that starts takes them, until a test says otherwise. */
  deliverTo(url: () => string): void;
  /** The clock of a Till that the sandbox is embedded in. */
  processorClock(clock: Clock): ProcessorClock;
  /** Cleans up with the backend, in reverse order: what uses the database ends before the database. */
  atEnd(end: () => unknown): void;
}

export interface BackendOptions {
  /** Another database than a new one on the shared server. */
  readonly databaseUrl?: string;
  /** `paused`: webhooks wait until the test asks for them. */
  readonly delivery?: 'paused' | 'running';
  /** How often the official client retries a call. Not at all is the default. */
  readonly stripeRetries?: number;
  /** The official client tries again if the manners of the sandbox refuse a call. */
  readonly stripeWaits?: boolean;
}

/** Runs everything, even after a failure: a server that is left open would keep the process of the tests alive. */
async function runAll(works: readonly (() => unknown)[]): Promise<void> {
  const failures: unknown[] = [];
  for (const work of works) {
    try {
      await work();
    } catch (error) {
      failures.push(error);
    }
  }
  if (failures.length > 0) throw failures.length === 1 ? failures[0] : new AggregateError(failures);
}

/** A lifetime that ends when its owner says so. */
export function createLifetime(): Lifetime & { end(): Promise<void> } {
  const works: (() => Promise<unknown>)[] = [];
  return {
    after: (work) => void works.push(work),
    end: () => runAll(works.toReversed()),
  };
}

export async function startBackend(life: Lifetime, options: BackendOptions = {}): Promise<Backend> {
  const ends: (() => unknown)[] = [];
  life.after(() => runAll(ends.toReversed()));
  const atEnd = (end: () => unknown) => void ends.push(end);
  const databaseUrl = options.databaseUrl ?? (await createDatabase(atEnd));
  let tillUrl = () => '';
  const clocks: MovableClock[] = [];
  let clockAheadSeconds = 0;
  const sandbox = await startSandbox({
    port: 0,
    webhook: {
      get url() {
        return `${tillUrl()}/webhooks/processor`;
      },
      secret: webhookSecrets[0],
    },
    onClock: (aheadSeconds) => {
      clockAheadSeconds = aheadSeconds;
      for (const clock of clocks) clock.setAhead(aheadSeconds);
    },
  });
  atEnd(() => sandbox.close());
  const processor = connectProcessor(sandbox.url, options);
  if (options.delivery !== 'running') await processor.control('delivery', { mode: 'paused' });
  return {
    ...processor,
    databaseUrl,
    sql: openSql(databaseUrl, atEnd),
    deliverTo: (url) => {
      tillUrl = url;
    },
    processorClock: (base) => {
      const clock = new MovableClock(base);
      clock.setAhead(clockAheadSeconds);
      clocks.push(clock);
      return clock;
    },
    atEnd,
  };
}

/** The official client and the controls of a sandbox that runs already. */
export function connectProcessor(
  processorUrl: string,
  { stripeRetries = 0, stripeWaits = false }: Pick<BackendOptions, 'stripeRetries' | 'stripeWaits'> = {},
): TestProcessor {
  const { hostname, port } = new URL(processorUrl);
  const control: TestProcessor['control'] = async (path, body = {}, method = 'POST') => {
    const sent = { headers: { 'content-type': 'application/json' }, body: JSON.stringify(body) };
    const init = { method, ...(method === 'POST' ? sent : {}) };
    return readSuccess(await fetch(`${processorUrl}/sandbox/${path}`, init));
  };
  return {
    processorUrl,
    stripe: new Stripe('sk_test_dashboard', {
      host: hostname,
      port,
      protocol: 'http',
      telemetry: false,
      maxNetworkRetries: stripeRetries,
      ...(stripeWaits ? { httpClient: patientHttpClient() } : {}),
    }),
    control,
    setFault: async (fault) => void (await control('faults', fault)),
    clearFaults: async () => void (await control('faults', {}, 'DELETE')),
    faultsTaken: () =>
      until(async () => {
        const { faults } = (await control('faults', {}, 'GET')) as { readonly faults: readonly unknown[] };
        return faults.length === 0;
      }, 'no request met the fault'),
  };
}

/** Connections of the test's own, which read bigint as a number, as Till does. The first query opens them. */
export function openSql(databaseUrl: string, atEnd: (end: () => unknown) => void): Sql {
  const pool = openPool({
    connectionString: databaseUrl,
    max: 2,
    application_name: 'test',
    types: {
      getTypeParser: (id: number, format?: 'text' | 'binary') =>
        id === pg.types.builtins.INT8 ? Number : pg.types.getTypeParser(id, format),
    },
  });
  atEnd(() => pool.end());
  return async (text, values = []) => (await pool.query(text, [...values])).rows;
}

async function createDatabase(atEnd: Backend['atEnd']): Promise<string> {
  const database = await createTestDatabase();
  atEnd(() => database.drop());
  return database.url;
}
