import type { IdempotencyService } from '../idempotency/idempotency-service.ts';
import { MeterService } from '../usage/meter-service.ts';
import { MeterStore } from '../usage/meter-store.ts';
import { UsageCheck } from '../usage/usage-check.ts';
import { UsageCheckStore } from '../usage/usage-check-store.ts';
import { UsageConsumption } from '../usage/usage-consumption.ts';
import { UsagePeriodStore } from '../usage/usage-period-store.ts';
import { UsageReadStore } from '../usage/usage-read-store.ts';
import { UsageReading } from '../usage/usage-reading.ts';
import { type UsageParts, UsageService } from '../usage/usage-service.ts';
import { UsageStore } from '../usage/usage-store.ts';

interface Parts extends Omit<UsageParts, 'store' | 'periods' | 'meters'> {
  readonly idempotency: IdempotencyService;
  readonly usageRetentionDays: number;
}

/** Wires up meters, and the counting and reading of usage. */
export function composeUsage(parts: Parts) {
  const meters = new MeterStore();
  const counting = { ...parts, store: new UsageStore(), periods: new UsagePeriodStore(), meters };
  return {
    meters: new MeterService({ ...parts, store: meters }),
    usage: new UsageService(counting),
    consumption: new UsageConsumption(counting),
    usageCheck: new UsageCheck({ ...parts, store: new UsageCheckStore() }),
    reading: new UsageReading({ ...parts, store: new UsageReadStore(), meters }),
  };
}
