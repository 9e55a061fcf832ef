/** `@stripe/sync-engine` behind its own Fastify route, at its fastest: it never calls the processor. */
import { fileURLToPath } from 'node:url';
import { bareApp, onEvent, serve, setting } from '../baselines/serve.ts';

interface Engine {
  runMigrations(config: object): Promise<void>;
  StripeSync: {
    create(config: object): Promise<{
      readonly webhook: { processWebhook(body: Buffer, signature: string): Promise<void> };
    }>;
  };
}

// The name is in a variable, because the package is installed only when the benchmarks run.
const packageName: string = '@stripe/sync-engine';
const { runMigrations, StripeSync }: Engine = await import(packageName);

const databaseUrl = setting('DATABASE_URL');
const silent = { info: () => {}, warn: () => {}, error: () => {} };
await runMigrations({
  databaseUrl,
  logger: silent,
  // It creates its tables from the processor's OpenAPI description, which it would download. This file has only the
  // fields of the benchmark's events, about a third of the full set. Fewer columns can only make it faster.
  openApiSpecPath: fileURLToPath(new URL('processor-openapi.json', import.meta.url)),
});
const sync = await StripeSync.create({
  poolConfig: { connectionString: databaseUrl, max: Number(setting('DATABASE_POOL_SIZE')) },
  stripeSecretKey: setting('PROCESSOR_SECRET_KEY'),
  stripeAccountId: 'acct_bench',
  stripeWebhookSecret: setting('PROCESSOR_WEBHOOK_SECRET'),
  autoExpandLists: false,
  backfillRelatedEntities: false,
  logger: silent,
});
await serve(onEvent(bareApp(), (body, signature) => sync.webhook.processWebhook(body, signature)));
