import type { ProcessorClock } from '#core/platform/clock.ts';
import { HistoryWatch } from '#core/platform/history-watch.ts';
import type { Database } from '#core/platform/postgres.ts';
import { Repeater } from '#core/platform/repeater.ts';
import type { WorkDoor } from '#core/platform/work-door.ts';
import type { AccountGuard } from '#processor/account/account-guard.ts';
import { closeTimeoutMs } from './compose-database.ts';
import type { Services } from './compose-services.ts';
import type { Start } from './start.ts';

const sweepDelayMs = 60_000;
/** A missed webhook is found within this time. */
const regularRecoveryDelayMs = 300_000;
/** How soon an upgraded database is completed, once no process of the older release is left. It costs one statement. */
const backfillDelayMs = 60_000;
/** A failover or a restore is noticed within this time. It costs one small statement. */
const historyDelayMs = 1_000;
const retentionDelayMs = 3_600_000;
/** A deleted customer's data leaves the inbox within about this time. */
const erasureDelayMs = 60_000;
/** The event for the end of a grace period is written within half a minute. */
const dueEventsDelayMs = 20_000;
/**
 * Only needed after EVENT_SECRET_KEYS changed. A process with the previous keys may still write secrets a little later.
 */
const secretsDelayMs = 3_600_000;
/** Requests count the newest events themselves. This keeps the number of uncounted events small. */
const overviewDelayMs = 10_000;

interface BackgroundParts {
  readonly account: AccountGuard;
  readonly database: Database;
  readonly processorClock: ProcessorClock;
  /** The work that waits for a reset of the sandbox. */
  readonly door?: WorkDoor | undefined;
  /** For tests. */
  readonly recoveryDelayMs?: number | undefined;
}

export interface BackgroundWork {
  /** Call it once requests are served. */
  start(): void;
  /** Call it if the rows were deleted, and no commit was lost. */
  forgetHistory(): void;
}

/** At a shutdown, requests end before this work. */
export function composeBackgroundWork(
  { logger, shutdown }: Start,
  services: Services,
  { account, database, processorClock, door, recoveryDelayMs = regularRecoveryDelayMs }: BackgroundParts,
): BackgroundWork {
  const {
    worker,
    sweeper,
    recovery,
    backfills,
    retention,
    erasure,
    eventUpkeep,
    secretUpkeep,
    dispatcher,
    overviewFollower,
  } = services;
  const repeat = (name: string, delayMs: number, work: (signal: AbortSignal) => Promise<unknown>) =>
    new Repeater({
      name,
      delayMs,
      work: door === undefined ? work : (signal) => door.repeat(signal, work),
      logger,
    });
  const recoveries = repeat('recovery', recoveryDelayMs, (signal) => recovery.run(signal));
  const watch = new HistoryWatch({ database, logger }, () => recoveries.restart());
  const dueEvents = repeat('due events', dueEventsDelayMs, (signal) => eventUpkeep.writeDue(signal));
  processorClock.onMoved(() => dueEvents.restart());
  const processorRepeaters = [
    repeat('sweep', sweepDelayMs, (signal) => sweeper.sweep(signal)),
    recoveries,
    repeat('backfill', backfillDelayMs, (signal) => backfills.run(signal)),
  ];
  const repeaters = [
    repeat('history', historyDelayMs, () => watch.check()),
    repeat('retention', retentionDelayMs, () => retention.run()),
    repeat('erasure', erasureDelayMs, (signal) => erasure.run(signal)),
    dueEvents,
    repeat('secrets', secretsDelayMs, (signal) => secretUpkeep.run(signal)),
    repeat('overview', overviewDelayMs, (signal) => overviewFollower.run(signal)),
  ];
  shutdown.add('background work', closeTimeoutMs, () =>
    Promise.all([services, ...repeaters, ...processorRepeaters].map((part) => part.stop())),
  );
  const start = () => {
    for (const part of [worker, dispatcher, ...repeaters]) part.start();
    void account.comparison.then((comparison) => {
      if (shutdown.hasBegun) return;
      if (comparison === 'same') for (const repeater of processorRepeaters) repeater.start();
      // The events of another account stay in the queue.
      else void worker.stop();
    });
  };
  return { start, forgetHistory: () => watch.forget() };
}
