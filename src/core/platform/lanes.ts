/**
 * Works on all items, at most `lanes` at a time, starting them in their order. After a failure it starts no more, and
 * rejects once the others have ended.
 */
export async function inLanes<Item>(
  items: readonly Item[],
  lanes: number,
  work: (item: Item) => Promise<void>,
): Promise<void> {
  const waiting = [...items];
  const run = async () => {
    for (let item = waiting.shift(); item !== undefined; item = waiting.shift()) {
      await work(item).catch((error: unknown) => {
        waiting.length = 0;
        throw error;
      });
    }
  };
  const ended = await Promise.allSettled(Array.from({ length: Math.min(lanes, items.length) }, run));
  const failed = ended.find((lane) => lane.status === 'rejected');
  if (failed !== undefined) throw failed.reason;
}
