import { AsyncLocalStorage } from 'node:async_hooks';

/** Why a row changes: which request, webhook or background work is responsible. Null where it does not apply. */
export interface Cause {
  readonly kind: 'api' | 'webhook' | 'recovery' | 'resync' | 'import' | 'sweeper';
  /** The name of the API key of the request. */
  readonly keyName: string | null;
  readonly requestId: string | null;
  readonly processorEventId: string | null;
}

/** Follows the work through every await, so that no function in between needs to pass the cause on. */
const causes = new AsyncLocalStorage<Cause | undefined>();

/** Everything that `work` starts has this cause, also after `work` has returned. Undefined: it has none. */
export function runWithCause<Result>(cause: Cause | undefined, work: () => Result): Result {
  return causes.run(cause, work);
}

/** The cause of the work that calls this. Undefined for work that has none, or that serves several requests at once. */
export function currentCause(): Cause | undefined {
  return causes.getStore();
}
