import { type ObjectKind, objectMissing } from '../processor/refused-write.ts';
import type { Applied, Revisions } from './fold.ts';

/** A row that moves during its refresh is rare; one that does so five times in a row is left to the next event. */
const refreshesMax = 5;

/** Refreshes until the answer fits the row that it is for. False if the row never stood still. */
export async function untilSettled(refresh: () => Promise<Applied>): Promise<boolean> {
  for (let refreshes = 0; refreshes < refreshesMax; refreshes += 1) {
    const { unsettled } = await refresh();
    if (unsettled.length === 0) return true;
  }
  return false;
}

/** The same for a request, which must fail if the processor does not know the object. */
export async function untilKnown(kind: ObjectKind, refresh: () => Promise<Applied>): Promise<void> {
  await untilSettled(async () => {
    const applied = await refresh();
    if (applied.isUnknown === true) throw objectMissing(kind);
    return applied;
  });
}

export const nothingApplied: Applied = { changed: [], ignored: [], unsettled: [] };

/** The processor does not know the object: nothing is applied, and the row stays as it is. */
export const unknownThere: Applied = { ...nothingApplied, isUnknown: true };

/** What is applied when the object turns out to be somebody else's. */
export function ignoredAll(...keys: readonly string[]): Applied {
  return { ...nothingApplied, ignored: keys };
}

/** For answers about objects that had no row when the refresh began. */
export const noRevisions: Revisions = new Map();
