import type { IdempotencyService } from '#engine/idempotency/idempotency-service.ts';
import type { EntitlementService } from '#features/subscriptions/entitlements/entitlement-service.ts';
import { MeterService } from '#features/usage/meter-service.ts';
import { MeterStore } from '#features/usage/meter-store.ts';
import { UsageCheck } from '#features/usage/usage-check.ts';
import { UsageConsumption } from '#features/usage/usage-consumption.ts';
import { UsagePeriodStore } from '#features/usage/usage-period-store.ts';
import { UsageReading } from '#features/usage/usage-reading.ts';
import { type UsageContext, UsageService } from '#features/usage/usage-service.ts';
import { UsageStore } from '#features/usage/usage-store.ts';
import type { ServiceContext } from './compose-context.ts';

/** Wires up meters, and the counting and reading of usage. */
export function composeUsage(
  context: ServiceContext,
  idempotency: IdempotencyService,
  entitlements: EntitlementService,
  events: UsageContext['events'],
) {
  const meters = new MeterStore();
  const counting = {
    ...context,
    entitlements,
    events,
    store: new UsageStore(),
    periods: new UsagePeriodStore(),
    meters,
  };
  return {
    meters: new MeterService(context, idempotency),
    usage: new UsageService(counting),
    consumption: new UsageConsumption(counting),
    usageCheck: new UsageCheck(context, context.usageRetentionDays),
    reading: new UsageReading(context, entitlements, context.processorClock),
  };
}
