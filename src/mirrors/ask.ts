import type { Applied } from './fold.ts';

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

/** What is applied when the processor knows nothing of the object: nothing, and the row stays. */
export const nothingApplied: Applied = { changed: [], ignored: [], unsettled: [] };
