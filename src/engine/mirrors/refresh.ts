import type { Applied, Revisions } from '#core/model/facts.ts';
import { auditChange } from '#core/platform/cause.ts';
import type { Database, Transaction } from '#core/platform/postgres.ts';
import { objectMissing } from '#processor/port/attempt.ts';
import type { Mirror } from './mirror.ts';

/** A row rarely changes during its refresh. If it does so five times, the next event settles it. */
const refreshesMax = 5;

/** Refreshes until the row does not change during the refresh. False if it keeps changing. */
export async function untilSettled(refresh: () => Promise<Applied>): Promise<boolean> {
  for (let refreshes = 0; refreshes < refreshesMax; refreshes += 1) {
    const { unsettled } = await refresh();
    if (unsettled.length === 0) return true;
  }
  return false;
}

/** The row of an object, which is created first if it is missing. Undefined if Till mirrors no such object. */
export async function findOrRefresh<Row>(
  find: () => Promise<readonly Row[]>,
  refresh: () => Promise<Applied>,
): Promise<Row | undefined> {
  const [found] = await find();
  if (found !== undefined) return found;
  await untilSettled(refresh);
  const [created] = await find();
  return created;
}

/** Refreshes the row. Fails if the processor does not know the object. */
export async function correct(mirror: Mirror<never>, key: string): Promise<void> {
  await untilSettled(async () => {
    const applied = await mirror.refresh(key);
    if (applied.isUnknown === true) throw objectMissing(mirror.resource);
    return applied;
  });
}

/**
 * Applies the processor's response to a request about a row, given the row's revision before the request. If the row
 * has changed since, it is refreshed instead.
 */
export async function applyResponse<Facts>(
  database: Database,
  mirror: Mirror<Facts>,
  facts: Facts,
  row: { readonly revision: number },
): Promise<void> {
  const { needsRefresh } = await database.transaction((tx) => applyInTransaction(tx, mirror, facts, row));
  if (needsRefresh) await correct(mirror, mirror.keyOf(facts));
}

/** Like `applyResponse`, for a response that shows that a requested change was made. The audit log gets its entry. */
export async function applyChange<Facts>(
  database: Database,
  mirror: Mirror<Facts>,
  facts: Facts,
  row: { readonly id: string; readonly revision: number },
): Promise<void> {
  const { needsRefresh } = await database.transaction((tx) => {
    auditChange(tx, row.id);
    return applyInTransaction(tx, mirror, facts, row);
  });
  if (needsRefresh) await correct(mirror, mirror.keyOf(facts));
}

/** Like `applyResponse`, in a transaction of the caller, who then refreshes the row if needed. */
export async function applyInTransaction<Facts>(
  tx: Transaction,
  mirror: Mirror<Facts>,
  facts: Facts,
  { revision }: { readonly revision: number },
): Promise<{ readonly needsRefresh: boolean }> {
  const { unsettled } = await mirror.apply(tx, [facts], new Map([[mirror.keyOf(facts), revision]]));
  return { needsRefresh: unsettled.length > 0 };
}

export const nothingApplied: Applied = { changed: [], ignored: [], unsettled: [] };

/** The processor does not know the object: nothing is applied, and the row stays as it is. */
export const unknownToProcessor: Applied = { ...nothingApplied, isUnknown: true };

/** The objects do not belong to Till. */
export function ignoredAll(...keys: readonly string[]): Applied {
  return { ...nothingApplied, ignored: keys };
}

/** For objects that had no row when the refresh began. */
export const noRevisions: Revisions = new Map();

/** The revisions for a refresh that read this row before it called the processor. */
export function revisionsOf(key: string, row: { readonly revision: number } | undefined): Revisions {
  return row === undefined ? noRevisions : new Map([[key, row.revision]]);
}
