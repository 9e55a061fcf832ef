import { Failure } from '../errors.ts';
import type { Clock } from '../platform/clock.ts';
import { newId } from '../platform/id.ts';
import type { Logger } from '../platform/logger.ts';
import { isGone, type OwnerLock } from '../platform/owner-lock.ts';
import type { Database } from '../platform/postgres.ts';
import type { Resync, Skipped } from './resync.ts';
import { type ResyncRun, withProgress } from './resync-run.ts';
import type { ResyncRunStore } from './resync-run-store.ts';

/** An operator looks at a few of them. The log has all. */
const skippedShownMax = 100;

interface RunParts {
  readonly database: Database;
  readonly store: ResyncRunStore;
  readonly resync: Pick<Resync, 'all' | 'ofCustomer'>;
  readonly customers: { read(id: string): Promise<unknown> };
  readonly ownerLock: Pick<OwnerLock, 'owner'>;
  readonly clock: Clock;
  readonly logger: Logger;
}

/**
 * Comparisons with the processor. Each runs after the response to the request that started it. One runs at a time,
 * across all processes. An interrupted one does no harm: its corrections are right, and the next one starts over.
 */
export class ResyncRuns {
  readonly #parts: RunParts;
  readonly #stopping = new AbortController();
  #running: Promise<void> = Promise.resolve();
  /** The runs of this process that are starting or running. */
  readonly #ownIds = new Set<string>();

  constructor(parts: RunParts) {
    this.#parts = parts;
  }

  async start(customerId: string | null): Promise<ResyncRun> {
    const { database, store, customers, ownerLock } = this.#parts;
    if (customerId !== null) await customers.read(customerId);
    await this.#endAbandoned();
    const id = newId(this.#parts.clock.now());
    this.#ownIds.add(id);
    let hasStarted = false;
    try {
      hasStarted = await store.start(database, { id, customerId, ownerLock: ownerLock.owner });
    } finally {
      if (!hasStarted) this.#ownIds.delete(id);
    }
    if (!hasStarted)
      throw new Failure(
        'resync_running',
        'A comparison with the processor is running. Wait until it has ended.',
      );
    this.#running = this.#run(id, customerId).finally(() => this.#ownIds.delete(id));
    return this.read(id);
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

  async #run(id: string, customerId: string | null): Promise<void> {
    const { database, store, resync, logger } = this.#parts;
    let progress: ResyncRun['progress'] = [];
    const isStopped = { value: false };
    const report = async (latest: ResyncRun['progress'][number]) => {
      progress = withProgress(progress, latest);
      isStopped.value = !(await store.report(database, id, progress)) || this.#stopping.signal.aborted;
      if (isStopped.value) throw new Error('resync stopped');
    };
    const ended = (status: ResyncRun['status'], skipped: readonly Skipped[], error: string | null) =>
      store.end(database, id, {
        status,
        skipped: skipped.slice(0, skippedShownMax),
        skippedCount: skipped.length,
        error,
      });
    try {
      const skipped = await (customerId === null
        ? resync.all(report)
        : resync.ofCustomer(customerId, report));
      await ended('finished', skipped, null);
    } catch (cause) {
      if (!isStopped.value) logger.error({ err: cause, resync: id }, 'resync failed');
      await ended(isStopped.value ? 'stopped' : 'failed', [], isStopped.value ? null : reasonOf(cause)).catch(
        (error: unknown) => logger.error({ err: error, resync: id }, 'end of resync not recorded'),
      );
    }
  }

  /** Ends the run of a process that is gone, or one of this process whose end could not be recorded. */
  async #endAbandoned(): Promise<void> {
    const { database, store, ownerLock } = this.#parts;
    const running = await store.findRunning(database);
    if (running === undefined || this.#ownIds.has(running.id)) return;
    await database.transaction(async (tx) => {
      const isOwn = running.ownerLock === ownerLock.owner;
      if (!isOwn && !(await isGone(tx, running.ownerLock))) return;
      await store.end(tx, running.id, { status: 'stopped', skipped: [], skippedCount: 0, error: null });
    });
  }
}

/** The message of an unexpected error goes only to the log. */
function reasonOf(cause: unknown): string {
  return cause instanceof Failure ? cause.message : 'An internal error, which is in the log.';
}
