import type { Clock } from './clock.ts';
import type { Logger } from './logger.ts';
import type { Metrics } from './metrics.ts';
import type { OwnerLock } from './owner-lock.ts';
import type { Database } from './postgres.ts';
import type { Tracer } from './tracing.ts';

/** What most classes get. A narrower type says that a class needs less. */
export interface Platform {
  readonly database: Database;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly metrics: Metrics;
  readonly ownerLock: OwnerLock;
  /** Undefined if nothing is traced. */
  readonly tracer?: Tracer | undefined;
}
