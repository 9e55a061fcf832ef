const ends: (() => Promise<unknown>)[] = [];

/** Cleans up after the last test file of this process. The hook `after` of node:test would mean the current file. */
export function atProcessEnd(end: () => Promise<unknown>): void {
  ends.push(end);
}

/** Runs everything, even after a failure: a server that is left open would keep the process alive. */
export async function endProcess(): Promise<void> {
  const results = await Promise.allSettled(ends.map((end) => end()));
  for (const result of results) if (result.status === 'rejected') throw result.reason;
}
