import { after } from 'node:test';
import { noCrashPoints } from '../../src/idempotency/crash-points.ts';
import { systemClock } from '../../src/platform/clock.ts';
import { createLogger } from '../../src/platform/logger.ts';
import { createMetrics } from '../../src/platform/metrics.ts';
import { OwnerLock } from '../../src/platform/owner-lock.ts';
import { Database } from '../../src/platform/postgres.ts';
import type { Processor } from '../../src/processor/processor.ts';
import { createStripeProcessor } from '../../src/processor/stripe/stripe-processor.ts';
import { composeServices, type Services } from '../../src/till/compose-services.ts';
import type { Service } from './service.ts';

export interface Mirror {
  readonly database: Database;
  readonly processor: Processor;
  readonly services: Services;
}

/** The domain beside the running service, on its database and its processor: brings news without a webhook. */
export async function useMirror(service: Service): Promise<Mirror> {
  const logger = createLogger('silent');
  const metrics = createMetrics({ eventTypes: [], processorOperations: [], mirrors: [] });
  const database = new Database({ url: service.databaseUrl, poolSize: 2, logger });
  const ownerLock = new OwnerLock({ url: service.databaseUrl, logger });
  const processor = createStripeProcessor({
    secretKey: 'sk_test_mirror',
    apiBase: new URL(service.processorUrl),
    webhookSecrets: ['whsec_mirror'],
    maxInFlight: 10,
    metrics,
    logger,
  });
  const services = composeServices({
    database,
    ownerLock,
    processor,
    metrics,
    clock: systemClock,
    logger,
    crashPoints: noCrashPoints,
    retentionDays: 90,
  });
  after(async () => {
    await services.stop();
    processor.close();
    await database.close();
  });
  return { database, processor, services };
}
