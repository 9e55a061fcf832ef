import { setTimeout } from 'node:timers/promises';
import { Failure, isOutageOfAll } from '#core/errors.ts';
import type { Logger } from '#core/platform/logger.ts';

/** A processor that is down or limits calls gets half a minute to recover. After that, the next run continues. */
const attemptsMax = 6;
const retryDelayMs = 1_000;

/**
 * Starts the work again after an outage. Gives up after several outages without progress between them. `list` is what
 * the work reads, for the log.
 */
export async function retryOutages<T>(
  logger: Logger,
  list: string,
  signal: AbortSignal | undefined,
  work: (onProgress: () => void) => Promise<T>,
): Promise<T> {
  let failures = 0;
  const onProgress = () => {
    failures = 0;
  };
  for (;;) {
    try {
      return await work(onProgress);
    } catch (error) {
      signal?.throwIfAborted();
      failures += 1;
      if (!isPassing(error) || failures >= attemptsMax) throw error;
      const delayMs = retryDelayMs * 2 ** (failures - 1);
      logger.warn({ err: error, list, delayMs }, 'import paused');
      await setTimeout(delayMs, undefined, signal && { signal });
    }
  }
}

/** An outage that may end soon. */
function isPassing(error: unknown): boolean {
  return isOutageOfAll(error) && !(error instanceof Failure && error.code === 'processor_misconfigured');
}
