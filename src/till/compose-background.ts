import { completeIndexes } from '../platform/deferred-indexes.ts';
import { HistoryWatch } from '../platform/history-watch.ts';
import type { Database } from '../platform/postgres.ts';
import { Repeater } from '../platform/repeater.ts';
import type { AccountGuard } from '../processor/account/account-guard.ts';
import { closeTimeoutMs, type Start } from './compose-parts.ts';
import type { Services } from './compose-services.ts';

const sweepDelayMs = 60_000;
/** A missed webhook is found within this time. */
const regularRecoveryDelayMs = 300_000;
/** A failover or a restore is noticed within this time. It costs one small statement. */
const historyDelayMs = 1_000;
const retentionDelayMs = 3_600_000;
/** A deleted customer's data leaves the inbox within about this time. */
const erasureDelayMs = 60_000;
/** Indexes are missing only after an upgrade. */
const indexDelayMs = 3_600_000;
/** The end of a grace period has its event within half a minute. */
const dueEventsDelayMs = 20_000;
/** Objects that are older than events are exist only after an upgrade. */
const olderObjectsDelayMs = 3_600_000;
/** Secrets need it only after EVENT_SECRET_KEYS changed. A process with the earlier keys may write some a little later. */
const secretsDelayMs = 3_600_000;
/** Requests count the newest events themselves. This keeps their number small. */
const overviewDelayMs = 10_000;

interface BackgroundParts {
  readonly account: AccountGuard;
  readonly database: Database;
  readonly directUrl: string;
  /** For tests. */
  readonly recoveryDelayMs?: number | undefined;
}

/** Returns a function that starts the work once requests are served. At a shutdown, requests end before this work. */
export function composeBackgroundWork(
  { logger, shutdown }: Start,
  services: Services,
  { account, database, directUrl, recoveryDelayMs = regularRecoveryDelayMs }: BackgroundParts,
): () => void {
  const {
    worker,
    sweeper,
    recovery,
    retention,
    erasure,
    eventUpkeep,
    secretUpkeep,
    dispatcher,
    overviewFollower,
  } = services;
  const recoveryRepeater = new Repeater({
    name: 'recovery',
    delayMs: recoveryDelayMs,
    work: (signal) => recovery.run(signal),
    logger,
  });
  const processorRepeaters = [
    new Repeater({ name: 'sweep', delayMs: sweepDelayMs, work: (signal) => sweeper.sweep(signal), logger }),
    recoveryRepeater,
  ];
  const watch = new HistoryWatch({ database, logger, onChange: () => recoveryRepeater.restart() });
  const repeaters = [
    new Repeater({ name: 'history', delayMs: historyDelayMs, work: () => watch.check(), logger }),
    new Repeater({ name: 'retention', delayMs: retentionDelayMs, work: () => retention.run(), logger }),
    new Repeater({
      name: 'erasure',
      delayMs: erasureDelayMs,
      work: (signal) => erasure.run(signal),
      logger,
    }),
    new Repeater({
      name: 'due events',
      delayMs: dueEventsDelayMs,
      work: (signal) => eventUpkeep.writeDue(signal),
      logger,
    }),
    new Repeater({
      name: 'older objects',
      delayMs: olderObjectsDelayMs,
      work: (signal) => eventUpkeep.recordOlder(signal),
      logger,
    }),
    new Repeater({
      name: 'secrets',
      delayMs: secretsDelayMs,
      work: (signal) => secretUpkeep.run(signal),
      logger,
    }),
    new Repeater({
      name: 'overview',
      delayMs: overviewDelayMs,
      work: (signal) => overviewFollower.run(signal),
      logger,
    }),
    new Repeater({
      name: 'indexes',
      delayMs: indexDelayMs,
      work: (signal) => completeIndexes({ url: directUrl, logger, signal }),
      logger,
    }),
  ];
  shutdown.add('background work', closeTimeoutMs, () =>
    Promise.all([services, ...repeaters, ...processorRepeaters].map((part) => part.stop())),
  );
  return () => {
    for (const part of [worker, dispatcher, ...repeaters]) part.start();
    void account.comparison.then((comparison) => {
      if (shutdown.hasBegun) return;
      if (comparison === 'same') for (const repeater of processorRepeaters) repeater.start();
      // The events of another account stay in the queue.
      else void worker.stop();
    });
  };
}
