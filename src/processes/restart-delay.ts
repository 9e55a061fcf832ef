/** A process that dies once is back within a moment. */
const firstDelayMs = 500;
/** Rare enough to cost nothing, and often enough to notice that the cause is gone. */
const delayMsMax = 30_000;

/** How long to wait before a process is restarted: twice as long after each end in a row, up to half a minute. */
export function restartDelayMs(endsInARow: number): number {
  return Math.min(firstDelayMs * 2 ** (endsInARow - 1), delayMsMax);
}
