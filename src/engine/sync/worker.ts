import { setTimeout } from 'node:timers/promises';
import type { StoredStates } from '#core/model/webhook-event.ts';
import type { Logger } from '#core/platform/logger.ts';
import { WakeableSleep } from '#core/platform/wakeable-sleep.ts';
import type { WorkDoor } from '#core/platform/work-door.ts';
import type { ReceivedEvent } from '../webhooks/inbox.ts';
import { batchMax, type EventApplier } from './event-applier.ts';

/** How soon the worker notices events that another process stored. Events of its own process wake it at once. */
const pollDelayMs = 500;
const failureDelayMs = 1_000;
/**
 * After a batch the worker pauses for one millisecond per event, up to this limit. A transaction costs as much as
 * dozens of events, so a busy worker lets events accumulate. A single event does not cause a pause.
 */
const gatherMsMax = 20;
/** Batches with refreshes in progress. At this limit, the worker waits for one of them. */
const openBatchesMax = 4;

/** Applies events while there are any, and sleeps otherwise. Several workers can run, in one or more processes. */
export class Worker {
  readonly #eventApplier: Applier;
  readonly #logger: Logger;
  readonly #refreshing = new Set<Promise<void>>();
  readonly #receiving = new Set<Promise<unknown>>();
  #isResting = false;
  #running: Promise<void> = Promise.resolve();
  readonly #rest = new WakeableSleep();
  #nudged = false;
  #failed = false;
  #stopped = false;

  constructor(options: { readonly eventApplier: Applier; readonly logger: Logger }) {
    this.#eventApplier = options.eventApplier;
    this.#logger = options.logger;
  }

  /**
   * Whether this process applies events, and has none to apply now. A busy worker shares the fixed cost of a
   * transaction between far more events than arrive together, so received events wait for it.
   */
  get isIdle(): boolean {
    return this.#isResting && !this.#nudged && !this.#stopped && this.#receiving.size === 0;
  }

  start(): void {
    this.#running = this.#run();
  }

  /** Call it when there are new events. */
  nudge(): void {
    this.#nudged = true;
    // New events do not shorten the delay after a failure.
    if (!this.#failed) this.#rest.wake();
  }

  /** Stores received events, and applies them in the same transaction. Returns the new ones. */
  async applyReceived(received: readonly ReceivedEvent[]): Promise<StoredStates> {
    const mayRefresh = this.#refreshing.size < openBatchesMax;
    const applying = this.#eventApplier.applyReceived(received, mayRefresh);
    this.#receiving.add(applying);
    try {
      const { stored, areSomeDue, refreshed } = await applying;
      this.#track(refreshed);
      if (areSomeDue) this.nudge();
      return stored;
    } finally {
      this.#receiving.delete(applying);
    }
  }

  /** Waits for the batch in progress and for all refreshes. Starts no other batch. */
  async stop(): Promise<void> {
    this.#stopped = true;
    this.#rest.wake();
    await this.#running;
    await Promise.allSettled(this.#receiving);
    await Promise.all(this.#refreshing);
  }

  async #run(): Promise<void> {
    let isDueLikely = true;
    while (!this.#stopped) {
      isDueLikely ||= this.#nudged;
      this.#nudged = false;
      const { size, delayMs } = await this.#work(isDueLikely);
      isDueLikely = delayMs === 0;
      if (size > 1 && size < batchMax) await setTimeout(Math.min(size, gatherMsMax));
      if (delayMs > 0 && (this.#failed || !this.#nudged) && !this.#stopped) await this.#sleep(delayMs);
    }
  }

  async #sleep(delayMs: number): Promise<void> {
    this.#isResting = !this.#failed;
    await this.#rest.sleep(delayMs);
    this.#isResting = false;
  }

  /** An idle poll is one statement, without a transaction. */
  async #work(isDueLikely: boolean): Promise<{ readonly size: number; readonly delayMs: number }> {
    try {
      if (!isDueLikely && !(await this.#eventApplier.hasDue())) {
        // The database responds, so a failure before this poll is over.
        this.#failed = false;
        return { size: 0, delayMs: pollDelayMs };
      }
      const { size, refreshed } = await this.#eventApplier.startBatch();
      this.#track(refreshed);
      if (this.#refreshing.size >= openBatchesMax) await Promise.race(this.#refreshing);
      this.#failed = false;
      // A batch that is not full leaves nothing that is due. Events that arrived meanwhile have nudged the worker.
      return { size, delayMs: size === batchMax ? 0 : pollDelayMs };
    } catch (error) {
      this.#report(error);
      this.#failed = true;
      return { size: 0, delayMs: failureDelayMs };
    }
  }

  #track(refreshed: Promise<void>): void {
    const done: Promise<void> = refreshed
      .catch((error: unknown) => this.#report(error))
      .finally(() => this.#refreshing.delete(done));
    this.#refreshing.add(done);
  }

  #report(error: unknown): void {
    this.#logger.warn({ err: error }, 'webhook events not processed; retry scheduled');
  }
}

type Applier = Pick<EventApplier, 'hasDue' | 'startBatch' | 'applyReceived'>;

/** How soon the worker looks again. A pause takes a fraction of a second. */
const pauseDelayMs = 100;

/** Applies no events while the door is closed. Their refreshes end last. */
export function pausedBy(door: WorkDoor, applier: EventApplier): Applier {
  return {
    hasDue: () => applier.hasDue(),
    startBatch: async () => {
      const leave = door.tryEnter();
      if (leave === undefined) {
        await setTimeout(pauseDelayMs);
        return { size: 0, refreshed: Promise.resolve() };
      }
      return leaveAfter(leave, () => applier.startBatch());
    },
    // The requests that deliver the events have entered the door already.
    applyReceived: (received, mayRefresh) =>
      leaveAfter(door.join(), () => applier.applyReceived(received, mayRefresh)),
  };
}

async function leaveAfter<Started extends { readonly refreshed: Promise<void> }>(
  leave: () => void,
  start: () => Promise<Started>,
): Promise<Started> {
  try {
    const started = await start();
    started.refreshed.then(leave, leave);
    return started;
  } catch (error) {
    leave();
    throw error;
  }
}
