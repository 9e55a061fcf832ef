/** Concurrent callers share the work in progress, so that its cost does not depend on their number. */
export function shareConcurrent<T>(work: () => Promise<T>): () => Promise<T> {
  let running: Promise<T> | undefined;
  return () => {
    running ??= work().finally(() => {
      running = undefined;
    });
    return running;
  };
}
