import { defineCommand } from '../command.ts';
import { withShutdown } from '../with-services.ts';

/** For a service whose database role may not change the schema. */
export const migrate = defineCommand({
  name: 'migrate',
  summary: 'update the database to the newest schema',
  details: `The service does this at start if its database role may change the schema. The command also works while no service runs.`,
  run: (call) =>
    withShutdown(call, async (start) => {
      const [{ migrateDatabase }, { completeIndexes }] = await Promise.all([
        import('../../till/compose-database.ts'),
        import('../../platform/deferred-indexes.ts'),
      ]);
      const url = await migrateDatabase(start);
      const hasAllIndexes = await completeIndexes({ url, logger: start.logger });
      if (!hasAllIndexes)
        call.output.warn('Some indexes are locked or still being built. Run this command again later.');
      call.output.result({ hasAllIndexes }, 'The database has the newest schema.');
    }),
});
