import type { CustomerFacts } from '#core/model/customer.ts';
import { runAs } from '#core/platform/cause.ts';
import { newId } from '#core/platform/id.ts';
import type { Queryable, Transaction } from '#core/platform/postgres.ts';
import type { ImportFacts, Stage } from '#engine/sync/import-stage.ts';
import type { Job, JobRun } from '#engine/sync/job.ts';
import type { Inbox } from '#engine/webhooks/inbox.ts';
import { clockSkewMsMax } from '#features/payments/payment-import.ts';
import { isLostPlace } from '#processor/port/pages.ts';
import { adoptPage } from './adopt-page.ts';
import { type AccessReport, auditAccess } from './audit.ts';
import { ExternalIdAdoption } from './external-id-adoption.ts';
import { type ExternalIdNotes, rememberedNotes, type SharedValue, storedNotes } from './external-id-notes.ts';
import type { ImportContext } from './import-context.ts';
import {
  addCounts,
  chargesKnownUntil,
  countsOf,
  countsOfStage,
  type ImportProgress,
  type KindCounts,
  lastStage,
  newestStart,
  newStage,
  restarted,
  type Skip,
  type StageProgress,
  withStage,
} from './import-progress.ts';
import { ImportStore, type UnfinishedImport } from './import-store.ts';
import type { PlanEntries, PlanEntry } from './plan-entries.ts';
import {
  missingSettings,
  noSettings,
  type PlanSettings,
  resolveEntries,
  templateOf,
} from './plan-settings.ts';
import { retryOutages } from './retry-outages.ts';
import type { PagedWork, PageOutcome } from './stage.ts';
import { listPrices, writePlanSettings } from './write-plan-settings.ts';

/** Far more than the restarts or failovers of the database during one import. */
const lostJobsMax = 20;

interface ImportedList {
  readonly name: string;
  open(facts: ImportFacts): Stage<unknown>;
}

interface ImportOptions {
  /** Writes nothing. */
  readonly isDryRun?: boolean;
  /** The metadata key that contains the external ids of customers. */
  readonly externalIdFrom?: string | null;
  /** Settings of the plans that the processor does not have. */
  readonly planEntries?: PlanEntries | undefined;
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
  /** How many products and prices the settings of plans changed. */
  readonly settings: { readonly products: number; readonly prices: number };
  readonly access: AccessReport;
}

/** One import as it runs. */
interface Run {
  /** Null in a dry run. */
  readonly job: JobRun<UnfinishedImport> | null;
  readonly options: ImportOptions;
  readonly observer: ImportObserver;
  /** The contents of the entries of plans. */
  readonly settings: PlanSettings;
  /** The part of these entries that the processor did not have at the start. */
  readonly missing: PlanSettings;
  readonly notes: ExternalIdNotes | null;
  /** What a dry run does not adopt, because it stores nothing: the reasons, by kind and id. */
  readonly skipped: Map<string, Map<string, string>>;
  progress: ImportProgress;
}

/**
 * Adopts the existing objects of the processor's account: compares every object with its row as a resync does, and also
 * creates rows for objects that Till did not create. One import runs at a time. Its progress is stored after every
 * page, so that the next run continues where this one was interrupted.
 */
export class Import {
  readonly #context: ImportContext;
  readonly #store = new ImportStore();
  readonly #job: Job;
  readonly #inbox: Pick<Inbox, 'bringBackSince'>;
  /** In their order: an object comes after those that it depends on. */
  readonly #lists: readonly ImportedList[];

  constructor(
    context: ImportContext,
    job: Job,
    inbox: Pick<Inbox, 'bringBackSince'>,
    lists: readonly ImportedList[],
  ) {
    this.#context = context;
    this.#job = job;
    this.#inbox = inbox;
    this.#lists = lists;
  }

