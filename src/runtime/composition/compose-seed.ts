import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import type { Logger } from '#core/platform/logger.ts';
import { createMetrics } from '#core/platform/metrics.ts';
import type { Database } from '#core/platform/postgres.ts';
import { Shutdown } from '#core/platform/shutdown.ts';
import { TimeZone } from '#core/platform/time-zone.ts';
import { EventBackdatingStore } from '#engine/events/feed/event-backdating-store.ts';
import { OverviewStore } from '#operators/overview/overview-store.ts';
import { SandboxControl } from '#operators/sandbox-control/sandbox-control.ts';
import { SandboxResetStore } from '#operators/sandbox-control/sandbox-reset-store.ts';
import { startSandbox } from '#sandbox/sandbox.ts';
import { exists } from '../embedded-postgres/pending-moves.ts';
import { holdDataDir, startEmbeddedPostgres } from '../embedded-postgres.ts';
import { DemoClock } from '../seed/demo-clock.ts';
import { DemoFolder } from '../seed/demo-folder.ts';
import { liveYear } from '../seed/live-year.ts';
import { Performer } from '../seed/performer.ts';
import { SeedError } from '../seed/seed-error.ts';
import { Shopper } from '../seed/shopper.ts';
import { externalIdOf, tellStory } from '../seed/story.ts';
import { openDatabase } from './compose-database.ts';
import { joinProcessor, metricLabels, sandboxKey } from './compose-parts.ts';
import { composeServices, type Services } from './compose-services.ts';
import type { Config } from './config.ts';

const yearSeconds = 365 * 86_400;
/** The server's own shutdown escalates, and ends within this time. */
const stopTimeoutMs = 30_000;
/** Each run counts many events, and no other process writes any. */
const overviewRunsMax = 1_000;
/**
 * No sync is needed while it is written: the data is synced before it is moved into place. A short log keeps it small.
 */
const fastSettings = {
  fsync: 'off',
  synchronous_commit: 'off',
  full_page_writes: 'off',
  max_wal_size: '64MB',
  min_wal_size: '32MB',
};

interface SeedOptions {
  readonly config: Config;
  readonly seed: number;
  readonly customers: number;
  /** Whether the data directory may hold other data. */
  readonly add: boolean;
  readonly logger: Logger;
  readonly signal: AbortSignal;
  /** Called with the fraction that is done. */
  readonly report: (done: number) => void;
}

interface Seeded {
  readonly from: Date;
  readonly to: Date;
  readonly counts: Readonly<
    Record<'customers' | 'plans' | 'subscriptions' | 'payments' | 'invoices', number>
  >;
  /** Where the previous database is. Undefined if there was none. */
  readonly aside: string | undefined;
}

/** Creates a year of demo data in the embedded database and the embedded sandbox. */
export async function seedDemoData(options: SeedOptions): Promise<Seeded> {
  const { config, logger, signal } = options;
  await using held = await holdDataDir({ dataDir: config.dataDir, logger });
  if (!options.add && (await exists(join(held.path, 'sandbox', 'journal.jsonl')))) throw otherData();
  const folder = await DemoFolder.create({ dataDir: held.path, logger, signal });
  try {
    const created = await fillFolder(options, folder.path);
    const aside = await folder.finish();
    // A database without other data need not be kept.
    if (aside !== undefined && !options.add) await rm(aside, { recursive: true, force: true });
    return { ...created, aside: options.add ? aside : undefined };
  } catch (error) {
    await folder.remove();
    throw error;
  }
}

