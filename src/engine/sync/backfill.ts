import { runAs } from '#core/platform/cause.ts';
import type { Platform } from '#core/platform/platform.ts';
import { isLostPlace, type ProcessorPage } from '#processor/port/pages.ts';
import type { MirroredList } from '../mirrors/mirrored-list.ts';
import type { Backfill, BackfillProgress, BackfillStore } from './backfill-store.ts';
import { type Job, type JobRun, pause } from './job.ts';
import { refreshObject } from './refresh-object.ts';

/** About one log line a minute. */
const pagesPerLogLine = 500;

export interface BackfillState {
  /** The backfills that this release knows. */
  readonly backfills: readonly Backfill[];
  /** How many processes of older releases the backfills wait for. */
  readonly olderProcesses: number;
}

type BackfillRun = JobRun<{ readonly pending: readonly Backfill[] }>;

/**
 * Completes rows after an upgrade. A migration that adds what a new release mirrors asks for it, and one process reads
 * the processor's list of these objects, page by page. A run that is interrupted continues with the last stored page.
 * Processes of an older release write rows without the new values, so the work waits until none is left.
 */
export class Backfills {
  readonly #context: Platform;
  /** The lists of all resources, in the order in which they depend on each other. */
  readonly #lists: readonly MirroredList<unknown>[];
  readonly #job: Job;
  readonly #store: BackfillStore;

  constructor(context: Platform, lists: readonly MirroredList<unknown>[], job: Job, store: BackfillStore) {
    this.#context = context;
    this.#lists = lists;
    this.#job = job;
    this.#store = store;
  }

  /** False if it should be repeated soon. */
  run(signal?: AbortSignal): Promise<boolean> {
    return runAs('resync', () => this.#run(signal));
  }

  async read(): Promise<BackfillState> {
    const { database } = this.#context;
    return {
      backfills: await this.#store.list(database),
      olderProcesses: await this.#store.countOlder(database),
    };
  }

  async #run(signal: AbortSignal | undefined): Promise<boolean> {
    const { database, logger } = this.#context;
    const isPending = ({ endedAt }: Backfill) => endedAt === null;
    if (!(await this.#store.list(database)).some(isPending)) return true;
    const run = await this.#job.take(
      async (tx) => ({ pending: (await this.#store.list(tx)).filter(isPending) }),
      signal,
    );
    // Another process is running it, or was killed a moment ago.
    if (run === undefined) return false;
    try {
      // Read after the rounds: see `announce`.
      const olderProcesses = await this.#store.countOlder(database);
      if (olderProcesses > 0) {
        logger.info({ olderProcesses }, 'backfill waiting for processes of an older release to stop');
        return false;
      }
      for (const list of this.#lists)
        for (const backfill of run.begun.pending)
          if (backfill.resource === list.mirror.resource) await this.#complete(backfill, list, run);
      return true;
    } finally {
      await run.release();
    }
  }

  /** Reads the list from the stored page to its end. */
  async #complete(backfill: Backfill, list: MirroredList<unknown>, run: BackfillRun): Promise<void> {
    const { logger } = this.#context;
    const { resource } = backfill;
    let progress: BackfillProgress = backfill;
    let pages = 0;
    const log = (message: string) => logger.info({ resource, ...countsOf(progress) }, message);
    log(progress.cursor === null ? 'backfill started' : 'backfill resumed');
    try {
      for await (const page of list.list({ after: progress.cursor })) {
        progress = addCounts(progress, await this.#comparePage(list, page, run), page.next);
        await this.#save(run, backfill, progress, { isEnd: page.next === null });
        pages += 1;
        if (pages % pagesPerLogLine === 0) log('backfill continued');
        await pause(run);
      }
    } catch (error) {
      // The next run starts over. Complete rows do not change again.
      if (isLostPlace(progress.cursor, error)) await this.#save(run, backfill, noProgress, { isEnd: false });
      throw error;
    }
    log('backfill completed');
  }

  /** A page has a time, as an event has, so values newer than a row are applied without another read. */
  async #comparePage<Facts>(
    { mirror }: MirroredList<Facts>,
    { items, leftOut }: ProcessorPage<Facts>,
    run: BackfillRun,
  ): Promise<Counts> {
    const { database, metrics, logger } = this.#context;
    const { resource } = mirror;
    const applied = await database.transaction((tx) => mirror.apply(tx, items, 'events'));
    const changed = new Set(applied.changed);
    let skipped = leftOut.length;
    for (const key of applied.unsettled) {
      await pause(run);
      const refreshed = await refreshObject(mirror, key, logger);
      for (const one of refreshed.changed) changed.add(one);
      if (refreshed.failure !== null) skipped += 1;
    }
    const compared = items.length + leftOut.length;
    metrics.backfilledObjects.inc({ resource }, compared);
    return { compared, changed: changed.size, skipped };
  }

  async #save(
    run: BackfillRun,
    backfill: Backfill,
    progress: BackfillProgress,
    options: { readonly isEnd: boolean },
  ): Promise<void> {
    await run.write(async (tx) => {
      if (!(await this.#store.save(tx, backfill, progress, options)))
        throw new Error('a process of an older release started, so the backfill begins again');
    });
  }
}

type Counts = Omit<BackfillProgress, 'cursor'>;

const noProgress: BackfillProgress = { cursor: null, compared: 0, changed: 0, skipped: 0 };

function countsOf({ compared, changed, skipped }: Counts): Counts {
  return { compared, changed, skipped };
}

function addCounts(before: Counts, page: Counts, cursor: string | null): BackfillProgress {
  return {
    cursor,
    compared: before.compared + page.compared,
    changed: before.changed + page.changed,
    skipped: before.skipped + page.skipped,
  };
}
