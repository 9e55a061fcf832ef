/**
 * PostgreSQL's own signals: SIGINT rolls back what is open, writes everything down and ends; SIGQUIT ends at once and
 * leaves the next start to recover, which loses nothing that was committed; SIGKILL is for a process that hears nothing.
 * Writing everything down takes as long as the disk needs for the shared buffers, seconds at most.
 */
const shutdownSteps = [
  { signal: 'SIGINT', waitMs: 15_000 },
  { signal: 'SIGQUIT', waitMs: 5_000 },
  { signal: 'SIGKILL', waitMs: 5_000 },
] as const;

/** Ends a server, more and more firmly. False: it outlived even SIGKILL, which only a stuck disk makes possible. */
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
