/** After a single crash, such as a kill by the kernel when memory runs out, clients should hardly notice a gap. */
const restartDelayMsMin = 100;
/**
 * A server that crashes at every start must not keep the machine busy, and must return soon after the cause is gone.
 */
const restartDelayMsMax = 10_000;

/** The delay before the next start, after this many crashes in a row. */
export function restartDelayMs(crashes: number): number {
  return Math.min(restartDelayMsMin * 2 ** (crashes - 1), restartDelayMsMax);
}
