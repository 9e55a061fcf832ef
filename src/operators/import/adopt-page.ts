import type { Applied } from '#core/model/facts.ts';
import { inLanes } from '#core/platform/lanes.ts';
import type { Database, Queryable, Transaction } from '#core/platform/postgres.ts';
import { nothingApplied } from '#engine/mirrors/refresh.ts';
import type { Stage } from '#engine/sync/import-stage.ts';
import { refreshObject } from '#engine/sync/refresh-object.ts';
import type { ProcessorPage } from '#processor/port/pages.ts';
import { completeItems } from './complete-items.ts';
import type { ImportContext } from './import-context.ts';
import { noCounts, type Skip } from './import-progress.ts';
import { callsAtOnce, type PageOutcome, type SavePage } from './stage.ts';

/** The objects of a page, by what to do with them. */
interface Sorted<Item> {
  readonly known: readonly Item[];
  readonly accepted: readonly Item[];
  readonly refused: readonly Skip[];
}

/** Adopts the objects of one page, and compares those that have a row. */
export async function adoptPage<Item>(
  context: ImportContext,
  isDryRun: boolean,
  stage: Stage<Item>,
  page: ProcessorPage<Item>,
  save: SavePage,
): Promise<PageOutcome> {
  const sorted = await sortItems(context, stage, page);
  const count = (result: PageResult) => countPage(stage, page, sorted, result);
  if (isDryRun) {
    const { changed, unsettled } = await applyAndRollBack(context.database, (tx) =>
      stage.apply(tx, sorted.known),
    );
    const rows = new Set(sorted.accepted.map(stage.keyOf));
    // A row that differs would be refreshed, because it may have changed since the list was read.
    const differing = new Set([...changed, ...unsettled, ...rows]);
    return count({ changed: differing, rows, failures: new Map() });
  }
  const { applied, saved } = await applyItems(context, stage, sorted, (db, result) =>
    save(db, count(result)),
  );
  if (saved !== undefined) return count(saved);
  const { changed, failures } = await refreshAll(context, stage, sorted, applied);
  const rows = await stage.findRows(context.database, sorted.accepted.map(stage.keyOf));
  const outcome = count({ changed, rows, failures });
  await context.database.transaction((tx) => save(tx, outcome));
  return outcome;
}

async function sortItems<Item>(
  { database, logger }: ImportContext,
  stage: Stage<Item>,
  { items, leftOut }: ProcessorPage<Item>,
): Promise<Sorted<Item>> {
  const rows = await stage.findRows(database, items.map(stage.keyOf));
  const known = stage.isAhead ? [] : items.filter((item) => rows.has(stage.keyOf(item)));
  const unknown = items.filter((item) => !rows.has(stage.keyOf(item)));
  const complete = stage.complete ?? (async (item: Item) => item);
  const { completed, failures } = await completeItems(unknown, complete, logger);
  const refused: Skip[] = leftOut.map(({ id, reason }) => ({
    kind: kindOf(stage),
    id: id ?? 'unknown',
    reason: `Till cannot read it: ${reason}.`,
  }));
  const accepted = unknown.flatMap((listed) => {
    const item = completed.get(listed) ?? listed;
    const reason = failures.get(listed) ?? stage.refuse(item);
    if (reason !== undefined) refused.push({ kind: kindOf(stage), id: stage.idOf(item), reason });
    return reason === undefined ? [item] : [];
  });
  return { known, accepted, refused };
}

interface PageResult {
  readonly changed: ReadonlySet<string>;
  /** The processor's ids of accepted objects that have a row now. */
  readonly rows: ReadonlySet<string>;
  /** Why refreshes failed, by the processor's id. */
  readonly failures: ReadonlyMap<string, string>;
}

/**
 * Applies the page in one transaction. If nothing is left to do, the outcome is saved in the same transaction, so that
 * no object is counted twice after a crash. A page without changes does not touch the rows.
 */
