/** Each request does a thousand or more. A list that fills as fast as it is worked off must not go on for ever. */
const requestsMax = 1_000;

interface Batch {
  readonly count: number;
  readonly hasMore: boolean;
}

/** Repeats a request until nothing is left to do, and reports how much is done. Returns the sum. */
export async function inBatches(
  send: () => Promise<Batch>,
  onProgress: (count: number) => void,
): Promise<number> {
  let sum = 0;
  for (let sent = 0; sent < requestsMax; sent += 1) {
    const { count, hasMore } = await send();
    sum += count;
    onProgress(sum);
    if (!hasMore) break;
  }
  return sum;
}
