import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import pg from 'pg';
import { createLogger } from '#core/platform/logger.ts';
import { startEmbeddedPostgres } from '#runtime/embedded-postgres.ts';
import { type Lab, projectFolder } from '../lab/lab.ts';
import type { Scenario } from '../lab/scenario.ts';

const customersFull = 300;
const customersQuick = 100;
/** A third: the smallest size of each table and index is the same in both. */
const fewerShare = 3;
const daysPerYear = 365.25;
const kilobytesMax = 25;
const shownMax = 6;
/** Rows of these tables are deleted after a time. All others stay for ever. */
const temporary =
  '^(webhook_events|events|event_deliveries|audit_log|usage_events)(_|$)|^idempotency_claims$';
/** Grows with days, currencies and metrics, however many subscribers there are. */
const perDay = 'overview_cells';

interface DemoSize {
  readonly customers: number;
  /** How long all subscriptions together have lasted. */
  readonly years: number;
  readonly kilobytes: ReadonlyMap<string, number>;
}

/**
 * What a subscriber adds to the database for ever, in the demo data: a year of sign-ups, renewals and payments. Two
 * databases are compared, because what they have in common is not added by a subscriber.
 */
export const space: Scenario = {
  names: ['permanent_space'],
  async run(lab) {
    const customers = lab.amount(customersFull, customersQuick);
    const less = await sizeOfDemo(lab, Math.floor(customers / fewerShare));
    const more = await sizeOfDemo(lab, customers);
    const years = more.years - less.years;
    const perYear = [...more.kilobytes]
      .map(([name, kilobytes]) => ({
        name,
        kilobytes: (kilobytes - (less.kilobytes.get(name) ?? 0)) / years,
      }))
      .sort((one, other) => other.kilobytes - one.kilobytes);
    const perSubscriber = perYear.filter(({ name }) => name !== perDay);
    const shown = perSubscriber
      .slice(0, shownMax)
      .map(({ name, kilobytes }) => `${name} ${kilobytes.toFixed(1)}`);
    const perDayKilobytes = (more.kilobytes.get(perDay) ?? 0) / daysPerYear;
    const counts = [more, less].map((one) => `${one.customers} customers (${one.years.toFixed(0)} years)`);
    return [
      {
        name: 'permanent_space',
        value: perSubscriber.reduce((sum, { kilobytes }) => sum + kilobytes, 0),
        unit: 'kB/subscriber-year',
        goal: { atMost: kilobytesMax },
        note: `${counts.join(' less ')}: ${shown.join('; ')}; besides, ${perDay} ${perDayKilobytes.toFixed(1)} kB a day`,
      },
    ];
  },
};

async function sizeOfDemo(lab: Lab, customers: number): Promise<DemoSize> {
  const dataDir = lab.newPath('demo');
  const args = ['src/cli/cli.ts', 'seed', '--json', '--customers', String(customers)];
  const environment = { PATH: process.env['PATH'], DATA_DIR: dataDir, SANDBOX_PORT: '0' };
  await promisify(execFile)(process.execPath, args, { cwd: projectFolder, env: environment });
  const logger = createLogger('error', process.stderr);
  const server = await startEmbeddedPostgres({ dataDir, logger });
  const client = new pg.Client({ connectionString: server.url });
  try {
    await client.connect();
    await client.query('vacuum full');
    const { rows: tables } = await client.query<{ name: string; kilobytes: number }>(
      `select relname as name, pg_total_relation_size(pg_class.oid) / 1000.0::float8 as kilobytes from pg_class
       where relnamespace = 'till'::regnamespace and relkind = 'r' and relname !~ $1 and reltuples <> 0`,
      [temporary],
    );
    const { rows: subscribed } = await client.query<{ years: number }>(
      `select (sum(extract(epoch from coalesce(ended_at, now()) - created_at)) / 86400 / $1)::float8 as years
       from till.subscriptions`,
      [daysPerYear],
    );
    return {
      customers,
      years: subscribed[0]?.years ?? 0,
      kilobytes: new Map(tables.map(({ name, kilobytes }) => [name, kilobytes])),
    };
  } finally {
    await client.end();
    await server.stop();
  }
}
