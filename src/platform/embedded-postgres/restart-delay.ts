/** A single death, such as the kernel's when memory runs out, should cost clients no more than a blink. */
const restartDelayMsMin = 100;
/** A server that dies every time must not keep the machine busy, and must be back soon after its trouble is over. */
const restartDelayMsMax = 10_000;

/** How long to wait before the next start, after so many deaths in a row. */
export function restartDelayMs(deaths: number): number {
  return Math.min(restartDelayMsMin * 2 ** (deaths - 1), restartDelayMsMax);
}
