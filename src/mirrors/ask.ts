import { type ObjectKind, objectMissing } from '../processor/refused-write.ts';
import type { Applied, Revisions } from './fold.ts';

/** A row that moves while the processor is asked is rare; one that does so five times in a row is left to the next event. */
const asksMax = 5;

/** Asks until the answer fits the row that it was asked for. False if the row never stood still. */
export async function untilSettled(ask: () => Promise<Applied>): Promise<boolean> {
  for (let asked = 0; asked < asksMax; asked += 1) {
    const { unsettled } = await ask();
    if (unsettled.length === 0) return true;
  }
  return false;
}

/** The same for a request, which must fail if the processor does not know the object. */
export async function untilKnown(kind: ObjectKind, ask: () => Promise<Applied>): Promise<void> {
  await untilSettled(async () => {
    const applied = await ask();
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

/** For answers about objects that had no row when the processor was asked. */
export const noRevisions: Revisions = new Map();
