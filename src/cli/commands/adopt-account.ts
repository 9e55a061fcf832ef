import { describeAccount, type ProcessorAccount } from '#processor/account/account.ts';
import { AccountStore } from '#processor/account/account-store.ts';
import type { Processor } from '#processor/port/processor.ts';
import type { Start } from '#runtime/composition/start.ts';
import { defineCommand } from '../command.ts';
import { withShutdown } from '../with-services.ts';

export const adoptAccount = defineCommand({
  name: 'adopt-account',
  summary: 'bind the database to the account and mode of the current Stripe key',
  details: `The service refuses to start with a Stripe key of another account or mode than the one in the database. Run this
command only if the new account has the same customers. It also works while no service runs.`,
  run: (call) =>
    withShutdown(call, async (start) => {
      const { database, current } = await openBoth(start);
      const store = new AccountStore();
      const before = await store.read(database);
      await store.replace(database, current);
      const from = before === undefined ? 'none' : describeAccount(before);
      call.output.result(
        { before: before ?? null, after: current },
        `Stripe account: ${from} → ${describeAccount(current)}`,
      );
      if (current.id === null)
        call.output.note(
          'The Stripe key has no permission to read its account: Till compares only the mode.',
        );
    }),
});

/** Starts embedded parts that are not running: the service refuses to start with a secret key of another account. */
async function openBoth(start: Start) {
  const { config } = start;
  const { joinDatabase, openDatabase } = await import('#runtime/composition/compose-database.ts');
  const { joinProcessor, metricLabels, openProcessor } = await import(
    '#runtime/composition/compose-parts.ts'
  );
  const { createMetrics } = await import('#core/platform/metrics.ts');
  const { database } = await joinDatabase(start).catch((error: unknown) => {
    if (config.databaseUrl !== undefined) throw error;
    return openDatabase(start);
  });
  const metrics = createMetrics(metricLabels);
  const joined = joinProcessor(start, metrics).processor;
  const current = await readAccount(joined).catch(async (error: unknown) => {
    if (config.processor.secretKey !== undefined) throw error;
    const url = `http://${config.host}:${config.port}`;
    return readAccount((await openProcessor(start, metrics, { url })).processor);
  });
  return { database, current };
}

async function readAccount(processor: Processor): Promise<ProcessorAccount> {
  return { id: await processor.readAccount(), livemode: processor.livemode };
}
