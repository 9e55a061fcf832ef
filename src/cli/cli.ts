import { parseArgs } from 'node:util';
import { Failure } from '../errors.ts';
import { pageMax } from '../http/docs/api-schema.ts';
import { noCrashPoints } from '../idempotency/crash-points.ts';
import { systemClock } from '../platform/clock.ts';
import { completeIndexes } from '../platform/deferred-indexes.ts';
import { createLogger, type Logger } from '../platform/logger.ts';
import { createMetrics } from '../platform/metrics.ts';
import { parsePlainInteger } from '../platform/plain-integer.ts';
import { Shutdown } from '../platform/shutdown.ts';
import { describeAccount, type ProcessorAccount } from '../processor/account/account.ts';
import { AccountStore } from '../processor/account/account-store.ts';
import { compareAccount } from '../processor/account/compare-account.ts';
import type { Processor } from '../processor/processor.ts';
import type { ResyncProgress } from '../sync/resync.ts';
import { metricLabels } from '../till/compose.ts';
import {
  joinDatabase,
  joinProcessor,
  migrateDatabase,
  openDatabase,
  openProcessor,
} from '../till/compose-parts.ts';
import { composeServices, type Services } from '../till/compose-services.ts';
import { type Config, ConfigError, loadConfig } from '../till/config.ts';
import { type WebhookEvent, webhookEventStates } from '../webhooks/webhook-event.ts';
import { createKey, keyUsage, listKeys, revokeKey } from './key-commands.ts';
import { ProgressBar } from './progress-bar.ts';
import { UsageError } from './usage-error.ts';

const usage = `Usage: npm run till -- COMMAND

  resync                      read the processor's list of events, starting where the last run stopped
  resync --customer ID        compare one customer and all its objects with the processor; recover the customer
                              if it is missing here
  resync --all                compare every object with the processor, recover missing objects, and correct the
                              totals of lists
  events [--state S] [--type T] [--object ID] [--page N]
                              list webhook events; states: ${webhookEventStates.join(', ')}
  events show ID              show a webhook event with its payload
  events replay ID            process a webhook event again
${keyUsage}  adopt-account               bind the database to the processor account and mode of the current key
  migrate                     migrate the database to the newest schema (the service does so at start if its
                              database role may)

Run it with the settings of a running service: it uses the same database and processor. adopt-account and migrate
also work while no service runs.
`;

// The reader of the output may close it early: `… | head -1`.
process.stdout.on('error', () => process.exit(0));

try {
  await main();
} catch (error) {
  process.exitCode = 1;
  if (error instanceof UsageError) process.stderr.write(`${error.message}\n\n${usage}`);
  else if (error instanceof ConfigError || error instanceof Failure)
    process.stderr.write(`${error.message}\n`);
  else process.stderr.write(`till: ${error instanceof Error ? error.message : String(error)}\n`);
}

async function main(): Promise<void> {
  const { values, positionals } = readArguments();
  const [command, verb, id] = positionals;
  if (values.help || command === undefined) {
    process.stdout.write(usage);
    return;
  }
  const config = loadConfig(process.env, process.cwd());
  if (command === 'migrate' && verb === undefined) return migrate(config);
  if (command === 'adopt-account' && verb === undefined) return adoptAccount(config);
  await withServices(config, async (services, requireAccount) => {
    if (command === 'resync' && verb === undefined) {
      await requireAccount();
      return resync(services, values);
    }
    if (command === 'events' && verb === undefined) return listEvents(services, values);
    if (command === 'events' && verb === 'show' && id !== undefined) return showEvent(services, id);
    if (command === 'events' && verb === 'replay' && id !== undefined) return replayEvent(services, id);
    if (command === 'keys' && verb === 'create' && id === undefined)
      return createKey(services.keys, values, systemClock.now());
    if (command === 'keys' && verb === 'list' && id === undefined) return listKeys(services.keys);
    if (command === 'keys' && verb === 'revoke' && id !== undefined) return revokeKey(services.keys, id);
    throw new UsageError(`Unknown command "${positionals.join(' ')}". Use one of the commands below.`);
  });
}

function readArguments() {
  try {
    return parseArgs({
      allowPositionals: true,
      options: {
        all: { type: 'boolean', default: false },
        customer: { type: 'string' },
        state: { type: 'string' },
        type: { type: 'string' },
        object: { type: 'string' },
        page: { type: 'string', default: '1' },
        name: { type: 'string' },
        scopes: { type: 'string' },
        'expires-at': { type: 'string' },
        help: { type: 'boolean', short: 'h', default: false },
      },
    });
  } catch (error) {
    throw new UsageError(error instanceof Error ? error.message : String(error));
  }
}

type Options = ReturnType<typeof readArguments>['values'];

/** Runs `work` with the services of a running Till. Starts nothing, and closes everything at the end. */
async function withServices(
  config: Config,
  work: (services: Services, requireAccount: () => Promise<void>) => Promise<void>,
): Promise<void> {
  const logger = createCommandLogger(config);
  const shutdown = new Shutdown(logger);
  const start = { config, logger, shutdown };
  try {
    const { database, ownerLock } = await joinDatabase(start);
    const metrics = createMetrics(metricLabels);
    const { processor } = joinProcessor(start, metrics);
    const services = composeServices({
      database,
      ownerLock,
      processor,
      metrics,
      clock: systemClock,
      logger,
      crashPoints: noCrashPoints,
      retentionDays: config.webhookRetentionDays,
      entitlementGraceDays: config.entitlementGraceDays,
      events: config.events,
    });
    await work(services, async () => {
      const difference = await compareAccount({ database, store: new AccountStore(), logger }, processor);
      if (difference !== undefined) throw new Error(difference);
    });
  } finally {
    await shutdown.run();
  }
}

