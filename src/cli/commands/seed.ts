import { createLogger } from '#core/platform/logger.ts';
import type { Config } from '#runtime/composition/config.ts';
import { SeedError } from '#runtime/seed/seed-error.ts';
import { defineCommand, wholeNumber } from '../command.ts';
import type { Terminal } from '../output.ts';

/** A thousand customers take about a minute. */
const customersMax = 1_000;
const seedMax = 2 ** 31 - 1;

export const seed = defineCommand({
  name: 'seed',
  summary: 'create a year of demo data in the embedded database and sandbox, while no service runs',
  options: {
    customers: {
      type: 'string',
      value: 'N',
      default: '200',
      about: `how many customers, up to ${customersMax}`,
    },
    seed: { type: 'string', value: 'N', default: '1', about: 'the same number creates the same data' },
    add: { type: 'boolean', about: 'add to existing data' },
  },
  details: `The sandbox lives through a year that ends now: sign-ups, trials, renewals, changes, failed payments, refunds and
disputes. Till records it like any other year. The data appears only when it is complete, so an interrupted run can be
repeated. All people are invented.`,
  run: async ({ config: readConfig, values, output, signal }) => {
    const customers = wholeNumber('customers', values.customers, 1, customersMax);
    const number = wholeNumber('seed', values.seed, 0, seedMax);
    const config = readConfig();
    refuseOtherParts(config);
    const { seedDemoData } = await import('#runtime/composition/compose-seed.ts');
    const startMs = performance.now();
    const logger = createLogger('error', output.stderr);
    const report = progressOn(output.stderr, output.isJson);
    const seeded = await seedDemoData({
      config,
      seed: number,
      customers,
      add: values.add,
      logger,
      signal,
      report,
    });
    const { counts, from, to, aside } = seeded;
    const seconds = Math.round((performance.now() - startMs) / 100) / 10;
    const created = Object.entries(counts).map(([name, count]) => `${count} ${name}`);
    output.result(
      { seed: number, from, to, ...counts, seconds, aside: aside ?? null },
      `${config.dataDir} has ${created.join(', ')} (${seconds} s).`,
    );
    if (aside !== undefined) output.note(`The database without the demo data is in ${aside}.`);
    output.note('Start the service, and open the console.');
  },
});

/** A sandbox in this process creates the demo data, so that it never mixes with real customers. */
function refuseOtherParts({ production, databaseUrl, processor }: Config): void {
  if (production || processor.secretKey !== undefined)
    throw new SeedError(
      'Demo data is only for the embedded sandbox. Unset PROCESSOR_SECRET_KEY and NODE_ENV.',
    );
  if (databaseUrl !== undefined)
    throw new SeedError('Demo data is only for the embedded database. Unset DATABASE_URL.');
}

/** Updates one line of progress, if the output is a terminal. */
function progressOn(terminal: Terminal, isJson: boolean): (done: number) => void {
  if (isJson || terminal.isTTY !== true) return () => {};
  return (done) => terminal.write(`\r\x1b[K${Math.round(done * 100)} % of the year${done === 1 ? '\n' : ''}`);
}