async function applyItems<Item>(
  { database }: ImportContext,
  stage: Stage<Item>,
  { known, accepted }: Sorted<Item>,
  save: (db: Queryable, result: PageResult) => Promise<void>,
): Promise<{ readonly applied: Applied; readonly saved?: PageResult }> {
  const items = [...known, ...accepted];
  if (items.length === 0) return { applied: nothingApplied };
  const isWhole = !accepted.some((item) => stage.isPartial?.(item));
  let applied = nothingApplied;
  try {
    return await database.transaction(async (tx) => {
      applied = await stage.apply(tx, items);
      if (applied.changed.length === 0) throw new RolledBack();
      if (!isWhole || applied.unsettled.length > 0) return { applied };
      const rows = await stage.findRows(tx, accepted.map(stage.keyOf));
      const saved = { changed: new Set(applied.changed), rows, failures: new Map() };
      await save(tx, saved);
      return { applied, saved };
    });
  } catch (error) {
    if (error instanceof RolledBack) return { applied };
    throw error;
  }
}

/** What the facts would change. */
async function applyAndRollBack(
  database: Database,
  apply: (tx: Transaction) => Promise<Applied>,
): Promise<Applied> {
  let applied = nothingApplied;
  try {
    await database.transaction(async (tx) => {
      applied = await apply(tx);
      throw new RolledBack();
    });
  } catch (error) {
    if (!(error instanceof RolledBack)) throw error;
  }
  return applied;
}

class RolledBack extends Error {}

async function refreshAll<Item>(
  { logger }: ImportContext,
  stage: Stage<Item>,
  { accepted }: Sorted<Item>,
  applied: Applied,
): Promise<Pick<PageResult, 'changed' | 'failures'>> {
  const partial = accepted.filter((item) => stage.isPartial?.(item)).map(stage.keyOf);
  const changed = new Set(applied.changed);
  const failures = new Map<string, string>();
  await inLanes([...new Set([...applied.unsettled, ...partial])], callsAtOnce, async (key) => {
    const refreshed = await refreshObject(stage.mirror, key, logger);
    for (const one of refreshed.changed) changed.add(one);
    if (refreshed.failure !== null) failures.set(key, refreshed.failure);
  });
  return { changed, failures };
}

function countPage<Item>(
  stage: Stage<Item>,
  { items, leftOut }: ProcessorPage<Item>,
  { known, accepted, refused }: Sorted<Item>,
  { changed, rows, failures }: PageResult,
): PageOutcome {
  const isChanged = (item: Item) => changed.has(stage.keyOf(item));
  const isStored = (item: Item) => rows.has(stage.keyOf(item));
  const skip = (item: Item, reason: string) => ({ kind: kindOf(stage), id: stage.idOf(item), reason });
  const adopted = new Set(accepted.filter(isStored).map(stage.idOf)).size;
  if (stage.isAhead) {
    // Not reported here: the list that counts these objects must look them up.
    const failed = accepted.filter((item) => !isStored(item) && failures.has(stage.keyOf(item)));
    return { counts: { ...noCounts, adopted, skipped: leftOut.length + failed.length }, skips: [] };
  }
  const skips = [
    ...refused,
    ...accepted
      .filter((item) => !isStored(item))
      .map((item) => skip(item, failures.get(stage.keyOf(item)) ?? notRecorded)),
    ...known.flatMap((item) => {
      const failure = failures.get(stage.keyOf(item));
      return failure === undefined ? [] : [skip(item, `It could not be compared: ${failure}`)];
    }),
  ];
  const found = items.length + leftOut.length;
  const updated = known.filter((item) => isChanged(item) && !failures.has(stage.keyOf(item))).length;
  const unchanged = found - adopted - updated - skips.length;
  const counts = { found, adopted, updated, unchanged, skipped: skips.length };
  return { counts, skips };
}

const notRecorded =
  'It has no row: Till lacks the object that it belongs to, or it kept changing. Run the import again.';

/** Skipped charges count as skipped payments. */
function kindOf(stage: Pick<Stage<never>, 'mirror'>): string {
  return stage.mirror.resource;
}
