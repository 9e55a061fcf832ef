import type { Clock } from './clock.ts';
import type { Logger } from './logger.ts';
import type { Metrics } from './metrics.ts';
import type { OwnerLock } from './owner-lock.ts';
import type { Database } from './postgres.ts';

/** What most parts of the service are put together from. Each picks what it uses. */
export interface PlatformParts {
  readonly database: Database;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly metrics: Metrics;
  readonly ownerLock: OwnerLock;
}
