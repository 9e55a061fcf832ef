import { setTimeout } from 'node:timers/promises';
import type { CustomerService } from '../../customers/customer-service.ts';
import { Failure, isOutageOfAll } from '../../errors.ts';
import type { CustomerFacts } from '../../model/customer.ts';
import { runAs } from '../../platform/cause.ts';
import type { Clock } from '../../platform/clock.ts';
import { newId } from '../../platform/id.ts';
import type { Logger } from '../../platform/logger.ts';
import type { Database, Queryable } from '../../platform/postgres.ts';
import type { Job, JobRun } from '../job.ts';
import { adoptPage, type PageOutcome } from './adopt-page.ts';
import { ExternalIdAdoption } from './external-id-adoption.ts';
import {
  addCounts,
  countsOf,
  countsOfStage,
  type ImportProgress,
  type KindCounts,
  newStage,
  restarted,
  type Skip,
  type StageName,
  type StageProgress,
  stageNames,
  withStage,
} from './import-progress.ts';
import type { ImportStore, UnfinishedImport } from './import-store.ts';
import { chargeStage, paymentStage } from './payment-stages.ts';
import type { Stage } from './stage.ts';
import {
  customerStage,
  disputeStage,
  invoiceStage,
  planStage,
  refundStage,
  type StageParts,
  subscriptionStage,
} from './stages.ts';

/** Far more restarts or failovers of the database than happen within one import. */
const lostJobsMax = 20;
/** A processor that is down or limits calls gets half a minute to recover. After that, the next run continues. */
const triesMax = 6;
const retryDelayMs = 1_000;

interface ImportParts extends StageParts {
  readonly database: Database;
  readonly job: Job;
  readonly store: ImportStore;
  readonly customers: Pick<CustomerService, 'update'>;
  readonly clock: Clock;
  readonly logger: Logger;
}

export interface ImportOptions {
  /** Writes nothing. */
  readonly isDryRun?: boolean;
  /** The metadata key that contains the external ids of customers. */
  readonly externalIdFrom?: string | null;
  readonly signal?: AbortSignal;
}

export interface ImportObserver {
  /** Called when an unfinished import is continued. */
  readonly onResumed?: (startedAt: Date, counts: readonly KindCounts[]) => void;
  /** Called when an unfinished import had other options, so that this one starts over. */
  readonly onReplaced?: (startedAt: Date) => void;
  /** Called after each page, with the counts of its kind so far. */
  readonly onProgress?: (counts: KindCounts) => void;
  /** Called for every object that is left out, including those of an interrupted import. */
  readonly onSkipped?: (skip: Skip) => void;
}

export interface ImportResult {
  readonly isDryRun: boolean;
  readonly counts: readonly KindCounts[];
}

/** One import as it runs. */
interface Run {
  /** Null in a dry run. */
  readonly job: JobRun<UnfinishedImport> | null;
  readonly options: ImportOptions;
  readonly observer: ImportObserver;
  progress: ImportProgress;
}

/**
 * Adopts the existing objects of the processor's account: compares every object with its row as a resync does, and also
 * creates rows for objects that Till did not create. One import runs at a time. Its progress is stored after every
 * page, so that the next run continues where this one was interrupted.
 */
export class Import {
  readonly #parts: ImportParts;

  constructor(parts: ImportParts) {
    this.#parts = parts;
  }

  run(options: ImportOptions = {}, observer: ImportObserver = {}): Promise<ImportResult> {
    return runAs('import', async () => {
      if (options.isDryRun === true) return this.#run({ job: null, options, observer, progress: [] });
      // A restart or failover of the database ends a run, and the next one continues with what is stored. If another
      // process took the job, there is no next one.
      for (let lost = 1; ; lost += 1) {
        const job = await this.#begin(options, observer);
        try {
          return await this.#run({ job, options, observer, progress: job.begun.progress });
        } catch (error) {
          if (error !== job.signal.reason || lost >= lostJobsMax) throw error;
        } finally {
          await job.release();
        }
      }
    });
  }

  async #run(run: Run): Promise<ImportResult> {
    const { job, observer } = run;
    if (job !== null && run.progress.length > 0) await this.#resume(job.begun, observer);
    for (const name of stageNames) {
      // A dry run stores no charges, and the list of payments counts them.
      const isLeftOut = job === null && name === 'charge';
      if (!isLeftOut && stageOf(run, name)?.isDone !== true) await this.#runStage(run, name);
    }
    await job?.end((tx) => this.#parts.store.end(tx, job.begun.id));
    return { isDryRun: job === null, counts: countsOf(run.progress) };
  }

