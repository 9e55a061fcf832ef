/** `@supabase/stripe-sync-engine` behind a Fastify route of its own, at its fastest: it never calls the processor. */
import { bareApp, onEvent, serve, setting } from '../baselines/serve.ts';

interface Engine {
  runMigrations(config: object): Promise<void>;
  StripeSync: new (config: object) => { processWebhook(body: Buffer, signature: string): Promise<void> };
}

// By a name in a variable, because the package is installed only when the benchmarks run.
const packageName: string = '@supabase/stripe-sync-engine';
const { runMigrations, StripeSync }: Engine = await import(packageName);

const databaseUrl = setting('DATABASE_URL');
const schema = 'stripe';
await runMigrations({ databaseUrl, schema });
const sync = new StripeSync({
  poolConfig: { connectionString: databaseUrl, max: Number(setting('DATABASE_POOL_SIZE')) },
  schema,
  stripeSecretKey: setting('PROCESSOR_SECRET_KEY'),
  stripeWebhookSecret: setting('PROCESSOR_WEBHOOK_SECRET'),
  autoExpandLists: false,
  backfillRelatedEntities: false,
});
await serve(onEvent(bareApp(), (body, signature) => sync.processWebhook(body, signature)));
