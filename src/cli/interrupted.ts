import { constants } from 'node:os';

/** A signal ended the command. It can be repeated. */
export class Interrupted extends Error {
  override readonly name = 'Interrupted';
  /** The exit code that shells report for a process that a signal ended. */
  readonly exitCode: number;

  constructor(signal: 'SIGINT' | 'SIGTERM') {
    super(`interrupted by ${signal}`);
    this.exitCode = 128 + constants.signals[signal];
  }
}

/** Rejects with the signal's reason as soon as the signal is aborted, even if the work has not ended yet. */
export async function untilInterrupted<T>(signal: AbortSignal, work: Promise<T>): Promise<T> {
  const { promise, reject } = Promise.withResolvers<never>();
  const onAbort = () => reject(signal.reason);
  signal.addEventListener('abort', onAbort, { once: true });
  if (signal.aborted) onAbort();
  try {
    return await Promise.race([work, promise]);
  } finally {
    signal.removeEventListener('abort', onAbort);
  }
}
