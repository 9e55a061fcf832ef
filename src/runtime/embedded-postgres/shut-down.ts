/**
 * PostgreSQL's own signals. SIGINT rolls back open transactions, writes all buffers and ends. SIGQUIT ends at once and
 * leaves recovery to the next start, which loses nothing that was committed. SIGKILL is for a process that no longer
 * reacts. Writing the shared buffers takes seconds at most.
 */
const shutdownSteps = [
  { signal: 'SIGINT', waitMs: 15_000 },
  { signal: 'SIGQUIT', waitMs: 5_000 },
  { signal: 'SIGKILL', waitMs: 5_000 },
] as const;

/** Ends a server with increasing force. False: it survived even SIGKILL, which happens only with a stuck disk. */
export async function shutDown(
  send: (signal: NodeJS.Signals) => void,
  endsWithin: (waitMs: number) => Promise<boolean>,
): Promise<boolean> {
  for (const { signal, waitMs } of shutdownSteps) {
    send(signal);
    if (await endsWithin(waitMs)) return true;
  }
  return false;
}