/** Runs Till and a sandbox of its own in the folder, at the time of the sandbox. */
async function fillFolder(options: SeedOptions, dataDir: string) {
  const { config, logger } = options;
  const shutdown = new Shutdown(logger);
  try {
    const postgres = await startEmbeddedPostgres({ dataDir, logger, settings: fastSettings });
    shutdown.add('embedded PostgreSQL', stopTimeoutMs, () => postgres.stop());
    const sandbox = await startSandbox({ port: 0, linkUrl: sandboxUrlOf(config) });
    shutdown.add('sandbox', stopTimeoutMs, () => sandbox.close());
    const start = { config: configOf(config, postgres.url, sandbox.url), logger, shutdown };
    const opened = await openDatabase(start);
    const metrics = createMetrics(metricLabels);
    const { processor } = joinProcessor(start, metrics);
    const control = new SandboxControl({ url: sandbox.url, secretKey: sandboxKey });
    const clock = new DemoClock();
    const services = composeServices({ ...start, ...opened, processor, metrics, clock });
    shutdown.add('services', stopTimeoutMs, () => services.stop());
    await refuseOtherData(services, options);
    const shopper = new Shopper(sandbox.url, sandboxKey);
    const performer = new Performer({ services, shopper });
    const created = await createYear(
      { ...options, services, processor, control, clock, performer },
      opened.database,
    );
    // The next start records when the sandbox with the new journal was last reset.
    await new SandboxResetStore().forget(opened.database);
    await sandbox.save(dataDir);
    if (!(await shutdown.run())) throw new SeedError('The database or the sandbox did not stop. Try again.');
    return created;
  } finally {
    await shutdown.run();
  }
}

/** The settings of a Till that uses this database and this sandbox. */
function configOf(config: Config, databaseUrl: string, apiBase: string): Config {
  const processor = { ...config.processor, secretKey: sandboxKey, apiBase, webhookSecrets: ['unused'] };
  return { ...config, databaseUrl, processor };
}

/**
 * The address at which the service will run its sandbox, so that links in invoices work. Unknown if the service takes
 * any free port.
 */
function sandboxUrlOf({ processor: { sandboxPort } }: Config): string | undefined {
  return sandboxPort === 0 ? undefined : `http://127.0.0.1:${sandboxPort}`;
}

async function refuseOtherData(services: Services, { add, seed }: SeedOptions): Promise<void> {
  const { customers, plans, payments } = services;
  const one = { limit: 1, filters: {} };
  const known = await customers.list({ limit: 1, filters: { externalId: externalIdOf(seed, 0) } });
  if (known.data.length > 0)
    throw new SeedError(`The demo data of seed ${seed} already exists. Choose another seed with --seed.`);
  if (add) return;
  const [someCustomers, somePlans, somePayments] = await Promise.all([
    customers.list(one),
    plans.list(false),
    payments.list(one),
  ]);
  if (someCustomers.total > 0 || somePlans.length > 0 || somePayments.total > 0) throw otherData();
}

function otherData(): SeedError {
  return new SeedError(
    'DATA_DIR holds other data. Add the demo data to it with --add, or use another DATA_DIR.',
  );
}

type YearParts = SeedOptions & Parameters<typeof liveYear>[0] & { readonly services: Services };

async function createYear(parts: YearParts, database: Database): Promise<Omit<Seeded, 'aside'>> {
  const { services, control, clock, seed, customers } = parts;
  const to = Math.floor(Date.now() / 1_000);
  const from = to - yearSeconds;
  const backdating = new EventBackdatingStore();
  const isFirst = !(await backdating.hasEvents(database));
  // The numbers begin before the first event.
  await followEvents(services);
  await control.request({ method: 'POST', path: '/clock', body: { to: from } });
  clock.set(from);
  await liveYear(parts, tellStory({ seed, customers, from, to }), { from, to });
  if (isFirst) {
    await backdating.backdate(database);
    const zone = new TimeZone(parts.config.overviewTimeZone);
    await new OverviewStore().moveSince(database, zone.dayOf(from * 1_000));
  }
  await followEvents(services);
  return {
    from: new Date(from * 1_000),
    to: new Date(to * 1_000),
    counts: await countRows(services),
  };
}

async function followEvents({ overviewFollower }: Services): Promise<void> {
  for (let runs = 1; !(await overviewFollower.run()); runs += 1)
    if (runs === overviewRunsMax) throw new Error('the overview does not reach the newest event');
}

async function countRows(services: Services): Promise<Seeded['counts']> {
  const one = { limit: 1, filters: {} };
  const [customers, plans, subscriptions, payments, invoices] = await Promise.all([
    services.customers.list(one),
    services.plans.list(false),
    services.subscriptions.list(one),
    services.payments.list({ limit: 1, filters: { source: 'all' } }),
    services.invoices.list(one),
  ]);
  return {
    customers: customers.total,
    plans: plans.length,
    subscriptions: subscriptions.total,
    payments: payments.total,
    invoices: invoices.total,
  };
}