  /** The import to run: a new one, or the one that was interrupted. */
  async #begin(options: ImportOptions, observer: ImportObserver): Promise<JobRun<UnfinishedImport>> {
    const { database, job, store, clock } = this.#parts;
    const { externalIdFrom = null } = options;
    const run = await job.take(async (tx) => {
      const unfinished = await store.findUnfinished(tx);
      if (unfinished?.externalIdFrom === externalIdFrom) return unfinished;
      if (unfinished !== undefined) {
        await store.end(tx, unfinished.id);
        observer.onReplaced?.(unfinished.startedAt);
      }
      const startedAt = clock.now();
      const started = { id: newId(startedAt), externalIdFrom, progress: [], startedAt };
      await store.start(tx, started);
      return started;
    });
    if (run !== undefined) return run;
    const running = await store.findUnfinished(database);
    const since = running === undefined ? '' : ` since ${running.startedAt.toISOString()}`;
    throw new Error(`another process runs an import${since}; wait until it has ended`);
  }

  async #resume({ id, startedAt, progress }: UnfinishedImport, observer: ImportObserver): Promise<void> {
    const { database, store, logger } = this.#parts;
    logger.info({ import: id, startedAt }, 'unfinished import resumed');
    observer.onResumed?.(startedAt, countsOf(progress));
    for await (const page of store.listSkips(database, id))
      for (const skip of page) observer.onSkipped?.(skip);
  }

  /** Reads a list to its end. After an outage it continues after the last stored page. */
  async #runStage(run: Run, name: StageName): Promise<void> {
    const { mirrors, clock, logger } = this.#parts;
    const { signal } = run.options;
    let failures = 0;
    const begin = async () => newStage(name, clock.now(), await mirrors.invoices.countUnattached());
    run.progress = withStage(run.progress, stageOf(run, name) ?? (await begin()));
    for (;;) {
      try {
        return await this.#adoptPages(run, this.#stage(run, name), () => {
          failures = 0;
        });
      } catch (error) {
        signal?.throwIfAborted();
        const stage = stageOf(run, name);
        if (stage !== undefined && isLostPlace(stage, error)) {
          logger.warn({ err: error, list: name }, 'list of an import restarted');
          run.progress = withStage(run.progress, restarted(stage, clock.now()));
          continue;
        }
        failures += 1;
        if (!isPassing(error) || failures >= triesMax) throw error;
        const delayMs = retryDelayMs * 2 ** (failures - 1);
        logger.warn({ err: error, list: name, delayMs }, 'import paused');
        await setTimeout(delayMs, undefined, signal && { signal });
      }
    }
  }

  async #adoptPages<Item>(run: Run, stage: Stage<Item>, onPage: () => void): Promise<void> {
    const { database, logger } = this.#parts;
    const { options, observer, job } = run;
    const parts = { database, logger, isDryRun: job === null };
    const { name } = stage;
    for await (const page of stage.list(stageOf(run, name)?.cursor ?? null)) {
      options.signal?.throwIfAborted();
      const after = (outcome: PageOutcome) =>
        withStage(run.progress, advanced(stageOf(run, name), outcome, page.next));
      const outcome = await adoptPage(parts, stage, page, (db, reached) =>
        this.#save(db, run, after(reached), reached.skips),
      );
      run.progress = after(outcome);
      for (const skip of outcome.skips) observer.onSkipped?.(skip);
      observer.onProgress?.(countsOfStage(run.progress, name));
      onPage();
    }
  }

  async #save(db: Queryable, { job }: Run, progress: ImportProgress, skips: readonly Skip[]): Promise<void> {
    if (job === null) return;
    await job.requireJob(db);
    await this.#parts.store.save(db, job.begun.id, progress, skips);
  }

  #stage(run: Run, name: StageName): Stage<unknown> {
    const parts = this.#parts;
    const chargesListedAt = stageOf(run, 'charge')?.startedAt;
    const stages: Readonly<Record<StageName, () => Stage<unknown>>> = {
      plan: () => planStage(parts),
      customer: () => this.#customerStage(run),
      subscription: () => subscriptionStage(parts),
      invoice: () => invoiceStage(parts),
      charge: () => chargeStage(parts),
      payment: () => paymentStage(parts, chargesListedAt === undefined ? null : new Date(chargesListedAt)),
      refund: () => refundStage(parts),
      dispute: () => disputeStage(parts),
    };
    return stages[name]();
  }

  #customerStage({ job, options: { externalIdFrom = null } }: Run): Stage<unknown> {
    const stage = customerStage(this.#parts);
    if (externalIdFrom === null) return stage;
    const options = { metadataKey: externalIdFrom, importId: job?.begun.id ?? null };
    const adoption = new ExternalIdAdoption(this.#parts, options);
    return { ...stage, finish: (page: readonly CustomerFacts[]) => adoption.adopt(page) };
  }
}

function stageOf({ progress }: Run, name: StageName): StageProgress | undefined {
  return progress.find(({ stage }) => stage === name);
}

/** The progress of a list after one more page. */
function advanced(
  stage: StageProgress | undefined,
  { counts, externalIds }: PageOutcome,
  next: string | null,
): StageProgress {
  if (stage === undefined) throw new Error('the list has not begun');
  return {
    ...stage,
    cursor: next,
    isDone: next === null,
    counts: addCounts(stage.counts, counts),
    externalIds: addCounts(stage.externalIds, externalIds),
  };
}

/** The object at which the list continues was deleted at the processor. */
function isLostPlace({ cursor }: StageProgress, error: unknown): boolean {
  return (
    cursor !== null &&
    error instanceof Failure &&
    error.code === 'processor_rejected' &&
    error.extras.processorParam === 'starting_after'
  );
}

/** An outage that may end soon. */
function isPassing(error: unknown): boolean {
  return isOutageOfAll(error) && !(error instanceof Failure && error.code === 'processor_misconfigured');
}
