import { type Clock, MovableClock, type ProcessorClock, systemClock } from '#core/platform/clock.ts';
import type { Platform } from '#core/platform/platform.ts';
import type { Tracer } from '#core/platform/tracing.ts';
import { WorkDoor } from '#core/platform/work-door.ts';
import type { Resolve } from '#engine/events/endpoints/address-resolver.ts';
import { type CrashPoints, noCrashPoints } from '#engine/idempotency/claim.ts';
import type { BackfillStore } from '#engine/sync/backfill-store.ts';
import type { Processor } from '#processor/port/processor.ts';
import type { Config, EventConfig } from './config.ts';

/** The settings of event endpoints. */
export interface EventSettings extends EventConfig {
  /** Replaces DNS in tests. */
  readonly resolve?: Resolve | undefined;
  /** The time limit of an attempt, for tests. */
  readonly attemptTimeoutMs?: number | undefined;
  /** The delay after the first failed attempt, for tests. */
  readonly retryDelayMs?: number | undefined;
}

/** What the services are made from. */
export interface ServiceInput extends Pick<Platform, 'database' | 'logger' | 'metrics' | 'ownerLock'> {
  readonly installationId: string;
  readonly backfillStore: BackfillStore;
  readonly processor: Processor;
  /** Undefined if nothing is traced. */
  readonly tracer?: Tracer | undefined;
  readonly config: Pick<
    Config,
    | 'webhookRetentionDays'
    | 'entitlementGraceDays'
    | 'usageRetentionDays'
    | 'returnUrlOrigins'
    | 'overviewTimeZone'
  > & { readonly events: EventSettings };
  /** Called when there is work for the process that does the background work, if it is another one. */
  readonly reportWork?: () => void;
  /** Demo data uses another clock. */
  readonly clock?: Clock | undefined;
  /** By default the clock above: a real processor has no other time. */
  readonly processorClock?: ProcessorClock | undefined;
  /** The work that waits for a reset of the sandbox. */
  readonly door?: WorkDoor | undefined;
  /** Tests stop the process at one of them. */
  readonly crashPoints?: CrashPoints | undefined;
  /** Tests set a shorter wait for the turn of a write. */
  readonly turnWaitMs?: number | undefined;
  /** Tests set a longer wait for requests with the same idempotency key. */
  readonly claimWaitMs?: number | undefined;
}

/** What every service gets of the composition. */
export type ServiceContext = ReturnType<typeof contextOf>;

export function contextOf({ config, ...input }: ServiceInput) {
  const { clock = systemClock, crashPoints = noCrashPoints, door = new WorkDoor() } = input;
  const { processorClock = new MovableClock(clock) } = input;
  const { webhookRetentionDays: retentionDays, entitlementGraceDays, usageRetentionDays } = config;
  const { returnUrlOrigins, overviewTimeZone, events } = config;
  const settings = { retentionDays, entitlementGraceDays, usageRetentionDays, returnUrlOrigins };
  return { ...input, clock, processorClock, crashPoints, door, ...settings, overviewTimeZone, events };
}