/** Starts embedded parts that are not running: with another account's key, the service refuses to start. */
async function adoptAccount(config: Config): Promise<void> {
  const logger = createCommandLogger(config);
  const shutdown = new Shutdown(logger);
  const start = { config, logger, shutdown };
  try {
    const { database } = await joinDatabase(start).catch((error: unknown) => {
      if (config.databaseUrl !== undefined) throw error;
      return openDatabase(start);
    });
    const metrics = createMetrics(metricLabels);
    const joined = joinProcessor(start, metrics).processor;
    const present = await readAccount(joined).catch(async (error: unknown) => {
      if (config.processor.secretKey !== undefined) throw error;
      const { processor } = await openProcessor(start, metrics, {
        url: `http://${config.host}:${config.port}`,
      });
      return readAccount(processor);
    });
    const store = new AccountStore();
    const before = await store.read(database);
    await store.replace(database, present);
    const from = before === undefined ? 'none' : describeAccount(before);
    process.stdout.write(`Processor account: ${from} → ${describeAccount(present)}\n`);
    if (present.id === null)
      process.stdout.write('The key has no permission to read its account: Till compares only the mode.\n');
  } finally {
    await shutdown.run();
  }
}

/** Standard output is for results, so only errors are logged unless LOG_LEVEL is not `info`. */
function createCommandLogger({ logLevel }: Config): Logger {
  return createLogger(logLevel === 'info' ? 'error' : logLevel);
}

async function readAccount(processor: Processor): Promise<ProcessorAccount> {
  return { id: await processor.readAccount(), livemode: processor.livemode };
}

/** For a service whose own database role may not change the schema. */
async function migrate(config: Config): Promise<void> {
  const logger = createCommandLogger(config);
  const shutdown = new Shutdown(logger);
  try {
    const url = await migrateDatabase({ config, logger, shutdown });
    const isComplete = await completeIndexes({ url, logger });
    if (!isComplete)
      process.stderr.write('Some indexes are locked or still being built. Run this command again later.\n');
    process.stdout.write('The database has the newest schema.\n');
  } finally {
    await shutdown.run();
  }
}

async function resync(
  { resync: comparison, recovery, overviewFollower }: Services,
  { all, customer }: Options,
): Promise<void> {
  const bar = new ProgressBar(process.stderr);
  if (all && customer !== undefined) throw new UsageError('Choose --all or --customer, not both.');
  if (customer === undefined && !all) {
    const done = await recovery.run();
    process.stdout.write(
      done
        ? "Read the processor's list of events. Missed events are now in the queue.\n"
        : 'Another process is reading the list of events. Run this command again later.\n',
    );
    return;
  }
  const show = (progress: ResyncProgress) => bar.show(progress);
  const skipped =
    customer === undefined
      ? await comparison.all(show)
      : await comparison.ofCustomer(customer.toLowerCase(), show);
  bar.end();
  const totals = customer === undefined ? await comparison.correctTotals() : [];
  for (const { resource, correction } of totals)
    process.stdout.write(
      `Corrected the total of ${resource} by ${correction > 0 ? '+' : ''}${correction}.\n`,
    );
  const numbers = customer === undefined ? await overviewFollower.correct() : 0;
  if (numbers > 0) process.stdout.write(`Corrected ${numbers} numbers of the overview.\n`);
  for (const { resource, id, reason } of skipped)
    process.stderr.write(`Not compared: ${resource} ${id}: ${reason}\n`);
  if (skipped.length > 0) process.exitCode = 1;
  else process.stdout.write('Compared all objects that the processor lists.\n');
}

async function listEvents({ webhookEvents }: Services, options: Options): Promise<void> {
  const state = webhookEventStates.find((candidate) => candidate === options.state);
  if (options.state !== undefined && state === undefined) {
    throw new UsageError(`--state must be one of ${webhookEventStates.join(', ')}.`);
  }
  const page = parsePlainInteger(options.page) ?? 0;
  if (page < 1 || page > pageMax) throw new UsageError(`--page must be a whole number from 1 to ${pageMax}.`);
  const filter = { state, type: options.type, objectId: options.object };
  const { data, total, totalCapped } = await webhookEvents.list(filter, { page, limit: 50 });
  for (const event of data) process.stdout.write(`${eventLine(event)}\n`);
  process.stdout.write(`${total}${totalCapped ? ' or more' : ''} in total\n`);
}

async function showEvent({ webhookEvents }: Services, id: string): Promise<void> {
  const event = await webhookEvents.read(id);
  const payload: unknown = JSON.parse(event.payload);
  process.stdout.write(`${JSON.stringify({ ...event, payload }, null, 2)}\n`);
}

async function replayEvent({ webhookEvents }: Services, id: string): Promise<void> {
  process.stdout.write(`${eventLine(await webhookEvents.replay(id))}\n`);
}

function eventLine({ createdAt, id, type, objectId, state, attempts, lastError }: WebhookEvent): string {
  return [
    createdAt.toISOString(),
    state.padEnd(9),
    id,
    type,
    objectId ?? '-',
    `${attempts}×`,
    ...(lastError === null ? [] : [lastError]),
  ].join('  ');
}
