/**
 * Does the work for one after the other. Work in the test's own process takes as long side by side, and so much of it
 * at a time makes connections run into their timeouts on a busy machine.
 */
export async function inTurn<Item, Result>(
  items: readonly Item[],
  work: (item: Item) => Promise<Result>,
): Promise<readonly Result[]> {
  const results: Result[] = [];
  for (const item of items) results.push(await work(item));
  return results;
}
