import { Failure } from '#core/errors.ts';
import { auditOperation } from '#core/platform/cause.ts';
import { newId } from '#core/platform/id.ts';
import type { Platform } from '#core/platform/platform.ts';
import type { WorkDoor } from '#core/platform/work-door.ts';
import type { Job, JobRun } from '#engine/sync/job.ts';
import type { Resync, ResyncProgress } from './resync.ts';
import type { ResyncRun } from './resync-run.ts';
import type { ResyncRunStore } from './resync-run-store.ts';

interface RunParts extends Pick<Platform, 'database' | 'clock' | 'logger'> {
  readonly job: Job;
  readonly store: ResyncRunStore;
  readonly resync: Pick<Resync, 'all' | 'ofCustomer'>;
  readonly customers: { read(id: string): Promise<unknown> };
  /** A run stops when it closes. */
  readonly door: WorkDoor;
}

/**
 * Comparisons with the processor. Each runs after the response to the request that started it. One runs at a time,
 * across all processes. An interrupted one does no harm: its corrections are right, and the next one starts over.
 */
export class ResyncRuns {
  readonly #parts: RunParts;
  readonly #stopping = new AbortController();
  #running: Promise<void> = Promise.resolve();

  constructor(parts: RunParts) {
    this.#parts = parts;
  }

  async start(customerId: string | null): Promise<ResyncRun> {
    const { job, store, customers, clock, door } = this.#parts;
    if (customerId !== null) await customers.read(customerId);
    const started = { id: newId(clock.now()), customerId };
    const run = await job.take(
      async (tx) => {
        await store.stopRunning(tx);
        await store.start(tx, started);
        auditOperation(tx, { createdId: started.id });
        return started;
      },
      AbortSignal.any([this.#stopping.signal, door.closing]),
    );
    if (run === undefined)
      throw new Failure(
        'resync_running',
        'A comparison with the processor is running. Wait until it has ended.',
      );
    const leave = door.join();
    this.#running = this.#run(run)
      .finally(() => run.release())
      .finally(leave);
    return this.read(started.id);
  }

  async read(id: string): Promise<ResyncRun> {
    await this.#endAbandoned();
    const run = await this.#parts.store.find(this.#parts.database, id);
    if (run === undefined) throw new Failure('not_found', 'No resync has this id. Check the id.');
    return run;
  }

  async list(): Promise<readonly ResyncRun[]> {
    await this.#endAbandoned();
    return this.#parts.store.list(this.#parts.database);
  }

  async stop(): Promise<void> {
    this.#stopping.abort();
    await this.#running;
  }

  async #run({ begun, signal, write, end }: JobRun<Pick<ResyncRun, 'id' | 'customerId'>>): Promise<void> {
    const { store, resync, logger } = this.#parts;
    const { id, customerId } = begun;
    const progress = new Map<string, ResyncProgress>();
    const report = async (latest: ResyncProgress) => {
      progress.set(latest.resource, latest);
      await write((tx) => store.report(tx, id, [...progress.values()]));
      signal.throwIfAborted();
    };
    const requireRunning = () => signal.throwIfAborted();
    try {
      const skipped = await (customerId === null
        ? resync.all(report, requireRunning)
        : resync.ofCustomer(customerId, report, requireRunning));
      await end((tx) => store.end(tx, id, { status: 'finished', skipped, error: null }));
    } catch (cause) {
      const error = cause === signal.reason ? null : reasonOf(cause);
      if (error !== null) logger.error({ err: cause, resync: id }, 'resync failed');
      const status = error === null ? 'stopped' : 'failed';
      await end((tx) => store.end(tx, id, { status, skipped: [], error })).catch((failure: unknown) =>
        logger.error({ err: failure, resync: id }, 'end of resync not recorded'),
      );
    }
  }

  /** Ends the run of a process that is gone, or one whose end could not be recorded. */
  async #endAbandoned(): Promise<void> {
    const { database, job, store } = this.#parts;
    if (!(await store.isAnyRunning(database))) return;
    await database.transaction(async (tx) => {
      if (await job.endAbandoned(tx)) await store.stopRunning(tx);
    });
  }
}

/** The message of an unexpected error goes only to the log. */
function reasonOf(cause: unknown): string {
  return cause instanceof Failure ? cause.message : 'An internal error, which is in the log.';
}
