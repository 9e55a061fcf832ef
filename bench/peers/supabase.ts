/** `@supabase/stripe-sync-engine` behind its own Fastify route, at its fastest: it never calls the processor. */
import { createRequire } from 'node:module';
import { bareApp, onEvent, serve, setting } from '../baselines/serve.ts';

interface Engine {
  runMigrations(config: object): Promise<void>;
  StripeSync: new (config: object) => { processWebhook(body: Buffer, signature: string): Promise<void> };
}

// The package's ES module cannot find its own migrations.
const { runMigrations, StripeSync }: Engine = createRequire(import.meta.url)('@supabase/stripe-sync-engine');

const databaseUrl = setting('DATABASE_URL');
const schema = 'stripe';
await runMigrations({ databaseUrl, schema, logger: { info: () => {}, error: fail } });
const sync = new StripeSync({
  poolConfig: { connectionString: databaseUrl, max: Number(setting('DATABASE_POOL_SIZE')) },
  schema,
  stripeSecretKey: setting('PROCESSOR_SECRET_KEY'),
  stripeWebhookSecret: setting('PROCESSOR_WEBHOOK_SECRET'),
  autoExpandLists: false,
  backfillRelatedEntities: false,
});
await serve(onEvent(bareApp(), (body, signature) => sync.processWebhook(body, signature)));

/** Its migrations only log failures. */
function fail(error: unknown): never {
  throw error;
}
