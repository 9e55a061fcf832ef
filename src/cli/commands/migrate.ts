import { defineCommand } from '../command.ts';
import { withShutdown } from '../with-services.ts';

/** For a service whose database role may not change the schema. */
export const migrate = defineCommand({
  name: 'migrate',
  summary: 'update the database to the newest schema',
  details: `The service does this at start if its database role may change the schema. The command also works while no service runs.`,
  run: (call) =>
    withShutdown(call, async (start) => {
      const { migrateDatabase } = await import('#runtime/composition/compose-database.ts');
      await migrateDatabase(start);
      call.output.result({ isMigrated: true }, 'The database has the newest schema.');
    }),
});
