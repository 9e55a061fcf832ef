import type { WelcomeFacts } from './welcome.ts';

/** What this process runs: the whole service, the processes of the service, or one of them. */
export interface Service {
  /** Undefined in one of several processes: their parent announces the service. */
  readonly facts: WelcomeFacts | undefined;
  /** What SIGHUP does, unless it stops the service. */
  readonly reload: () => void;
  /** Resolves, with the reason, when the service must stop although no signal came. */
  readonly isOver?: Promise<OtherStopReason>;
  readonly stop: (reason: NodeJS.Signals | OtherStopReason) => Promise<boolean>;
}

/** Another process has taken over, or no process could be restarted. */
type OtherStopReason = 'retired' | 'failed';
