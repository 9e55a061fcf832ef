import { isOutageOfAll } from '#core/errors.ts';
import { repeatCollisions } from '#core/platform/collisions.ts';
import type { Logger } from '#core/platform/logger.ts';
import type { Mirror } from '../mirrors/mirror.ts';
import { untilSettled } from '../mirrors/refresh.ts';

interface Refreshed {
  readonly changed: readonly string[];
  /** Why the refresh failed. Null if it succeeded. */
  readonly failure: string | null;
}

/**
 * Refreshes an object until its row stops changing. Skips an object whose refresh fails, unless every refresh would
 * fail.
 */
export async function refreshObject(
  mirror: Pick<Mirror<never>, 'resource' | 'refresh'>,
  key: string,
  logger: Logger,
): Promise<Refreshed> {
  const changed: string[] = [];
  try {
    await untilSettled(async () => {
      const applied = await repeatCollisions(() => mirror.refresh(key));
      changed.push(...applied.changed);
      return applied;
    });
    return { changed, failure: null };
  } catch (error) {
    if (isOutageOfAll(error)) throw error;
    logger.warn({ err: error, resource: mirror.resource, id: key }, 'mirror comparison failed');
    return { changed, failure: error instanceof Error ? error.message : String(error) };
  }
}
