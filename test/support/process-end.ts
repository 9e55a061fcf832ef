const ends: (() => Promise<unknown>)[] = [];

/** Cleans up after the last test file of this process. The hook `after` of node:test would mean the current file. */
export function atProcessEnd(end: () => Promise<unknown>): void {
  ends.push(end);
}

export async function endProcess(): Promise<void> {
  for (const end of ends) await end();
}
