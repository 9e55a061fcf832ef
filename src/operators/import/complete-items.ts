import { isOutageOfAll } from '#core/errors.ts';
import { inLanes } from '#core/platform/lanes.ts';
import type { Logger } from '#core/platform/logger.ts';
import { callsAtOnce } from './stage.ts';

interface CompletedItems<Item> {
  /** By the items as the list shows them. */
  readonly completed: ReadonlyMap<Item, Item>;
  /** Why the others could not be completed. */
  readonly failures: ReadonlyMap<Item, string>;
}

/**
 * Looks up what a list does not show about its items. Leaves out an item whose lookup fails, unless every lookup would
 * fail.
 */
export async function completeItems<Item>(
  items: readonly Item[],
  complete: (item: Item) => Promise<Item>,
  logger: Logger,
): Promise<CompletedItems<Item>> {
  const completed = new Map<Item, Item>();
  const failures = new Map<Item, string>();
  await inLanes(items, callsAtOnce, async (item) => {
    try {
      completed.set(item, await complete(item));
    } catch (error) {
      if (isOutageOfAll(error)) throw error;
      logger.warn({ err: error }, 'object of a list not completed');
      failures.set(item, `Till cannot read it. ${error instanceof Error ? error.message : String(error)}`);
    }
  });
  return { completed, failures };
}
