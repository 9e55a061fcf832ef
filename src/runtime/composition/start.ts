import type { Logger } from '#core/platform/logger.ts';
import type { Shutdown } from '#core/platform/shutdown.ts';
import type { CallLimits } from '#processor/stripe/wire/calls.ts';
import type { ParentLink } from '../processes/parent-link.ts';
import type { Config } from './config.ts';
import type { WelcomeFacts } from './welcome.ts';

/** What every part needs to start, and where it registers its shutdown. */
export interface Start {
  readonly config: Config;
  readonly logger: Logger;
  readonly shutdown: Shutdown;
  /** Set in one of several processes. The parent runs the embedded parts. */
  readonly parent?: ParentLink<WelcomeFacts> | undefined;
  /** Tests replace them. */
  readonly callLimits?: Partial<CallLimits> | undefined;
}
