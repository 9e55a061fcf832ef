import type { IdempotencyService } from '#engine/idempotency/idempotency-service.ts';
import { MeterService } from '#features/usage/meter-service.ts';
import { MeterStore } from '#features/usage/meter-store.ts';
import { UsageCheck } from '#features/usage/usage-check.ts';
import { UsageCheckStore } from '#features/usage/usage-check-store.ts';
import { UsageConsumption } from '#features/usage/usage-consumption.ts';
import { UsagePeriodStore } from '#features/usage/usage-period-store.ts';
import { UsageReadStore } from '#features/usage/usage-read-store.ts';
import { UsageReading } from '#features/usage/usage-reading.ts';
import { type UsageParts, UsageService } from '#features/usage/usage-service.ts';
import { UsageStore } from '#features/usage/usage-store.ts';

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
