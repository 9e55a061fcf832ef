/** The work took longer than it may. */
export class DeadlineError extends Error {
  override readonly name = 'DeadlineError';
}

/** Settles as `work` does, or rejects after `timeoutMs`. The work itself continues; its late result is dropped. */
export async function withDeadline<T>(work: Promise<T>, timeoutMs: number, what: string): Promise<T> {
  const { promise: expired, reject } = Promise.withResolvers<never>();
  const timer = setTimeout(
    () => reject(new DeadlineError(`${what} took longer than ${timeoutMs} ms`)),
    timeoutMs,
  );
  try {
    return await Promise.race([work, expired]);
  } finally {
    clearTimeout(timer);
  }
}
