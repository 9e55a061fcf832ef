import type { Clock } from './clock.ts';
import type { Logger } from './logger.ts';
import type { Metrics } from './metrics.ts';
import type { OwnerLock } from './owner-lock.ts';
import type { Database } from './postgres.ts';

/** The dependencies that most parts of the service share. Each part picks what it uses. */
export interface PlatformParts {
  readonly database: Database;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly metrics: Metrics;
  readonly ownerLock: OwnerLock;
}