  run(options: ImportOptions = {}, observer: ImportObserver = {}): Promise<ImportResult> {
    return runAs('import', async () => {
      // Wrong entries throw before anything is done.
      const { planEntries } = options;
      const prices = planEntries === undefined ? [] : await listPrices(this.#context);
      const settings = planEntries === undefined ? noSettings : resolveEntries(planEntries, prices);
      const missing = missingSettings(settings, prices);
      const shared = { options, observer, settings, missing, skipped: new Map() };
      if (options.isDryRun === true) {
        const { externalIdFrom = null } = options;
        const notes = externalIdFrom === null ? null : rememberedNotes(externalIdFrom);
        return this.#run({ ...shared, job: null, notes, progress: [] });
      }
      // A restart or failover of the database ends a run, and the next one continues with what is stored. If another
      // process took the job, there is no next one.
      for (let lost = 1; ; lost += 1) {
        const job = await this.#begin(options, observer);
        try {
          const { progress } = job.begun;
          return await this.#run({ ...shared, job, notes: this.#notesOf(job.begun), progress });
        } catch (error) {
          if (error !== job.signal.reason || lost >= lostJobsMax) throw error;
        } finally {
          await job.release();
        }
      }
    });
  }

  /** Throws if the entries are wrong. Does nothing else. */
  async checkEntries(entries: PlanEntries): Promise<void> {
    resolveEntries(entries, await listPrices(this.#context));
  }

  /** The entries of all prices that can be plans, for an operator to complete. */
  async planTemplate(): Promise<Readonly<Record<string, PlanEntry>>> {
    return templateOf(await listPrices(this.#context));
  }

  async #run(run: Run): Promise<ImportResult> {
    const { job, observer, settings, missing } = run;
    if (job !== null && run.progress.length > 0) await this.#resume(job.begun, observer);
    if (job !== null && run.options.planEntries !== undefined) {
      const isAllowed = () => job.requireJob(this.#context.database);
      await this.#patiently(run, 'settings', () => writePlanSettings(this.#context, settings, { isAllowed }));
    }
    for (const { name, open } of this.#lists) {
      // A dry run stores no charges, and the list of payments counts them.
      const isLeftOut = job === null && open(factsOf(run)).isAhead;
      if (!isLeftOut) await this.#runStage(run, name, () => this.#work(run, name, open(factsOf(run))));
    }
    if (run.notes !== null) await this.#runStage(run, lastStage, () => this.#externalIds(run));
    const { signal } = run.options;
    const refused = refusedIn(run);
    const findSkipped = (ids: readonly string[]) => this.#findSkippedExternalIds(run, ids);
    const access = await this.#patiently(run, 'access', () =>
      auditAccess(this.#context, { isDryRun: job === null, settings, refused, findSkipped, signal }),
    );
    await job?.end((tx) => this.#store.end(tx, job.begun.id));
    return {
      isDryRun: job === null,
      counts: countsOf(run.progress),
      settings: { products: missing.products.size, prices: missing.prices.size },
      access,
    };
  }

  /** Why customers did not get their external ids, by the processor's ids. */
  async #findSkippedExternalIds(
    { job, skipped }: Run,
    ids: readonly string[],
  ): Promise<ReadonlyMap<string, string>> {
    if (job === null) return skipped.get('external_id') ?? new Map();
    const skips = await this.#store.findSkips(this.#context.database, job.begun.id, 'external_id', ids);
    return new Map(skips.map(({ id, reason }) => [id, reason]));
  }

  #notesOf({ id: importId, externalIdFrom: metadataKey }: UnfinishedImport): ExternalIdNotes | null {
    return metadataKey === null
      ? null
      : storedNotes(this.#context.database, this.#store, { importId, metadataKey });
  }

  /** The import to run: a new one, or the one that was interrupted. */
  async #begin(options: ImportOptions, observer: ImportObserver): Promise<JobRun<UnfinishedImport>> {
    const { database, clock } = this.#context;
    const { externalIdFrom = null } = options;
    const run = await this.#job.take(async (tx) => {
      const unfinished = await this.#store.findUnfinished(tx);
      if (unfinished !== undefined) await this.#bringBack(tx, unfinished, unfinished.progress);
      if (unfinished?.externalIdFrom === externalIdFrom) return unfinished;
      if (unfinished !== undefined) {
        await this.#store.end(tx, unfinished.id);
        observer.onReplaced?.(unfinished.startedAt);
      }
      const startedAt = clock.now();
      const started = { id: newId(startedAt), externalIdFrom, progress: [], startedAt };
      await this.#store.start(tx, started);
      return started;
    });
    if (run !== undefined) return run;
    const running = await this.#store.findUnfinished(database);
    const since = running === undefined ? '' : ` since ${running.startedAt.toISOString()}`;
    throw new Error(`another process runs an import${since}; wait until it has ended`);
  }

  async #resume({ id, startedAt, progress }: UnfinishedImport, observer: ImportObserver): Promise<void> {
    const { database, logger } = this.#context;
    logger.info({ import: id, startedAt }, 'unfinished import resumed');
    observer.onResumed?.(startedAt, countsOf(progress));
    for await (const page of this.#store.listSkips(database, id))
      for (const skip of page) observer.onSkipped?.(skip);
  }

  /** Reads a list to its end. After an outage it continues after the last stored page. */
  async #runStage(run: Run, name: string, work: () => PagedWork<unknown>): Promise<void> {
    if (stageOf(run, name)?.isDone) return;
    const { mirrors, clock, logger } = this.#context;
    const begin = async () => newStage(name, clock.now(), await mirrors.invoices.countUnattached());
    run.progress = withStage(run.progress, stageOf(run, name) ?? (await begin()));
    await this.#patiently(run, name, async (onProgress) => {
      for (;;) {
        try {
          return await this.#adoptPages(run, work(), onProgress);
        } catch (error) {
          const stage = stageOf(run, name);
          if (stage === undefined || !isLostPlace(stage.cursor, error)) throw error;
          run.options.signal?.throwIfAborted();
          logger.warn({ err: error, list: name }, 'list of an import restarted');
          run.progress = withStage(run.progress, restarted(stage, clock.now()));
        }
      }
    });
  }

  #patiently<T>(run: Run, list: string, work: (onProgress: () => void) => Promise<T>): Promise<T> {
    const { database, logger } = this.#context;
    const { job, options } = run;
    let isRepeated = false;
    return retryOutages(logger, list, options.signal, async (onProgress) => {
      if (job !== null && isRepeated)
        await database.transaction((tx) => this.#bringBack(tx, job.begun, run.progress));
      isRepeated = true;
      return work(onProgress);
    });
  }

  /**
   * An interrupted run may have committed rows without returning the events that had found no row, such as a deletion,
   * to the queue. These events are newer than the start of the list that it was reading.
   */
  #bringBack(tx: Transaction, { startedAt }: UnfinishedImport, progress: ImportProgress): Promise<void> {
    const since = (newestStart(progress) ?? startedAt).getTime() - clockSkewMsMax;
    return this.#inbox.bringBackSince(tx, new Date(since));
  }

  async #adoptPages<Item>(run: Run, work: PagedWork<Item>, onPage: () => void): Promise<void> {
    const { options, observer, job } = run;
    const { name } = work;
    for await (const page of work.list(stageOf(run, name)?.cursor ?? null)) {
      options.signal?.throwIfAborted();
      const after = (outcome: PageOutcome) =>
        withStage(run.progress, advanced(stageOf(run, name), outcome, page.next));
      const outcome = await work.adopt(page, (db, reached) =>
        this.#save(db, run, after(reached), reached.skips),
      );
      run.progress = after(outcome);
      for (const skip of outcome.skips) {
        observer.onSkipped?.(skip);
        if (job === null) noteSkip(run, skip);
      }
      observer.onProgress?.(countsOfStage(run.progress, name));
      onPage();
    }
  }

  async #save(db: Queryable, { job }: Run, progress: ImportProgress, skips: readonly Skip[]): Promise<void> {
    if (job === null) return;
    await job.requireJob(db);
    await this.#store.save(db, job.begun.id, progress, skips);
  }

  #work(run: Run, name: string, stage: Stage<unknown>): PagedWork<unknown> {
    const { list } = stage;
    const work: PagedWork<unknown> = {
      name,
      list,
      adopt: (page, save) => adoptPage(this.#context, run.job === null, stage, page, save),
    };
    // The list of customers has their facts.
    return name === 'customer' ? this.#withNotes(run, work as PagedWork<CustomerFacts>) : work;
  }

  /** Adds notes about the external ids of the customers. */
  #withNotes({ job, notes }: Run, work: PagedWork<CustomerFacts>): PagedWork<CustomerFacts> {
    if (notes === null) return work;
    return {
      ...work,
      adopt: async (page, save) => {
        const outcome = await work.adopt(page, async (db, reached) => {
          await notes.add(db, page.items);
          await save(db, reached);
        });
        if (job === null) await notes.add(this.#context.database, page.items);
        return outcome;
      },
    };
  }

  #externalIds({ job, notes, options }: Run): PagedWork<SharedValue> {
    const { database } = this.#context;
    const { externalIdFrom } = options;
    if (notes === null || externalIdFrom == null) throw new Error('no external ids are wanted');
    const importId = job?.begun.id ?? null;
    const adoption = new ExternalIdAdoption(this.#context, { metadataKey: externalIdFrom, importId });
    return {
      name: lastStage,
      list: (after) => notes.list(after),
      adopt: async (page, save) => {
        const outcome = await adoption.adopt(page.items);
        if (job !== null) await database.transaction((tx) => save(tx, outcome));
        return outcome;
      },
    };
  }
}

/** The kinds on which others depend. Objects of other kinds need no note. */
const notedKinds: readonly string[] = ['plan', 'customer', lastStage];

function noteSkip({ skipped }: Run, { kind, id, reason }: Skip): void {
  if (notedKinds.includes(kind)) skipped.set(kind, (skipped.get(kind) ?? new Map()).set(id, reason));
}

/** Prices and customers that a dry run does not adopt. */
function refusedIn({ skipped }: Run): ReadonlySet<string> {
  return new Set([...(skipped.get('plan')?.keys() ?? []), ...(skipped.get('customer')?.keys() ?? [])]);
}

function factsOf(run: Run): ImportFacts {
  return { refused: refusedIn(run), chargesKnownUntil: chargesKnownUntil(run.progress) };
}

function stageOf({ progress }: Run, name: string): StageProgress | undefined {
  return progress.find(({ stage }) => stage === name);
}

/** The progress of a list after one more page. */
function advanced(
  stage: StageProgress | undefined,
  { counts }: PageOutcome,
  next: string | null,
): StageProgress {
  if (stage === undefined) throw new Error('the list has not begun');
  return {
    ...stage,
    cursor: next,
    isDone: next === null,
    counts: addCounts(stage.counts, counts),
  };
}
